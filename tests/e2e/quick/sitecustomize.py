"""PyTorch imports its compiler (torch._dynamo) at the first step of an optimizer, although nothing is compiled: more than half of the
time that a short training takes. On PYTHONPATH this loads it when it is really used. What PyTorch itself calls of it in a program that
compiles nothing is answered here as the compiler would; any other name brings the real one. tests/e2e/torch.sh uses it but with
LONG=1 or REAL_COMPILER=1."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

NAME = "torch._dynamo"


def as_it_is(fn=None, recursive=True, *, reason=None, wrapping=True):
    return fn if fn is not None else as_it_is


class Part(types.ModuleType):
    """A module that has these names, and brings the real one for others."""

    def __init__(self, name, real, **known):
        super().__init__(name)
        self.__dict__.update(known, real=real)

    def __getattr__(self, name):
        # What the import itself asks of a module is not meant; a package's path is, where one of its modules is imported.
        if name.startswith("__") and (name != "__path__" or not self.__dict__.get("begun")):
            raise AttributeError(name)
        return getattr(self.real(), name)


class Compiler(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    real = None

    def find_spec(self, name, path=None, target=None):
        if name == NAME and not self.real and "torch" in sys.modules:
            return importlib.machinery.ModuleSpec(name, self, is_package=False)
        if name.startswith(NAME + ".") and name in sys.modules:  # importing the package imported it
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec):
        if spec.name != NAME:
            return sys.modules[spec.name]
        utils = Part(NAME + ".utils", lambda: self.load().utils, get_optimize_ddp_mode=lambda: "ddp_optimizer")
        rules = Part(NAME + ".trace_rules", lambda: self.load().trace_rules, clear_lru_cache=lambda: None)
        return Part(NAME, self.load, disable=as_it_is, graph_break=lambda msg="": None, utils=utils, trace_rules=rules)

    def exec_module(self, module):
        module.__dict__["begun"] = True

    def load(self):
        if not self.real:
            sys.meta_path.remove(self)
            sys.modules.pop(NAME, None)
            vars(sys.modules["torch"]).pop("_dynamo", None)  # it is looked for again
            self.real = importlib.import_module(NAME)
            sys.meta_path.insert(0, self)
        return self.real


sys.meta_path.insert(0, Compiler())
