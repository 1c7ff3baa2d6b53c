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
sed -i -E 's/<td [^>]*>/<td>/g' "$tmp/dom"
like 'where the runs part' "$(cat "$tmp/dom")" '<td>loss</td><td>0</td><td>120</td><td>0.00826446</td><td>0.258264</td>.*<td>loss</td><td>1</td><td>120</td>.*<td>grad_reduced/layers.0.weight/norm</td><td>1</td><td>150</td><td>75</td><td>78</td>'
like '... of a long one too' "$(cat "$tmp/dom")" '<td>update_ratio/long[^<]*</td><td>1</td><td>5003</td><td>0.125</td><td>0.25</td>'
is '... and nowhere else' "$(grep -o 'data-parts="[0-9]*"' "$tmp/dom")" 'data-parts="4"'
chrome --dump-dom "file://$shots/curves.html" >"$tmp/dom"
like 'it opens at the first difference' "$(cat "$tmp/dom")" '<h2 id="verdict">First difference: step 120, rank 0, loss: A 0.00826446, B 0.258264</h2>.*<h2 id="name">loss</h2>.*class="first"'
is 'nothing is reported by the browser' "$(grep -c 'Uncaught' "$tmp/console")" 0
# ADDRESS WANTED [SCHEME]: after it (#dark, #light, a curve), and without it as the system has it (0: dark)
theme() {
	chrome ${3:+--blink-settings=preferredColorScheme=$3} --dump-dom "file://$shots/curves.html$1" >"$tmp/dom"
	is "theme: curves.html$1${3:+, the system is dark}" "$(grep -oE '<html[^>]*class="dark"' "$tmp/dom" | wc -l)" "$2"
}
theme '#dark' 1
theme '#light' 0 0
theme '#loss' 1 0
theme '#loss' 0
for look in light dark; do
	chrome --screenshot="$shots/curves-$look.png" "file://$shots/curves.html#$look" >/dev/null
	ok "a picture, $look" test -s "$shots/curves-$look.png"
	cat >"$shots/curves-$look-narrow.html" <<-END
		<body style="margin:0"><iframe src="curves.html#$look" style="border:0;width:420px;height:1500px"></iframe>
		<script>onload = () => setTimeout(() => { const d = document.querySelector("iframe").contentDocument;
		document.title = [...d.querySelectorAll("td, h1, h2, svg, select, button")].filter(e => e.getBoundingClientRect().right > 420).length + " of " + d.querySelectorAll("td").length; }, 500)</script>
	END
	chrome --allow-file-access-from-files --window-size=500,1500 --dump-dom "file://$shots/curves-$look-narrow.html" >"$tmp/dom"
	like "at 420 pixels nothing is beyond the edge, $look" "$(grep -o '<title>.*</title>' "$tmp/dom")" '<title>0 of [1-9][0-9]*<'
	chrome --window-size=500,1500 --screenshot="$shots/curves-$look-narrow.png" "file://$shots/curves-$look-narrow.html" >/dev/null
	ok "a narrow picture, $look" test -s "$shots/curves-$look-narrow.png"
done
finish
