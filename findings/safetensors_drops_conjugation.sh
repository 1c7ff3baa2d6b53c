#!/usr/bin/env bash
# safetensors 0.8.0 with PyTorch 2.13.0, CPU: files of tensors that are conjugated or negated views.
#
# Question: z.conj() of 1+2i is saved with save_file() and loaded again; so are conj().imag of one number, and the same by torch.save().
#           What comes back?
# Guess:    1-2i and -2; or an error, as numpy() raises for such tensors.
# Real:     torch.save() keeps them. save_file() gives 1+2i and 2: PyTorch conjugates by a flag and leaves the bytes, and the bytes are
#           written without the flag. clone(), resolve_conj() and resolve_neg() before saving make it right.
# Matters:  filters, rotations and spectra come back conjugated, which turns them the other way round; all checksums and absolute values
#           are right.
. "$(dirname "$0")/lib.sh"
environment torchst torch==2.13.0 numpy safetensors==0.8.0
cat >"$work/program.py" <<'P'
import sys, torch
from safetensors.torch import load, load_file, save, save_file
z = torch.tensor([1 + 2j])
path = sys.argv[1]
for name, t in [("z", z), ("z.conj()", z.conj()), ("z.conj().clone()", z.conj().clone()),
                ("z.conj().resolve_conj()", z.conj().resolve_conj()), ("z.conj().imag", z.conj().imag),
                ("z.conj().imag.resolve_neg()", z.conj().imag.resolve_neg())]:
    save_file({"t": t}, path)
    from_file = load_file(path)["t"].item()
    torch.save(t, path)
    print(f"{name} = {t.item()}: save_file() {from_file}, save() {load(save({'t': t}))['t'].item()}, "
          f"torch.save() {torch.load(path).item()}")
P
"$python" -W ignore "$work/program.py" "$work/file" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
z = (1+2j): save_file() (1+2j), save() (1+2j), torch.save() (1+2j)
z.conj() = (1-2j): save_file() (1+2j), save() (1+2j), torch.save() (1-2j)
z.conj().clone() = (1-2j): save_file() (1-2j), save() (1-2j), torch.save() (1-2j)
z.conj().resolve_conj() = (1-2j): save_file() (1-2j), save() (1-2j), torch.save() (1-2j)
z.conj().imag = -2.0: save_file() 2.0, save() 2.0, torch.save() -2.0
z.conj().imag.resolve_neg() = -2.0: save_file() -2.0, save() -2.0, torch.save() -2.0
S
