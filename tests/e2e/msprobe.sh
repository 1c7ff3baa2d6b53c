# A Python with msprobe; sourced by tests/long/*msprobe.sh and compare_peer.sh after lib.sh.
#
#   python_with TEXT PYTHON FOLDER PACKAGE ...  sets $python to PYTHON, or if that is empty to the Python of the virtual environment
#                                               $B/long/FOLDER with these packages. If they cannot be installed: skips test TEXT
#                                               and ends the script
#   msprobe_python                              msprobe 26.2.0 and PyTorch: $PROBE_TEST_MSPROBE, or $B/long/msprobe

python_with() {
	local text=$1 folder=$3
	python=$2
	shift 3
	[ -z "$python" ] || return 0
	mkdir -p "$B/long"
	python=$(realpath "$B")/long/$folder/bin/python
	(
		flock 9 # scripts that run at the same time share the folder
		{ [ -x "$python" ] || python3 -m venv "$B/long/$folder"; } && "$python" -m pip install --quiet "$@"
	) 9>"$B/long/$folder.lock" >"$tmp/pip" 2>&1 || {
		skip "$text" "$(tail -1 "$tmp/pip")"
		finish
	}
}

msprobe_python() {
	python_with msprobe "${test_msprobe:-}" msprobe torch==2.13.0 numpy mindstudio-probe==26.2.0
}
