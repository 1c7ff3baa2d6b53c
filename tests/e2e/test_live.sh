#!/usr/bin/env bash
# `probe top` and `probe serve`: their figures against what tests/e2e/live_truth.py computes from the files; a terminal; requests
# that are none; a job that runs.
# beside: does not wait busily
# timeout: 600
. "$(dirname "$0")/lib.sh"

gen=$tmp/gen
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }
dir=$tmp/run
"$gen" -r 4 -s 20 -c 2 -g 2 -l 2:5000000 "$dir"
for r in 0 1 2 3; do
	cat >"$dir/rank$r/scalars_0-99.csv" <<CSV
step,name,value,wall_ns
18,loss,2.5,1700000000000000000
18,iteration-time,40,1700000000000000000
19,loss,2.25,1700000000100000000
19,learning-rate/group0,0.01,1700000000100000000
19,learning-rate/group1,0.5,1700000000100000000
19,grad-norm,nan,1700000000100000000
19,iteration-time,20,1700000000100000000
19,comm-time,$((r + 1)),1700000000100000000
19,memory-rss,123456789,1700000000100000000
CSV
done
cat >"$dir/rank3/alerts.jsonl" <<'JSON'
{"rank": 3, "step": 4, "rule": "spike", "text": "spike: grad-norm 9.5 in step 4, \"threshold\" 3", "first_step": 4, "last_step": 4, "count": 1, "action": "log"}
{"rank": 3, "step": 17, "rule": "AnomalyNan", "text": "AnomalyNan: loss", "first_step": 17, "last_step": 19, "count": 3, "action": "log"}
JSON

serve() { # DIR
	rm -f "$tmp/served" # the last server's address
	"$probe" serve --port 0 "$1" >"$tmp/served" 2>"$tmp/served.err" </dev/null &
	server=$!
	started+=($server)
	wait_until 20 grep -q http "$tmp/served"
	url=$(sed 's|/metrics||' "$tmp/served")
}
get() { # URL [HEADER: VALUE]: status, content type; the body in $tmp/body
	python3 - "$tmp/body" "$@" <<'PY'
import sys, urllib.request, urllib.error
r = urllib.request.Request(sys.argv[2], headers=dict(h.split(": ") for h in sys.argv[3:]))
try:
    a = urllib.request.urlopen(r, timeout=20)
except urllib.error.HTTPError as e:
    a = e
open(sys.argv[1], "wb").write(a.read())
print(a.status, a.headers["Content-Type"])
PY
}
serve "$dir"
is 'a page for Prometheus' "$(get "$url/metrics?x=1")" '200 text/plain; version=0.0.4; charset=utf-8'
cp "$tmp/body" "$tmp/prom"
is 'the same as JSON' "$(get "$url/json")" '200 application/json'
cp "$tmp/body" "$tmp/json"
is 'a page for a browser' "$(get "$url/") $(grep -c '<title>probe serve' "$tmp/body")" '200 text/html; charset=utf-8 1'
is 'it loads nothing from elsewhere' "$(grep -cE '(src|href)="?(https?:|//)|@import|url\(' "$tmp/body")" 0
is 'the verdict as text' "$(get "$url/verdict") $(cat "$tmp/body")" "200 text/plain; charset=utf-8 $("$probe" report "$dir" | sed -n '1p; /^What was checked$/,/^$/ s/^  //p')"
"$gen" -r 4 -s 20 -c 2 -g 2 -b 11:2 "$tmp/nan"
"$probe" serve --once "$tmp/nan" >"$tmp/prom.nan"
is 'findings: one series for each rank that is named' "$(grep '^probe_finding' "$tmp/prom.nan")" 'probe_finding{kind="nan",rank="2",severity="bad"} 1'
is 'tensors with a NaN are counted, for each rank' "$(grep '^probe_nonfinite_tensors_total' "$tmp/prom.nan" | tr -d '\n')" "$(
	for r in 0 1 2 3; do
		printf 'probe_nonfinite_tensors_total{rank="%d"} %d' $r "$(python3 -c 'import csv, glob, sys
print(sum(int(r["nans"] or 0) + int(r["infs"] or 0) > 0 for f in glob.glob(sys.argv[1] + "/calls_*.csv") for r in csv.DictReader(open(f))))' "$tmp/nan/rank$r")"
	done
)"
like 'top: so in the terminal' "$("$probe" top --once "$tmp/nan")" '1 fault found.* nan .*rank 2.* NaN, Inf '
is 'figures are those of the files, names those of the Inspector' "$(python3 tests/e2e/live_truth.py "$dir" "$tmp/json" "$tmp/prom" 2>&1)" ''
is 'alerts: newest first, with counts' "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print([(a["rank"], a["rule"], a["count"]) for a in d["alerts"]], d["alerts"][1]["text"], d["running"], d["ranks"][3]["alerts"])' "$tmp/json")" \
	'[(3, '\''AnomalyNan'\'', 3), (3, '\''spike'\'', 1)] spike: grad-norm 9.5 in step 4, "threshold" 3 False 4'
is 'the late rank, and no other, is a straggler' "$(python3 -c 'import json, sys; print([r["rank"] for r in json.load(open(sys.argv[1]))["ranks"] if r["straggler"]])' "$tmp/json")" '[2]'
is 'exposed communication is that of the job itself' "$(grep -c '^probe_exposed_communication_ratio{rank="3"} 0.2$' "$tmp/prom")" 1
is 'top --json prints the same' "$("$probe" top --json "$dir" | grep -vE 'unix_s|silent_s|last_call_s' | cksum)" "$(grep -vE 'unix_s|silent_s|last_call_s' "$tmp/json" | cksum)"
is 'serve --once prints the page' "$("$probe" serve --once "$dir" | cksum)" "$(cksum <"$tmp/prom")"
said=$("$probe" top --once "$dir")
is 'top --once: status' $? 0
like 'top: the job' "$said" "$dir step 20 .*4 ranks finished loss 2.25 grad-norm nan learning-rate 0.01"
like 'top: its speed' "$said" '30 ms a step .*exposed communication 12.5 %'
like 'top: the late rank' "$said" '2 node1 finished 20 30 ms 15.0 % 2.25 nan 3 ms [0-9.]+ ms .*the others wait for it: it arrived last in [0-9]+ of [0-9]+ collectives'
like 'top: alerts' "$said" 'alerts rank 3 AnomalyNan: loss 3 times, last in step 19 rank 3 spike: grad-norm 9.5'

# 100 ms: 10 and 10 in calls, 5 of an asynchronous one in its wait, a call inside another one is that; step 5 does not follow step 1.
PYTHONPATH=tests/e2e python3 - "$tmp/by_hand" <<'PY'
import sys
from report_folder import Rank
r, ms, rows = Rank(sys.argv[1], 0, 1), 10**6, [("in", {}), ("out", {})]
r.call("all_reduce", rows, start=0, dur=10 * ms, step=0, comm_seq=0)
r.call("all_reduce", rows, start=20 * ms, dur=50 * ms, step=1, comm_seq=1, wait_ns=5 * ms, flags="async")
r.call("all_reduce", rows, start=75 * ms, dur=30 * ms, step=1, parent=2)
r.call("all_reduce", rows, start=90 * ms, dur=10 * ms, step=5, comm_seq=2)
r.write()
PY
is 'what blocks a rank, and how long a step is' "$("$probe" top --json "$tmp/by_hand" | python3 -c 'import json, sys
(r,) = json.load(sys.stdin)["ranks"]
print(r["exposed_communication"], r["iteration_ms"], [o["calls"] for o in r["operations"]])')" '0.25 20 [3]'

"$gen" -r 3 -s 700 -c 4 -g 3 -l 1:5000000 "$tmp/long"
is 'of a long run what was written last' "$("$probe" top --json "$tmp/long" | python3 -c 'import json, sys
print([(r["rank"], r["straggler"], 100 < sum(o["calls"] for o in r["operations"]) < 1400, r["step"]) for r in json.load(sys.stdin)["ranks"]])')" \
	'[(0, False, True, 700), (1, True, True, 700), (2, False, True, 700)]'
is 'another path' "$(get "$url/x")" '404 text/plain; charset=utf-8'
is 'a name that is not this machine'"'"'s is refused' "$(get "$url/json" 'Host: evil.example')" '403 text/plain; charset=utf-8'
is 'its own name with a port is not' "$(get "$url/json" 'Host: localhost:1')" '200 application/json'
python3 - "${url##*:}" >"$tmp/odd" <<'PY'
import socket, sys
def ask(data, close=False):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20)
    s.sendall(data)
    if close:
        s.shutdown(socket.SHUT_WR)
    out = b""
    try:
        while (got := s.recv(65536)):
            out += got
    except ConnectionResetError:
        pass
    return out
print(ask(b"POST /metrics HTTP/1.1\r\n\r\n").split(b"\r\n")[0].decode())
print(ask(b"\0\1\2\r\n\r\n").split(b"\r\n")[0].decode())
print(ask(b"HEAD /json HTTP/1.0\r\n\r\n").split(b"\r\n\r\n")[1] == b"")
print(ask(b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n")[:0].decode() + "long")
print(len(ask(b"GET /json HTTP/1.1\r\n", True)))
print(ask(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").split(b"\r\n")[0].decode())
PY
is 'requests that are none do it no harm' "$(tr '\n' '|' <"$tmp/odd")" \
	'HTTP/1.1 405 Method Not Allowed|HTTP/1.1 400 Bad Request|True|long|0|HTTP/1.1 200 OK|'
# Clients that send half a request, or take no answer, make no other client wait; they are dropped after three seconds.
python3 - "${url##*:}" >"$tmp/stalled" <<'PY'
import socket, sys
def dial():
    return socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30)
mute, half, deaf = dial(), dial(), dial()
half.sendall(b"GET /met")
deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
deaf.sendall(b"GET /json HTTP/1.1\r\n\r\n")
said = set()
for _ in range(3):
    s = dial()
    s.sendall(b"GET / HTTP/1.1\r\n\r\n")
    said.add(s.recv(100).split(b"\r\n")[0])
print(said)
# One client at a time: by now the time of this one would have passed.
half.sendall(b"rics HTTP/1.1\r\n\r\n")
print(half.recv(100).split(b"\r\n")[0])
print(mute.recv(100))
PY
is 'stalled clients make no other client wait' "$(tr '\n' '|' <"$tmp/stalled")" "{b'HTTP/1.1 200 OK'}|b'HTTP/1.1 200 OK'|b''|"
is 'it listens on this machine alone' "$(python3 -c 'import sys
port = "%04X" % int(sys.argv[1])
print({l.split()[1].split(":")[0] for f in ("tcp", "tcp6") for l in open("/proc/net/" + f) if l.split()[1].endswith(":" + port) and l.split()[3] == "0A"})' "${url##*:}")" "{'0100007F'}"
kill "$server"
wait "$server"
is 'a signal ends it: status' $? 0

for a in 'top --interval 0' 'top a b' 'top --color x' 'top --what' 'serve --port 70000' 'serve --bind here' 'serve a b' "top $tmp/none" "serve --once $tmp/none"; do
	timeout 20 "$probe" $a >"$tmp/o" 2>"$tmp/e"
	is "${a//$tmp/}: status, one line" "$? $(wc -l <"$tmp/e")" '2 1'
done

# On a terminal: pages until the job has ended, or q.
python3 - "$probe" "$dir" >"$tmp/tty" <<'PY'
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], [sys.argv[1], "top", "--interval", "0.2", sys.argv[2]])
out, end = b"", time.time() + 60
while time.time() < end:
    if select.select([fd], [], [], 1)[0]:
        try:
            got = os.read(fd, 65536)
        except OSError:
            break
        if not got:
            break
        out += got
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), b"\x1b[?1049h" in out, b"\x1b[?1049l" in out, b"the others wait for it" in out.split(b"\x1b[?1049l")[1])
PY
is 'a terminal: a page of its own, and the last one stays' "$(cat "$tmp/tty")" '0 True True True'

# A job that runs: the server is there before it, and sees its steps; a rank that is blocked in a call is named.
for m in $flavours; do
	new_out
	serve "$out"
	is 'before the job: an answer without ranks' "$(get "$url/metrics") $(grep -c '^probe_step' "$tmp/body")" '200 text/plain; version=0.0.4; charset=utf-8 0'
	start_with "$m" 2 mpi_hang missing 10
	in_call() { get "$url/json" >/dev/null && grep -q '"stands_in": "MPI_' "$tmp/body"; }
	ok 'a living job: the call that a rank is blocked in' wait_until 40 in_call
	is 'it runs' "$(grep -c '"running": true' "$tmp/body")" 1
	like 'top says since when' "$(sleep 5; "$probe" top --once "$out")" 'running .* in MPI_[A-Za-z]+ on .* for [0-9.]+ s'
	like 'top: the rank that is in no call: what it did last' "$("$probe" top --once "$out")" 'in no call: last call MPI_[A-Za-z]+ .* ago'
	python3 - "$probe" "$out" >"$tmp/keys" <<'PY'
import os, pty, re, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", COLUMNS="200", LINES="50")
    os.execv(sys.argv[1], [sys.argv[1], "top", "--interval", "30", sys.argv[2]])
def after(keys, text):
    os.write(fd, keys)
    out, end = b"", time.time() + 40
    while time.time() < end and not re.search(text, out):
        if select.select([fd], [], [], 1)[0]:
            out += os.read(fd, 65536)
    print(bool(re.search(text, out)))
after(b"", rb"order \(trouble\)")
after(b"s", rb"order \(rank\)")
after(b"1", rb"> 1 ")
after(b"t", rb"rank 1, (in|last call) MPI_")
after(b"\x1b[A", rb"> 0 ")
os.write(fd, b"q")
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
	is 'keys: order, a rank by its number and by an arrow, its stack, end' "$(tr '\n' ' ' <"$tmp/keys")" 'True True True True True 0 '
	for p in $(ranks_of "$out"); do kill -9 "$p"; done
	kill "$server"
	break
done
finish
