"""tools/mutate.py in a tiny project, whose programs are shell scripts and whose build copies them."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUM = """#!/bin/sh
# sum
[ "$((x + 2))" = 5 ] || bad=1
while [ -n "$HANG" ]; do sleep 1; done
unused=1
"""
TEST = """#!/bin/sh
case $1 in *Missing*) echo '[  PASSED  ] 0 tests.'; exit 0 ;; esac
x=3
. "$(dirname "$0")/../../src/sum.sh"
[ -z "$bad" ] && echo '[  PASSED  ] 1 test.' && exit 0
echo '[  FAILED  ] SumTest.Adds'
exit 1
"""
# --build: copies a program, unless its source is broken.
CMAKE = """
if [ "$1" = --preset ]; then mkdir -p build/$2 && touch build/$2/build.ninja; exit 0; fi
echo built >>../built
sh -n src/sum.sh || exit 1
mkdir -p build/bin && cp src/test_sum.sh build/bin/test_sum
"""


def mutant(name, before, after, *more):
    return "\n".join([f"== {name}", "file src/sum.sh", f"- {before}", f"+ {after}", *(more or ("tests test_sum SumTest.*",)), ""])


KILLED, SURVIVOR = mutant("killed", "+ 2", "- 2"), mutant("survivor", "unused=1", "unused=2")


class MutateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = pathlib.Path(folder.name, "project")
        shutil.copytree(ROOT / "tools/long", self.project / "tools/long", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "tools/mutate.py", self.project / "tools")
        (self.project / "src").mkdir()
        self.programs = pathlib.Path(folder.name, "programs")
        self.programs.mkdir()
        self.write("src/sum.sh", SUM)
        self.write("src/test_sum.sh", TEST)
        self.write("../programs/cmake", f"#!/bin/sh\n{CMAKE}")
        self.write(".gitignore", "build\n__pycache__\n")
        self.git("init", "--quiet")

    def write(self, name, text):
        (self.project / name).write_text(text)
        (self.project / name).chmod(0o755)

    def git(self, *arguments):
        who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
        subprocess.run(["git", "-C", self.project, *who, *arguments], check=True, capture_output=True)

    def mutate(self, table, *options):
        """Commits the table and runs mutate.py; returns (exit code, output)."""
        self.write("tools/mutants.txt", table)
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", "t")
        env = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}"}
        command = [ROOT / "build/python/bin/python", self.project / "tools/mutate.py", *options]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=100)
        return done.returncode, done.stdout + done.stderr

    def counts(self):
        return (self.project / "build/mutants/counts").read_text().split()[:3]

    def builds(self):
        return len((self.project / "build/mutants/built").read_text().splitlines())

    def test_names_survivors_and_who_killed(self):
        code, words = self.mutate(KILLED + SURVIVOR)
        self.assertEqual((code, self.counts()), (1, ["1", "1", "0"]), words)
        self.assertIn("killed: killed by SumTest.Adds", words)
        self.assertIn("failed: mutants: survivor: survived", words)

    def test_a_survivor_may_be_explained(self):
        code, words = self.mutate(SURVIVOR + "why nothing reads it\n")
        self.assertEqual((code, self.counts()), (0, ["0", "0", "1"]), words)
        self.assertIn("explained: survivor: nothing reads it", words)

    def test_the_tree_itself_is_not_touched(self):
        self.mutate(KILLED)
        self.assertEqual((self.project / "src/sum.sh").read_text(), SUM)
        self.assertEqual((self.project / "build/mutants/tree/src/sum.sh").read_text(), SUM)
        self.assertEqual(list((self.project / "build").iterdir()), [self.project / "build/mutants"])

    def test_a_snippet_that_is_gone_is_an_error(self):
        code, words = self.mutate(mutant("old", "* 2", "+ 3") + mutant("two", "1", "0"))
        self.assertEqual(code, 1)
        self.assertIn("old: src/sum.sh no longer holds '* 2'", words)
        self.assertIn("two: src/sum.sh holds '1' more than once", words)
        self.assertEqual(self.mutate(mutant("two", "1", "0", "after unused", "tests test_sum SumTest.*"), "--check")[0], 0)

    def test_the_killed_are_not_tried_again_survivors_at_each_commit(self):
        self.mutate(KILLED + SURVIVOR)
        built = self.builds()
        self.assertIn("1 of 1 were done before", self.mutate(KILLED, "--only", "killed")[1])
        self.assertEqual(self.builds(), built)
        self.write("src/test_sum.sh", TEST + "\n# a comment\n")
        self.assertIn("survivor: survived", self.mutate(KILLED + SURVIVOR)[1])
        self.assertEqual(self.builds(), built + 2)  # without and with the survivor

    def test_one_that_does_not_end_is_killed(self):
        self.write("tools/mutate.py", (ROOT / "tools/mutate.py").read_text().replace("SUITE_SECONDS = 300", "SUITE_SECONDS = 1"))
        code, words = self.mutate(mutant("hangs", '"$HANG"', '"1"'))
        self.assertEqual(code, 0, words)
        self.assertIn("hangs: killed by test_sum SumTest.*: did not end", words)

    def test_one_that_does_not_compile_says_nothing_of_tests(self):
        code, words = self.mutate(mutant("broken", "while", "while ("))
        self.assertEqual(code, 1)
        self.assertIn("broken: does not compile", words)

    def test_tests_must_pass_and_be_there_without_it(self):
        code, words = self.mutate(mutant("m", "+ 2", "- 2", "tests test_sum Missing.*"))
        self.assertEqual((code, "test_sum Missing.*: without a mutant it runs no test" in words), (1, True), words)
        self.write("src/sum.sh", SUM.replace("= 5", "= 6"))
        self.assertIn("without a mutant it ends with 1: SumTest.Adds", self.mutate(KILLED)[1])

    def test_stops_at_the_deadline_and_goes_on(self):
        _, words = self.mutate(KILLED, "--deadline", "1")
        self.assertNotIn("killed by", words)
        code, words = self.mutate(KILLED)
        self.assertEqual((code, self.counts()), (0, ["1", "0", "0"]), words)

    def test_kernels_want_a_build_with_cuda(self):
        code, words = self.mutate(KILLED + mutant("kernel", "+ 2", "- 2", "tests test_emulator A.*"))
        self.assertEqual((code, self.counts()), (0, ["1", "0", "1"]), words)

    def test_a_table_that_is_no_table(self):
        for table, words in (("== a\nfile f\n", "a: has 0 lines of `-`"), ("file f\n", "is neither"), (KILLED + KILLED, "stands twice")):
            self.assertIn(words, self.mutate(table, "--check")[1])


class TableTest(unittest.TestCase):
    def test_every_snippet_stands_where_the_table_says(self):
        done = subprocess.run(
            [ROOT / "build/python/bin/python", ROOT / "tools/mutate.py", "--check"], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
