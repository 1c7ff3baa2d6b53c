# SPDX-License-Identifier: Apache-2.0
"""
Tests of PyTorch's own distributed suite on gloo, as the package ships them (torch.testing._internal): prints a line for
each, its name and how it ended. Usage: gloo_suite.py [TEST...]; without names, all of them, which takes an hour.
"""
import os
import sys
import tempfile
import unittest

os.environ.setdefault("BACKEND", "gloo")
os.environ.setdefault("WORLD_SIZE", "2")
temp = os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp())
for d in ("barrier", "test_dir", "init_dir"):
    os.makedirs(os.path.join(temp, d), exist_ok=True)
os.environ.setdefault("INIT_METHOD", "file://" + os.path.join(temp, "shared_init_file"))

from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend  # noqa: E402


class TestGloo(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()

    @classmethod
    def _run(cls, *args, **kwargs):
        """A rank leaves as those of train_ddp.py do: PyTorch now and then aborts in the interpreter's exit."""
        try:
            super()._run(*args, **kwargs)
        except SystemExit as e:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(e.code or 0)


class Lines(unittest.TextTestResult):
    def say(self, test, how):
        print(test.id().split(".")[-1], how, flush=True)

    def addSuccess(self, test):
        self.say(test, "ok")

    def addError(self, test, err):
        self.say(test, f"error {err[0].__name__}")
        super().addError(test, err)

    def addFailure(self, test, err):
        self.say(test, "failure")
        super().addFailure(test, err)

    def addSkip(self, test, reason):
        self.say(test, "skipped")


if __name__ == "__main__":
    names = sys.argv[1:] or [n for n in unittest.TestLoader().getTestCaseNames(TestGloo)]
    suite = unittest.TestSuite(TestGloo(n) for n in names)
    unittest.TextTestRunner(stream=sys.stderr, resultclass=Lines).run(suite)
