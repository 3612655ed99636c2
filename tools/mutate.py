"""mutate.py [options]: finds faults that the tests miss. Each mutant of tools/mutants.txt changes one line in a copy of the tree; the tests that
should detect it are built and run there. Lists the mutants that survive; exit code 1 if one survives without an explanation.

The copy is FOLDER/tree, a clone at HEAD with its own build folder: nothing else is changed, and uncommitted changes are not included.
A mutant that was killed is not tried again until its file, its line or its tests change; one that survived is tried at every commit.

  tools/mutate.py --check                  checks that the snippets are where the table says
  tools/mutate.py --only merge-slices      only mutants whose name contains these words
"""

import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "long"))

from part import ROOT, Part, fingerprint, git, parser_of

TABLE = ROOT / "tools/mutants.txt"
SUITE_SECONDS = 300
MOST_BYTES = 16 << 30  # of address space
NEEDS_CUDA = ("test_emulator", "_cuda")  # parts of names of programs that a build without CUDA lacks


class TableError(Exception):
    pass


class Mutant:
    """A block of the table: `== NAME`, then one tag with its text per line.
    file: the file. -: the snippet, part of one line. +: what replaces it. after: a text before it, if the snippet occurs more than once.
    tests: a program and a filter of its tests; may repeat. why: why it may survive; may repeat."""

    TAGS = ("file", "-", "+", "after", "tests", "why")

    def __init__(self, name):
        self.name = name
        self.fields = {tag: [] for tag in self.TAGS}

    def one(self, tag):
        return self.fields[tag][0] if self.fields[tag] else ""

    file = property(lambda self: self.one("file"))
    why = property(lambda self: " ".join(self.fields["why"]))
    programs = property(lambda self: [tests.split()[0] for tests in self.fields["tests"]])

    def check_form(self):
        for tag, allowed in (("file", (1,)), ("-", (1,)), ("+", (1,)), ("after", (0, 1))):
            if len(self.fields[tag]) not in allowed:
                raise TableError(f"{self.name}: has {len(self.fields[tag])} lines of `{tag}`")
        if not self.fields["tests"] or any(len(tests.split()) != 2 for tests in self.fields["tests"]):
            raise TableError(f"{self.name}: `tests` wants a program and a filter")

    def changed(self, root):
        """The file's text with the mutant in it."""
        file = root / self.file
        if not file.exists():
            raise TableError(f"{self.name}: there is no {self.file}")
        text, snippet, start = file.read_text(), self.one("-"), 0
        if self.fields["after"]:
            start = text.find(self.one("after"))
            if start < 0:
                raise TableError(f"{self.name}: {self.file} does not hold {self.one('after')!r}")
        at = text.find(snippet, start)
        if at < 0:
            raise TableError(f"{self.name}: {self.file} no longer holds {snippet!r}")
        if not self.fields["after"] and text.find(snippet, at + 1) >= 0:
            raise TableError(f"{self.name}: {self.file} holds {snippet!r} more than once: say `after`")
        return text[:at] + self.one("+") + text[at + len(snippet) :]


def read_table(file):
    mutants = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.startswith("== "):
            mutants.append(Mutant(line[3:].strip()))
        elif line.strip() and not line.startswith("#"):
            tag, _, text = line.partition(" ")
            if not mutants or tag not in Mutant.TAGS:
                raise TableError(f"{file.name}:{number}: {line!r} is neither a mutant's name nor one of {', '.join(Mutant.TAGS)}")
            mutants[-1].fields[tag].append(text.strip())
    names = [m.name for m in mutants]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TableError(f"{file.name}: {', '.join(sorted(twice))} stands twice")
    for mutant in mutants:
        mutant.check_form()
    return mutants


def stale(mutants, root):
    """What is wrong with the table's snippets."""
    errors = []
    for mutant in mutants:
        try:
            mutant.changed(root)
        except TableError as error:
            errors.append(str(error))
    return errors


class OutOfTime(Exception):
    pass


class Tree:
    """The copy: a clone at HEAD with its build."""

    def __init__(self, folder, preset, part):
        self.root, self.preset, self.part = folder / "tree", preset, part
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(self.root), "CCACHE_NOHASHDIR": "true"}

    def update(self):
        if not (self.root / ".git").exists():
            self.root.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, self.root], check=True)
        git("fetch", "--quiet", "origin", "HEAD", root=self.root)
        git("checkout", "--quiet", "--force", "--detach", git("rev-parse", "HEAD"), root=self.root)
        python = self.root / "build/python"
        python.parent.mkdir(exist_ok=True)
        if (ROOT / "build/python").exists() and not python.exists():
            python.symlink_to(ROOT / "build/python")
        if not (self.root / "build" / self.preset / "build.ninja").exists():
            self.call(["cmake", "--preset", self.preset], check=True)

    def call(self, command, seconds=None, check=False):
        """(exit code, words); the whole process group ends with it, or at its limit: then the code is None. Not beyond the deadline of this
        call to mutate.py."""
        left = self.part.seconds_left()
        limit = min(seconds or left, left)

        def set_up():
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))

        process = subprocess.Popen(
            command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            preexec_fn=set_up,
        )  # fmt: skip
        try:
            words, _ = process.communicate(timeout=None if limit == float("inf") else max(limit, 1))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if limit == left:
                raise OutOfTime from None
            return None, "did not end"
        if check and process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{words[-3000:]}")
        return process.returncode, words

    def build(self, programs):
        return self.call(["cmake", "--build", "--preset", self.preset, "--target", *sorted(set(programs))])

    def run(self, tests):
        """(exit code, names of the tests that failed, how many ran)."""
        program, chosen = tests.split()
        code, words = self.call([f"build/bin/{program}", f"--gtest_filter={chosen}", "--gtest_fail_fast"], SUITE_SECONDS)
        failed = [line.split("]")[1].split(",")[0].split(" (")[0].strip() for line in words.splitlines() if line.startswith("[  FAILED  ]")]
        return code, failed, "[  PASSED  ] 0 tests" not in words


def check_baseline(tree, part, tests, commit):
    """Checks that the tests exist and pass without a mutant."""
    key = f"baseline-{commit}-{fingerprint(tests)}"
    if part.known(key):
        return
    code, words = tree.build([tests.split()[0]])
    if code != 0:
        sys.exit(f"{tests.split()[0]} does not build without a mutant:\n{words[-3000:]}")
    code, failed, any_ran = tree.run(tests)
    if code != 0 or not any_ran:
        sys.exit(f"{tests}: without a mutant it {f'ends with {code}: ' + ', '.join(failed[:3]) if code != 0 else 'runs no test'}")
    part.keep(key, True)


def try_one(mutant, tree, part, commit):
    """The result for a mutant: {"is": killed, survived or broken, …}."""
    start = time.time()
    for tests in mutant.fields["tests"]:
        check_baseline(tree, part, tests, commit)
    file = tree.root / mutant.file
    text = file.read_text()
    answer = {"is": "survived", "commit": commit}
    try:
        file.write_text(mutant.changed(tree.root))
        code, words = tree.build(mutant.programs)
        if code != 0:
            answer = {"is": "broken", "commit": commit, "words": words[-2000:]}
        else:
            for tests in mutant.fields["tests"]:
                code, failed, _ = tree.run(tests)
                if code != 0:
                    by = failed[0] if failed else f"{tests}: {'did not end' if code is None else f'ended with {code}'}"
                    answer = {"is": "killed", "by": by, "commit": commit}
                    break
    finally:
        file.write_text(text)
    answer["seconds"] = round(time.time() - start, 1)
    print(f"{mutant.name}: {answer['is']}{' by ' + answer['by'] if 'by' in answer else ''} ({answer['seconds']:.0f} s)", flush=True)
    return answer


def key_of(mutant, root):
    return f"{mutant.name}-{fingerprint(mutant.changed(root), *mutant.fields['tests'])}"


def run_all(mutants, tree, part, commit):
    """{mutant: answer} of those that were reached."""
    keys = {key_of(m, tree.root): m for m in mutants}
    for key in keys:
        known = part.known(key)
        if known and known["is"] != "killed" and known["commit"] != commit:
            part.forget(key)

    def work(key):
        try:
            return try_one(keys[key], tree, part, commit)
        except OutOfTime:
            return None

    return {keys[key]: answer for key, answer in part.run(list(keys), work).items()}


def report(part, mutants, left_out, answers):
    """The exit code."""
    survivors, explained = [], []
    for mutant, answer in answers.items():
        if answer["is"] == "broken":
            survivors.append(f"{mutant.name}: does not compile:\n{answer['words']}")
        elif answer["is"] == "survived" and not mutant.why:
            survivors.append(f"{mutant.name}: survived {', '.join(mutant.fields['tests'])} ({mutant.file}: {mutant.one('-')} is {mutant.one('+')})")
        elif answer["is"] == "survived":
            explained.append(mutant.name)
            print(f"explained: {mutant.name}: {mutant.why}")
        elif mutant.why:
            print(f"explained, but killed by {answer['by']}: {mutant.name}")
    killed = sum(a["is"] == "killed" for a in answers.values())
    fields = {
        "mutants": len(mutants) + len(left_out), "killed": killed, "explained": explained, "without_cuda_left_out": [m.name for m in left_out],
        "by": {m.name: a.get("by", a["is"]) for m, a in sorted(answers.items(), key=lambda pair: pair[0].name)},
    }  # fmt: skip
    return part.finish(killed, survivors, len(mutants) - len(answers), fields, skipped=len(explained) + len(left_out))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--check", action="store_true", help="only check the snippets, in the current tree")
    parser.add_argument("--only", help="only mutants whose name contains these words")
    parser.add_argument("--preset", default="cpu", help="preset for building the copy; mutants of kernels need one with CUDA")
    options = parser.parse_args()
    try:
        mutants = [m for m in read_table(TABLE) if not options.only or options.only in m.name]
    except TableError as error:
        sys.exit(str(error))
    if options.check:
        errors = stale(mutants, ROOT)
        sys.exit("\n".join(errors) if errors else print(f"{len(mutants)} mutants, each where the table says"))
    if options.only:
        options.results = None  # a record is of the whole table
    options.folder = (options.folder or ROOT / "build/mutants").resolve()
    part = Part("mutants", options)
    tree = Tree(options.folder, options.preset, part)
    try:
        tree.update()
    except OutOfTime:
        sys.exit("no time left to set the copy up")
    if errors := stale(mutants, tree.root):
        sys.exit("\n".join(errors))
    host = options.preset == "cpu"
    left_out = [m for m in mutants if host and any(word in p for p in m.programs for word in NEEDS_CUDA)]
    mutants = [m for m in mutants if m not in left_out]
    answers = run_all(mutants, tree, part, git("rev-parse", "--short=7", "HEAD"))
    sys.exit(report(part, mutants, left_out, answers))


if __name__ == "__main__":
    main()
