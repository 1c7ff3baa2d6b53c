# SPDX-License-Identifier: Apache-2.0
# A Spack package: put this folder into a repository of yours as packages/libprobe/. Read against packages of Spack 1, not run.
from spack.package import *

try:  # Spack 1.0 and newer have it in their repository of packages
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class Libprobe(MakefilePackage):
    """Finds the rank, step and line of a fault in distributed training, by LD_PRELOAD."""

    license("Apache-2.0")
    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("libyaml")
    depends_on("zlib-api")
    depends_on("libffi")
    depends_on("elfutils")

    def build(self, spec, prefix):
        make("all")

    def install(self, spec, prefix):
        make("install-strip", f"PREFIX={prefix}")
