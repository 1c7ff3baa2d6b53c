#!/usr/bin/env bash
# NumPy 2.4.6 with ml_dtypes 0.6.0, h5py 3.16.0, Zarr 3.1.6, safetensors 0.8.0: files of bfloat16.
#
# Question: an array of bfloat16 (1, 2, NaN, -0) is written and read by the same package. What comes back?
# Guess:    the same array, or an error at writing.
# Real:     .npy, .npz and HDF5 come back as raw bytes of type V2, without a warning, and isnan() refuses them. In them a NaN is equal
#           to itself and -0 differs from 0. safetensors.numpy writes the type and cannot read its own file (KeyError). Zarr
#           refuses to write it.
# Matters:  dumps of weights and activations in bfloat16 lose their type on the way; a comparison of two such files
#           compares bytes.
. "$(dirname "$0")/lib.sh"
environment bfloat16 numpy==2.4.6 ml_dtypes==0.6.0 h5py==3.16.0 zarr==3.1.6 safetensors==0.8.0
cat >"$work/program.py" <<'P'
import sys
import h5py, ml_dtypes, numpy, zarr
from safetensors.numpy import load, save
folder = sys.argv[1]
array = numpy.array([1, 2, numpy.nan, -0.0], ml_dtypes.bfloat16)
def npy():
    numpy.save(folder + "/a.npy", array)
    return numpy.load(folder + "/a.npy")
def npz():
    numpy.savez(folder + "/a.npz", a=array)
    return numpy.load(folder + "/a.npz")["a"]
def hdf5():
    with h5py.File(folder + "/a.h5", "w") as f:
        f["a"] = array
    with h5py.File(folder + "/a.h5") as f:
        return f["a"][:]
def zarr3():
    zarr.create_array(folder + "/a.zarr", data=array)
    return zarr.open_array(folder + "/a.zarr", mode="r")[:]
def safetensors():
    return load(save({"a": array}))["a"]
for way in npy, npz, hdf5, zarr3, safetensors:
    try:
        print(f"{way.__name__}: {way().dtype}")
    except Exception as e:
        print(f"{way.__name__}: {type(e).__name__}: {str(e)[:70]}")
back = npy()
try:
    print("isnan:", numpy.isnan(back).tolist())
except TypeError:
    print("isnan: TypeError")
print("equal to itself:", (array == array).tolist(), "and as it comes back:", (back == back).tolist())
zeros = numpy.array([0.0, -0.0], ml_dtypes.bfloat16)
numpy.save(folder + "/z.npy", zeros)
back = numpy.load(folder + "/z.npy")
print("0 is -0:", bool(zeros[0] == zeros[1]), "and as they come back:", bool(back[0] == back[1]))
P
"$python" -W default "$work/program.py" "$work" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
grep -c Warning "$work/errors" | sed 's/^/warnings: /' >>"$work/seen"
expect_output "$work/seen" <<'S'
npy: |V2
npz: |V2
hdf5: |V2
zarr3: ValueError: No Zarr data type found that matches dtype 'dtype(bfloat16)'
safetensors: KeyError: 'BF16'
isnan: TypeError
equal to itself: [True, True, False, True] and as it comes back: [True, True, True, True]
0 is -0: True and as they come back: False
warnings: 0
S
