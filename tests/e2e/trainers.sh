# The trainers that are used most, in a virtual environment of their own ($B/long/programs) on top of the PyTorch of the other
# tests (1 GB; nothing but packages is downloaded); sourced by tests/long/*.sh after torch.sh.
#
#   trainers_prepare          sets $python to that environment; what cannot be had is skipped
#   trainers_lack NAME        what program NAME needs and is not there; nothing: it can run
venv=$(realpath "$B")/long/programs
TORCH_LIMIT=${TORCH_LIMIT:-600}
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false DS_ACCELERATOR=cpu

install_trainers() {
	local site base=$1
	[ -x "$venv/bin/python" ] || "$base" -m venv "$venv" || return
	site=$("$venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')
	# The PyTorch below it is seen by a path file.
	"$base" -c 'import os, torch; print(os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__))))' >"$site/torch_below.pth"
	[ -e "$venv/.trainers" ] || { "$venv/bin/pip" install --quiet transformers accelerate lightning wheel && touch "$venv/.trainers"; }
	[ -e "$venv/.deepspeed" ] || { DS_BUILD_OPS=0 "$venv/bin/pip" install --quiet --no-build-isolation deepspeed && touch "$venv/.deepspeed"; }
	[ -e "$venv/.megatron" ] || { "$venv/bin/pip" install --quiet --no-build-isolation megatron-core && touch "$venv/.megatron"; }
}

trainers_prepare() {
	install_trainers "$python" >"$tmp/pip" 2>&1
	[ -x "$venv/bin/python" ] && python=$venv/bin/python
}

trainers_lack() { # PROGRAM
	local need
	case $1 in
	trainer* | accelerate | lightning) need=trainers ;;
	zero* | deepspeed) need=deepspeed ;;
	megatron) need=megatron ;;
	*) return ;;
	esac
	[ -e "$venv/.$need" ] || echo "no $need: $(grep -i error "$tmp/pip" | tail -1)"
}
