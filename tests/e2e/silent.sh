# Trainings with a silent fault; sourced by tests/e2e/test_torch_silent*.sh after torch.sh.
#
#   fault_case CASE RANKS [NAME=VALUE ...]     tests/apps/py/silent_faults.py CASE under the preload into a new $out
#   found TEXT KIND REGEX                  the report of $out has a finding of that kind whose text matches
#   faults                                 the kinds of its findings that are bad or warnings, without those about time

fault_case() {
	new_out
	torchrun_with "$2" "${@:3}" tests/apps/py/silent_faults.py "$1"
}

texts_of() { # KIND
	"$B/probe" report --json "$out" | python3 -c '
import json, sys
for f in json.load(sys.stdin)["findings"]:
    if f["kind"] == sys.argv[1]:
        print(f["text"].replace("\n", " "))' "$1"
}

found() { # TEXT KIND REGEX
	like "$1" "$(texts_of "$2")" "$3"
}

faults() {
	"$B/probe" report --json "$out" | python3 -c '
import json, sys
timing = {"slow", "jitter", "stall", "straggler", "link"}
print(" ".join(f["kind"] for f in json.load(sys.stdin)["findings"] if f["severity"] in ("bad", "warn") and f["kind"] not in timing))'
}
