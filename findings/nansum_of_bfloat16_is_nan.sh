#!/usr/bin/env bash
# NumPy 2.4.6 with ml_dtypes 0.6.0: NumPy's functions that know NaN, on 2, NaN, 1, 4.
#
# Question: what do nansum, nanmean, nanmax, nanargmax, nan_to_num, sort, unique and testing.assert_array_equal make of a bfloat16 array
#           with one NaN?
# Guess:    what they make of a float16 array: the NaN is skipped, replaced, or sorted to the end. isnan() and max() are.
# Real:     nanmax skips it; nansum, nanmean and nanprod are NaN. nan_to_num leaves it. nanargmax is the place of the NaN. sort() leaves
#           the numbers on both sides where they are; unique() keeps a number twice; assert_array_equal fails for an array and its copy.
#           NumPy decides by the kind of the type, and these types are not of the kind "floating". The 8-bit floats do the same.
# Matters:  a report that says "mean without NaN" is NaN for bfloat16 tensors only, a percentile from a sorted array is any number, and
#           two equal dumps with a NaN differ.
. "$(dirname "$0")/lib.sh"
environment ml_dtypes ml_dtypes==0.6.0 numpy==2.4.6
cat >"$work/program.py" <<'P'
import ml_dtypes, numpy as np
def equal(x):
    try:
        np.testing.assert_array_equal(x, x.copy())
        return "equal"
    except AssertionError:
        return "not equal"
for kind in np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn:
    x = np.array([2, np.nan, 1, 4], kind)
    print(x.dtype)
    for name in "isnan", "max", "nanmax", "nansum", "nanmean", "nanprod", "nanargmax", "nan_to_num", "sort":
        print(f"  {name}: {getattr(np, name)(x).astype(float if name not in ('isnan', 'nanargmax') else int).tolist()}")
    print(f"  unique of 1, NaN, 1: {np.unique(np.array([1, np.nan, 1], kind)).astype(float).tolist()}")
    print(f"  assert_array_equal of a copy: {equal(x)}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
float16
  isnan: [0, 1, 0, 0]
  max: nan
  nanmax: 4.0
  nansum: 7.0
  nanmean: 2.333984375
  nanprod: 8.0
  nanargmax: 3
  nan_to_num: [2.0, 0.0, 1.0, 4.0]
  sort: [1.0, 2.0, 4.0, nan]
  unique of 1, NaN, 1: [1.0, nan]
  assert_array_equal of a copy: equal
bfloat16
  isnan: [0, 1, 0, 0]
  max: nan
  nanmax: 4.0
  nansum: nan
  nanmean: nan
  nanprod: nan
  nanargmax: 1
  nan_to_num: [2.0, nan, 1.0, 4.0]
  sort: [2.0, nan, 1.0, 4.0]
  unique of 1, NaN, 1: [1.0, nan, 1.0]
  assert_array_equal of a copy: not equal
float8_e4m3fn
  isnan: [0, 1, 0, 0]
  max: nan
  nanmax: 4.0
  nansum: nan
  nanmean: nan
  nanprod: nan
  nanargmax: 1
  nan_to_num: [2.0, nan, 1.0, 4.0]
  sort: [2.0, nan, 1.0, 4.0]
  unique of 1, NaN, 1: [1.0, nan, 1.0]
  assert_array_equal of a copy: not equal
S
