# SPDX-License-Identifier: Apache-2.0
"""libprobe from Python: where its files are, and the tables of a run as data frames. Everything else is the command `probe`."""

import glob
import io
import json
import os
import subprocess

_HERE = os.path.dirname(os.path.abspath(__file__))
# A table: the files of a rank's folder, and the name that `probe columns` has for it.
_TABLES = {
    "calls": ("calls_*.csv*", "calls"),
    "comms": ("comms.csv", "comms"),
    "modules": ("modules.csv", "modules"),
    "names": ("names.csv", "names"),
    "scalars": ("scalars_*.csv*", "scalar_rows"),
    "stacks": ("stack_info.csv", "stack_info"),
}


def path():
    """Returns the path of libprobe.so, for LD_PRELOAD."""
    return os.path.join(_HERE, "lib", "libprobe.so")


def command():
    """Returns the path of the command `probe`."""
    return os.path.join(_HERE, "bin", "probe")


class Run:
    """The tables of an output folder: calls, comms, modules, names, scalars, stacks. Each is read when it is first used."""

    def __init__(self, folder, library):
        self.folder, self.library = folder, library
        self.ranks = sorted((int(f[4:]), os.path.join(folder, f)) for f in os.listdir(folder) if f[:4] == "rank" and f[4:].isdigit())
        if not self.ranks:
            raise FileNotFoundError(f"{folder}: no folder of a rank (rank0, rank1 ...) in it")

    def __getattr__(self, table):
        if table not in _TABLES:
            raise AttributeError(f"no table {table}; there are: {', '.join(_TABLES)}")
        pattern, columns = _TABLES[table]
        types = json.loads(subprocess.check_output([command(), "columns", "--pandas", columns]))
        files = [(r, f) for r, folder in self.ranks for f in sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))]
        # A file that was just begun has no header yet; one that is being compressed is there twice.
        files = [(r, f) for r, f in files if os.path.getsize(f) and not (f.endswith(".gz") and os.path.exists(f[:-3]))]
        none = [(0, io.BytesIO((",".join(types) + "\n").encode()))]  # no rank has one: the columns, without rows
        frame = globals()["_read_" + self.library](files or none, types)
        setattr(self, table, frame)
        return frame


def _read_pandas(files, types):
    import pandas as pd

    # Text such as NA is a name here; only an empty field is missing, and nan is a number.
    frames = [pd.read_csv(f, dtype=types, keep_default_na=False, na_values=[""]) for _, f in files]
    for (rank, _), frame in zip(files, frames):
        frame.insert(0, "world_rank", rank)
    return pd.concat(frames, ignore_index=True)


def _read_polars(files, types):
    import polars as pl

    kinds = {"Int64": pl.Int64, "float64": pl.Float64, "string": pl.String}
    types = {name: kinds[kind] for name, kind in types.items()}
    frames = [pl.read_csv(f, schema_overrides=types).select(pl.lit(rank, pl.Int64).alias("world_rank"), pl.all()) for rank, f in files]
    return pl.concat(frames, how="diagonal")


def _read_arrow(files, types):
    import pyarrow as pa
    from pyarrow import csv

    kinds = {"Int64": pa.int64(), "float64": pa.float64(), "string": pa.string()}
    options = csv.ConvertOptions(column_types={n: kinds[k] for n, k in types.items()}, null_values=[""], strings_can_be_null=True)
    tables = [(rank, csv.read_csv(f, convert_options=options)) for rank, f in files]
    tables = [t.add_column(0, "world_rank", pa.array([rank] * t.num_rows, pa.int64())) for rank, t in tables]
    return pa.concat_tables(tables, promote_options="default")


def load(folder="probe_output", library="pandas"):
    """Opens an output folder. library: pandas, polars or arrow.

    load("probe_output").calls has a row for each tensor of each call. Ids are text, numbers are numbers, an empty field is missing.
    Column world_rank is the rank whose folder has the row; column rank is the rank in the communicator.
    """
    if library not in ("pandas", "polars", "arrow"):
        raise ValueError(f"library {library!r}: pandas, polars or arrow")
    return Run(folder, library)
