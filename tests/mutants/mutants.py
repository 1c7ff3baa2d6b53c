#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes places of product code, one after the other, and prints how many changes the nearest tests notice.

A place is a comparison, a whole number or a statement in the body of a function. All places are shuffled by the seed, at most one a
file is taken first. A change that does not compile, or that makes the same machine code, is replaced by the next place.
Places whose change no test can see are not taken: texts of the log, what only frees or closes (but with --san=address), the branch
that is expected, sizes of buffers, and what a comment says cannot happen.
The nearest tests of a file are the unit tests that name a function of its object, or else of an object that calls it;
then the scripts of nearest.table. Work is done in a copy of the tree, build/mutants/tree, which begins with what was built.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TREE = os.path.join(ROOT, "build", "mutants", "tree")
NEAREST = 6  # unit tests that are run for one mutant, at most
LIMIT = 240  # seconds for one test program
# Statements and the surroundings of constants without an effect that a test could see.
SILENT = re.compile(r"(?:\(void\))?(?:log_(?!loss)\w+|madvise|posix_fadvise|__builtin_\w+|sched_yield|setvbuf)\(")
RELEASE = re.compile(r"(?:\(void\))?(?:free|close|fclose|closedir|munmap|\w+_free|\w+_close|free_\w+|close_\w+)\(")
HINT = re.compile(r"__builtin_expect\([^;\n]*,\s*$|__attribute__\(\([^\n]*$")
ARRAY = re.compile(r"^\t+(?:static |const |unsigned |struct )*\w+ \**\w+\[\d+\](?:, \w+\[\d+\])*(?: = [^;\n]*)?;")
NEVER = re.compile(r"/\*[^*\n]*\b(?:cannot happen|unreachable)\b", re.I)
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


def run(args, cwd=TREE, limit=None, env=None):
    """Returns (status, output); 124 if the limit passed."""
    try:
        p = subprocess.run(args, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           timeout=limit, env=env, start_new_session=True, errors="replace")
        return p.returncode, p.stdout
    except subprocess.TimeoutExpired:
        return 124, ""


def blank(text):
    """The text without comments, strings and preprocessor lines, each letter of them a blank: offsets stay."""
    def spaces(m):
        return re.sub(r"[^\n]", " ", m.group(0))
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', spaces, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", spaces, text, flags=re.M)


def bodies(text):
    """(start, end) of functions' bodies: from a line "{" to a line "}"."""
    for m in re.finditer(r"^\{\n(.*?)^\}", text, flags=re.M | re.S):
        if text[:m.start()].rstrip().endswith(")"):
            yield m.start(1), m.end(1)


def has_effect(source, offset, old, kind, san):
    """False: no test can see a change of this place."""
    begin = source.rfind("\n", 0, offset) + 1
    before = source.rfind("\n", 0, begin - 1) + 1
    line = source[begin:source.find("\n", offset)]
    if NEVER.search(source[before:begin] + line):
        return False
    if kind == "statement":
        return not SILENT.match(old) and (not RELEASE.match(old) or "address" in san)
    if re.match(r"\t+(?:log_(?!loss)\w+)\(", line):
        return False
    return kind != "constant" or not (HINT.search(source[begin:offset]) or ARRAY.match(line))


def places_of(path, san=""):
    """(offset, old, new, kind) of each place of a file whose change can be seen."""
    with open(os.path.join(TREE, path)) as f:
        source = f.read()
    return [p for p in all_places_of(source) if has_effect(source, p[0], p[1], p[3], san)]


def all_places_of(source):
    text = blank(source)
    for start, end in bodies(text):
        body = text[start:end]
        for m in re.finditer(r"(?<![-<>=!])(<=|>=|==|!=|<|>)(?![<>=])", body):
            yield start + m.start(), m.group(0), COMPARISONS[m.group(0)], "comparison"
        for m in re.finditer(r"(?<![\w.])\d+(?![\w.])", body):
            if not re.search(r"\bcase\s+$", body[:m.start()]):
                yield start + m.start(), m.group(0), str(int(m.group(0)) + 1), "constant"
        # A statement of one line: a call, an assignment, a step. A declaration would not compile without its name, or says nothing.
        for m in re.finditer(r"^(\t+)((?:\(void\))?[\w.\->\[\]*()]+(?: ?(?:[-+*/|&^]|<<|>>)?= [^;\n]*|\([^;\n]*\)|\+\+|--));$", body, flags=re.M):
            if not re.match(r"return\b|goto\b|break\b|continue\b", m.group(2)):
                yield start + m.start(2), source[start + m.start(2):start + m.end(2) + 1], ";", "statement"


def copy_build():
    """What was built, with its times, so that only what is not up to date is compiled."""
    built, copy = os.path.join(ROOT, "build"), os.path.join(TREE, "build")
    os.makedirs(copy)
    for name in os.listdir(built) if os.path.isdir(built) else []:
        if name not in ("mutants", "ptvenv", "msvenv", "test-logs"):
            subprocess.run(["cp", "-a", os.path.join(built, name), copy])


def copy_tree(whole):
    """whole: with what was built, if the copy is a new one; later only files that have changed are copied, and are newer than all objects."""
    new_tree = whole and not os.path.exists(os.path.join(TREE, "build"))
    os.makedirs(TREE, exist_ok=True)
    if new_tree:
        copy_build()
    files = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE).stdout
    names = [f for f in files.decode().split("\0") if f and os.path.exists(os.path.join(ROOT, f))]
    for name in names:
        old, new = os.path.join(ROOT, name), os.path.join(TREE, name)
        if os.path.islink(old):
            continue
        with open(old, "rb") as f:
            content = f.read()
        if not os.path.exists(new) or open(new, "rb").read() != content:
            os.makedirs(os.path.dirname(new), exist_ok=True)
            with open(new, "wb") as f:
                f.write(content)
            os.chmod(new, os.stat(old).st_mode)
            if new_tree:
                shutil.copystat(old, new)
    kept = set(names)
    for room in ("preload", "wrappers", "tools", "tests"):
        for folder, _, found in os.walk(os.path.join(TREE, room)):
            for name in found:
                path = os.path.relpath(os.path.join(folder, name), TREE)
                if path not in kept and not path.endswith(".pyc"):
                    os.remove(os.path.join(TREE, path))
    for venv in ("ptvenv", "msvenv"):
        link = os.path.join(TREE, "build", venv)
        os.makedirs(os.path.dirname(link), exist_ok=True)
        if os.path.exists(os.path.join(ROOT, "build", venv)) and not os.path.lexists(link):
            os.symlink(os.path.realpath(os.path.join(ROOT, "build", venv)), link)


class Mutants:
    def __init__(self, options):
        self.options = options
        self.flags = ["SAN=" + options.san] if options.san else []
        self.build = "build-" + options.san.replace(",", "-") if options.san else "build"
        self.passes = {}
        self.untested = 0
        self.env = dict(os.environ, B=self.build, CMOCKA_MESSAGE_OUTPUT="TAP", LC_ALL="C")
        for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
            self.env.pop(name, None)

    def make(self, *targets, limit=None):
        return run(["make", "-j%d" % self.options.jobs, "-s", *self.flags, *targets], limit=limit, env=self.env)

    def object_of(self, path):
        return "%s/obj/%s.o" % (self.build, path[:-2])

    def read_symbols(self, paths):
        """Objects' functions and what they use; unit tests' words."""
        self.defines, self.uses = {}, {}
        for path in paths:
            _, out = run(["nm", self.object_of(path)], env=self.env)
            words = [line.split() for line in out.splitlines()]
            self.defines[path] = {w[-1] for w in words if len(w) > 1 and w[-2] in "TDBR"} - {"main"}
            self.uses[path] = {w[-1] for w in words if len(w) > 1 and w[-2] == "U"}
        self.words = {}
        folder = os.path.join(TREE, "tests", "unit")
        for name in sorted(os.listdir(folder)):
            if name.startswith("test_") and name.endswith(".c"):
                self.words[name[:-2]] = set(re.findall(r"\w+", self.read_with_includes(folder, name, set())))

    def read_with_includes(self, folder, name, seen):
        seen.add(name)
        with open(os.path.join(folder, name)) as f:
            text = f.read()
        for m in re.findall(r'^#include "([\w/.]+)"', text, flags=re.M):
            if m not in seen and os.path.exists(os.path.join(folder, m)):
                text += self.read_with_includes(folder, m, seen)
        return text

    def nearest(self, path):
        """Unit tests: those that name most of the file's functions first; else those of the files that call it."""
        found, names, seen = [], self.defines[path], {path}
        stem = os.path.basename(path)[:-2]
        for _ in range(3):
            hits = sorted(((len(w & names), t) for t, w in self.words.items() if w & names),
                          key=lambda h: (-h[0], stem not in h[1], h[1]))
            found += [t for _, t in hits if t not in found]
            if len(found) >= NEAREST:
                break
            callers = [p for p in self.uses if p not in seen and self.uses[p] & names]
            seen.update(callers)
            names = set().union(*(self.defines[p] for p in callers)) if callers else set()
        return found[:NEAREST]

    def scripts(self, path):
        best = ("", [])
        with open(os.path.join(TREE, "tests", "mutants", "nearest.table")) as f:
            for line in f:
                words = line.split()
                if words and not line.startswith("#") and path.startswith(words[0]) and len(words[0]) > len(best[0]):
                    best = (words[0], words[1:])
        return [] if self.options.unit else best[1]

    def test(self, name):
        """False: the test failed."""
        if os.path.exists(os.path.join(TREE, "tests", "unit", name + ".c")):
            status, _ = self.make("%s/unit/%s" % (self.build, name))
            program = "%s/unit/%s" % (self.build, name)
        else:
            status, _ = self.make("all", "apps")
            program = "tests/e2e/%s.sh" % name
        if status:
            return False
        status, out = run([program], limit=LIMIT, env=self.env)
        return status == 0 and not re.search(r"^not ok (?!.*# ?SKIP)", out, flags=re.M)

    def passes_unchanged(self, name):
        if name not in self.passes:
            self.passes[name] = self.test(name)
            if not self.passes[name]:
                print("# %s fails on the unchanged tree and is left aside" % name)
        return self.passes[name]

    def machine_code(self, path):
        """None: does not compile."""
        status, _ = self.make(self.object_of(path))
        if status:
            return None
        code = os.path.join(TREE, "build", "code")
        run(["objcopy", "-g", "-O", "binary", "--remove-section=.note*", self.object_of(path), code], env=self.env)
        _, relocations = run(["objdump", "-r", "-j", ".text", self.object_of(path)], env=self.env)
        with open(code, "rb") as f:
            return f.read() + relocations.encode()

    def noticed_by(self, path, source, changed, tests):
        """The first of the tests that fails with the change and passes without; '' if there is none, None if no test passes without."""
        full = os.path.join(TREE, path)
        good = [t for t in tests if self.passes_unchanged(t)]
        try:
            with open(full, "w") as f:
                f.write(changed)
            return next((t for t in good if not self.test(t)), "") if good else None
        finally:
            with open(full, "w") as f:
                f.write(source)

    def try_place(self, path, place):
        """None: no change of the program, or no test (counted); else the name of the test that noticed it, or ''."""
        offset, old, new, _ = place
        before = self.machine_code(path)
        full = os.path.join(TREE, path)
        with open(full) as f:
            source = f.read()
        changed = source[:offset] + new + source[offset + len(old):]
        try:
            with open(full, "w") as f:
                f.write(changed)
            code = self.machine_code(path)
        finally:
            with open(full, "w") as f:
                f.write(source)
        if code is None or code == before:
            return None
        # A script takes longer than all unit tests: it is run for what they let pass.
        results = [self.noticed_by(path, source, changed, self.nearest(path))]
        for script in self.scripts(path) if not results[0] else []:
            results.append(self.noticed_by(path, source, changed, [script]))
            if results[-1]:
                break
        by = results[-1] or ("" if "" in results else None)
        self.untested += by is None
        return by


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=200, help="places that are changed")
    parser.add_argument("-s", type=int, default=1, help="seed")
    parser.add_argument("-r", action="append", help="only paths that begin with this (may be repeated)")
    parser.add_argument("-u", dest="unit", action="store_true", help="unit tests only")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count(), help="jobs of make")
    parser.add_argument("--san", default="", help="sanitizers, as SAN= of make")
    parser.add_argument("--list", action="store_true", help="print the first places, change nothing")
    options = parser.parse_args()
    copy_tree(not options.san)
    mutants = Mutants(options)
    out = subprocess.run(["git", "ls-files", "preload/*.c", "tools/*.c", "wrappers/*.c"], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    paths = [p for p in out.split() if os.path.exists(os.path.join(TREE, p))]
    chosen = [p for p in paths if not options.r or any(p.startswith(r) for r in options.r)]
    places = [(p, place) for p in chosen for place in places_of(p, options.san)]
    random.Random(options.s).shuffle(places)
    # One of each file first, then the rest.
    first, rest, seen = [], [], set()
    for p, place in places:
        (rest if p in seen else first).append((p, place))
        seen.add(p)
    places = first + rest
    if options.list:
        for p, place in places[:options.n]:
            print(p, place)
        return 0
    status, log = mutants.make("all", mutants.build + "/libtool.a", mutants.build + "/libcore.a", mutants.build + "/genwrap")
    if status:
        print(log[-2000:])
        return 1
    mutants.read_symbols(paths)
    tried = noticed = 0
    kinds = {}
    for path, place in places:
        if tried == options.n:
            break
        by = mutants.try_place(path, place)
        if by is None:
            continue
        tried += 1
        noticed += by != ""
        offset, old, new, kind = place
        counts = kinds.setdefault(kind, [0, 0])
        counts[0] += 1
        counts[1] += by != ""
        with open(os.path.join(TREE, path)) as f:
            line = f.read()[:offset].count("\n") + 1
        print("%s %s:%d %s `%s` -> `%s`%s" % ("noticed " if by else "SURVIVED", path, line, kind, old, new, " by " + by if by else ""),
              flush=True)
    for kind, (n, k) in sorted(kinds.items()):
        print("%-10s %d of %d noticed" % (kind, k, n))
    if mutants.untested:
        print("%d further mutants have no near test that passes; they are not counted" % mutants.untested)
    print("%d of %d mutants noticed (%.0f %%), seed %d" % (noticed, tried, 100 * noticed / max(tried, 1), options.s))
    return 0


if __name__ == "__main__":
    sys.exit(main())
