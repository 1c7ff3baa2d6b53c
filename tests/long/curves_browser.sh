#!/usr/bin/env bash
# `probe compare --html` in a browser: headless Chromium runs the page; what it says of two runs is known beforehand. Pictures are left in
# $B/long/html for a person to look at.
# timeout: 300
. "$(dirname "$0")/../e2e/lib.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
	skip 'the page in a browser' 'no Chromium'
	finish
}
shots=$(realpath "$B")/long/html
mkdir -p "$shots"
sed -n '/^python3 - "$tmp" <<.PY.$/,/^PY$/p' tests/e2e/test_curves.sh | sed '1d;$d' >"$tmp/make.py"
python3 "$tmp/make.py" "$tmp"
"$probe" compare --html "$shots/curves.html" "$tmp/a" "$tmp/b" >/dev/null
chrome() {
	timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tmp/profile" \
		--window-size=1300,1000 --virtual-time-budget=6000 "$@" 2>"$tmp/console"
}
chrome --dump-dom "file://$shots/curves.html#loss" >"$tmp/dom"
like 'the script ran to its end' "$(head -c 400 "$tmp/dom")" 'data-ready="1"'
like 'the curve that was asked for, of both sides and ranks' "$(cat "$tmp/dom")" '<h2 id="name">loss</h2><div id="chart"><svg [^>]*data-points="800" data-lines="4"'
like 'where the runs part' "$(cat "$tmp/dom")" '<td>loss</td><td>0</td><td>120</td><td>0.00826446</td><td>0.258264</td>.*<td>loss</td><td>1</td><td>120</td>.*<td>grad_reduced/layers.0.weight/norm</td><td>1</td><td>150</td><td>75</td><td>78</td>'
like '... of a long one too' "$(cat "$tmp/dom")" '<td>update_ratio/long[^<]*</td><td>1</td><td>5003</td><td>0.125</td><td>0.25</td>'
is '... and nowhere else' "$(grep -o 'data-parts="[0-9]*"' "$tmp/dom")" 'data-parts="4"'
chrome --dump-dom "file://$shots/curves.html" >"$tmp/dom"
like 'it opens at the first difference' "$(cat "$tmp/dom")" '<h2 id="verdict">First difference: step 120, rank 0, loss: A 0.00826446, B 0.258264</h2>.*<h2 id="name">loss</h2>.*class="first"'
is 'nothing is reported by the browser' "$(grep -c 'Uncaught' "$tmp/console")" 0
chrome --screenshot="$shots/curves.png" "file://$shots/curves.html#loss" >/dev/null
ok 'a picture' test -s "$shots/curves.png"
chrome --blink-settings=preferredColorScheme=0 --screenshot="$shots/curves-dark.png" "file://$shots/curves.html#loss" >/dev/null
ok 'a dark picture' test -s "$shots/curves-dark.png"
printf '<body style="margin:0"><iframe src="curves.html#loss" style="border:0;width:420px;height:1500px"></iframe>' >"$shots/curves-narrow.html"
chrome --window-size=500,1500 --screenshot="$shots/curves-narrow.png" "file://$shots/curves-narrow.html" >/dev/null
ok 'a narrow picture' test -s "$shots/curves-narrow.png"
finish
