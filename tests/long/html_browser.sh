#!/usr/bin/env bash
# `probe report --html` and the page of `probe serve` in a browser: headless Chromium runs the page, and what it made of the data is compared
# with the report; a picture of each, wide and narrow, is left in $B/long/html for a person to look at.
# timeout: 600
. "$(dirname "$0")/../e2e/lib.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
	skip 'the page in a browser' 'no Chromium'
	finish
}
shots=$(realpath "$B")/long/html
mkdir -p "$shots"
gen=$tmp/gen
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }

chrome() { # OPTIONS: the page itself is the last argument
	timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tmp/profile" \
		--window-size=1300,1600 --virtual-time-budget=6000 --enable-logging=stderr "$@" 2>"$tmp/console"
}

# An error would be heard: a browser that says nothing has an empty console.
echo '<script>undefined_name()</script>' >"$tmp/wrong.html"
chrome --dump-dom "file://$tmp/wrong.html" >/dev/null
like 'an error of a script is heard' "$(grep -i console "$tmp/console")" 'Uncaught|Error'

# The elements that the page's script built from its data.
cat >"$tmp/dom.py" <<'PY'
import collections, html.parser, json, sys
class P(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.canvas, self.comms, self.root, self.points = [], {}, 0, {}, None
        self.rows, self.flame, self.gaps, self.copies = collections.Counter(), None, None, 0
    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag == "html": self.root = a
        if a.get("class") == "finding": self.found.append((a["data-severity"], a["data-kind"]))
        if tag == "canvas": self.canvas[a["id"]] = a
        if a.get("class") == "comm": self.comms += 1
        if tag == "svg" and self.points is None: self.points, self.gaps = a.get("data-points"), a.get("data-gaps")
        if tag == "tr": self.rows[a.get("class")] += 1
        if a.get("id") == "flame": self.flame = a.get("data-boxes")
        if a.get("class") == "next": self.copies += 1
p = P()
p.feed(open(sys.argv[1]).read())
r = json.load(open(sys.argv[2]))
def check(text, good, detail=""):
    print(("ok - " if good else "not ok - ") + text + ("" if good else f": {detail}"))
check("the script ran to its end", p.root.get("data-ready") == "1", p.root)
check("findings", p.found == [(f["severity"], f["kind"]) for f in r["findings"]], p.found)
check("communicators", p.comms == min(500, len(r["comms"])), p.comms)
h = p.canvas["hcanvas"]
check("heat map", int(h["data-rows"]) == len(r["ranks"]) and float(h["data-high"]) > 0, h)
t = p.canvas["tcanvas"]
check("timeline", int(t["data-rows"]) == min(128, len(r["ranks"])) and int(t["data-calls"]) > 0, t)
check("statistics", int(p.points or 0) > 0, p.points)
check("operations, slowest calls", 0 < p.rows["row op"] <= len(r["operations"]) and p.rows["row slow open"] == len(r["slowest"]), p.rows)
check("time by stack has boxes", int(p.flame or 0) > 1, p.flame)
check("commands to copy", p.copies == len([f for f in r["findings"] if f["severity"] != "note" and f["next"]]), p.copies)
check("a NaN is a gap in the line", int(p.gaps or 0) > 0 or not any(f["kind"] == "nan" for f in r["findings"]), p.gaps)
check("theme", ("dark" in (p.root.get("class") or "")) == (sys.argv[3] == "dark"), p.root)
PY

look() { # NAME DIR THEME
	local line
	"$probe" report --html "$shots/$1.html" "$2" >"$tmp/said"
	"$probe" report --json "$2" >"$tmp/report.json"
	chrome --dump-dom "file://$shots/$1.html#$3" >"$tmp/dom"
	python3 "$tmp/dom.py" "$tmp/dom" "$tmp/report.json" "$3" >"$tmp/checks" 2>&1 || echo "not ok - the page is read: $(tail -1 "$tmp/checks")" >>"$tmp/checks"
	while read -r line; do
		case $line in
		'ok - '*) pass "$1, $3: ${line#ok - }" ;;
		'not ok - '*) fail "$1, $3: ${line#not ok - }" ;;
		esac
	done <"$tmp/checks"
	is "$1, $3: no error on the console" "$(grep -i console "$tmp/console" | grep -E 'Uncaught|Error')" ''
	chrome --screenshot="$shots/$1-$3.png" "file://$shots/$1.html#$3" >/dev/null
	ok "$1, $3: a picture" test -s "$shots/$1-$3.png"
	# A narrow window: headless Chromium's own has at least 500 pixels, a frame in a page has what is asked for.
	printf '<body style="margin:0"><iframe src="%s.html#%s" style="border:0;width:420px;height:3400px"></iframe>' "$1" "$3" >"$shots/$1-$3-narrow.html"
	chrome --window-size=500,3400 --screenshot="$shots/$1-$3-narrow.png" "file://$shots/$1-$3-narrow.html" >/dev/null
	ok "$1, $3: a narrow picture" test -s "$shots/$1-$3-narrow.png"
}

$gen -r 16 -s 60 -c 4 -g 4 -x 31:6 "$tmp/hang"
look hang "$tmp/hang" dark

# ---- probe serve ----

"$probe" serve --port 0 "$tmp/hang" >"$tmp/served" 2>&1 </dev/null &
started+=($!)
wait_until 20 grep -q http "$tmp/served"
url=$(grep -o 'http://[0-9.:]*' "$tmp/served")
verdict=$("$probe" report "$tmp/hang" | sed -n 1p)
python3 - "$url" "$shots/serve.html" "$tmp/blocked.html" <<'PY'
# The page with its data inside, for a narrow frame.
import json, sys, urllib.request
page, data = (urllib.request.urlopen(sys.argv[1] + "/" + f, timeout=30).read().decode() for f in ("", "json"))
asks = "await fetch('json', {cache: 'no-store'})"
assert page.count(asks) == 1
def write(path, data):
    open(path, "w").write(page.replace(asks, "{json: () => (" + json.dumps(data).replace("</", "<\\/") + ")}"))
data = json.loads(data)
write(sys.argv[2], data)
data.update(running=True, faults=[], verdict={"text": "Nothing found", "faults": 0, "warnings": 0})
for r in data["ranks"]:
    r["stands_s"] = 240 if r["rank"] == 3 else 0
    r["stands_in"] = "MPI_Allreduce"
write(sys.argv[3], data)
PY
for theme in light dark; do
	chrome --dump-dom "$url/#$theme" >"$tmp/dom"
	like "serve, $theme: the script ran to its end" "$(head -c 400 "$tmp/dom")" 'data-ready="1"'
	is "serve, $theme: the verdict, what was checked in part in small" "$(grep -o '<h2 id="verdict".*</h2>' "$tmp/dom" | sed 's/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g')" "$verdict"
	like "serve, $theme: only the number of faults is large" "$(cat "$tmp/dom")" '<h2 id="verdict" class="bad">1 fault found<small>'
	is "serve, $theme: the guilty rank" "$(grep -o '<tr class="guilty" data-rank="[0-9]*"' "$tmp/dom")" '<tr class="guilty" data-rank="6"'
	is "serve, $theme: no error on the console" "$(grep -i console "$tmp/console" | grep -E 'Uncaught|Error')" ''
	chrome --screenshot="$shots/serve-$theme.png" "$url/#$theme" >/dev/null
	ok "serve, $theme: a picture" test -s "$shots/serve-$theme.png"
	printf '<body style="margin:0"><iframe src="serve.html#%s" style="border:0;width:420px;height:1900px"></iframe>' "$theme" >"$shots/serve-$theme-narrow.html"
	chrome --window-size=500,1900 --screenshot="$shots/serve-$theme-narrow.png" "file://$shots/serve-$theme-narrow.html" >/dev/null
	ok "serve, $theme: a narrow picture" test -s "$shots/serve-$theme-narrow.png"
done
# Ranks that are blocked in a job that runs, and no rule calls it a hang: that is not green.
chrome --dump-dom "file://$tmp/blocked.html" >"$tmp/dom"
like 'serve: blocked ranks without a finding are a warning' "$(cat "$tmp/dom")" '<h2 id="verdict" class="warn">Nothing found</h2>.*blocked</b>1 of 16 ranks, for up to 240 s'

# ---- the report ----

$gen -r 1000 -s 100 -c 4 -g 8 -b 31:700 -l 5:900000 "$tmp/big"
look thousand "$tmp/big" light
is 'a thousand ranks: below 10 MB' "$(($(stat -c %s "$shots/thousand.html") < 10000000))" 1
for m in $flavours; do
	new_out
	run_with $m 4 PROBE_STEP_MARKER=MPI_Reduce train_digits --epochs 3 --nan-at 40:2
	look training "$out" light
	look training "$out" dark
	break
done
finish
