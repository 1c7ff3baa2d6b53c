# PyTorch on the stand-in for CUDA's driver; sourced by tests/e2e/test_torch_device*.sh after torch.sh.
#
#   torch_device WHAT [GROUP]    compiles the extensions (with GROUP: the process group too) where they are older than their
#                                sources; sets $extensions to their folder. Ends the script with a skipped test WHAT where
#                                they cannot be had

# shellcheck disable=SC2154 # python, torch_version: torch.sh
compile_extension() { # NAME LIBRARIES ...
	local name=$1 source=tests/doubles/torch/$1.cpp
	shift
	[ "$extensions/$name.so" -nt "$source" ] && [ "$extensions/$name.so" -nt "$B/doubles/libcuda.so.1" ] && return
	g++ -std=c++20 -O1 -Wall -fPIC -isystem "$torch/include" -isystem tests/doubles/nccl/include -idirafter tests/doubles/cuda/include \
		-c -o "$tmp/$name.o" "$source" &&
		g++ -shared -Wl,-soname,"$name.so" -o "$extensions/$name.so" "$tmp/$name.o" -L"$torch/lib" -ltorch_cpu -lc10 -L"$B/doubles" "$@" \
			-Wl,-rpath,"$torch/lib" -Wl,-rpath,'$ORIGIN/..' -Wl,-rpath,'$ORIGIN'
}

torch_device() {
	torch=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')
	extensions=$PWD/$B/doubles/torch-$torch_version
	if [[ ! $torch_version =~ ^2\.(1[3-9]|[2-9][0-9]).*cpu || ! -e $torch/include/ATen/native/CPUFallback.h ]]; then
		skip "$1" "PyTorch $torch_version: the extensions are for 2.13 and later without CUDA"
		finish
	fi
	if ! command -v g++ >/dev/null || [ ! -e "$B/doubles/libcuda.so.1" ]; then
		skip "$1" 'no g++, or the stand-ins are not built (make apps)'
		finish
	fi
	mkdir -p "$extensions"
	if ! compile_extension torch_device -l:libcuda.so.1 ||
		{ [ -n "${2:-}" ] && ! compile_extension torch_group -l:libnccl.so.2 "$extensions/torch_device.so"; }; then
		fail 'the extensions compile'
		finish
	fi
}
