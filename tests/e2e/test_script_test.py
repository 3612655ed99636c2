"""tools/test.sh with stand-ins for the programs that it runs: its counts, output and exit code."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Writes a report of two tests that passed, one that was skipped and FAILED that failed.
CTEST = """
while [ "$1" != --output-junit ]; do shift; done
{ echo '<testsuite>'
  echo '<testcase name="a" status="run"/><testcase name="b" status="run"/><testcase name="c" status="notrun"/>'
  for i in $(seq $FAILED); do echo '<testcase name="d" status="fail"/>'; done
  echo '</testsuite>'; } >"$2"
"""


class TestScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = pathlib.Path(folder.name)
        for name in ("third_party", "tools"):
            shutil.copytree(ROOT / name, self.copy / name)
        shutil.copy(ROOT / "CMakePresets.json", self.copy)
        (self.copy / "build/python/bin").mkdir(parents=True)
        (self.copy / "build/python/bin/python").symlink_to(ROOT / "build/python/bin/python")
        (self.copy / "programs").mkdir()
        self.program("dpkg-query", "echo install ok installed")
        self.program("cmake", "exit ${CMAKE_CODE:-0}")
        self.program("ctest", CTEST)
        self.program("../tools/format.sh", "exit 0")

    def program(self, name, script):
        file = self.copy / "programs" / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def run_script(self, *options, **environment):
        env = {**os.environ, "PATH": f"{self.copy}/programs:{os.environ['PATH']}", "FAILED": "0", "ONNX_CUDNN_PRESET": "cpu", **environment}
        return subprocess.run(["bash", self.copy / "tools/test.sh", *options], env=env, capture_output=True, text=True, check=False)

    def expect(self, done, last_line, code):
        self.assertEqual((done.stdout.splitlines()[-1], done.returncode), (last_line, code), done.stdout + done.stderr)

    def test_counts_stages_and_tests(self):  # format, includes, types, sizes, build, sanitizer build and two of each run
        done = self.run_script()
        self.expect(done, "10 passed, 0 failed, 2 skipped", 0)
        self.assertIn("min  sanitizers", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-2], "expected refusals, among the skipped: 0")

    def test_quick_counts_the_sanitizers_as_skipped(self):
        self.expect(self.run_script("--quick"), "7 passed, 0 failed, 2 skipped", 0)

    def stand_in_parts(self, counts="3 1 2 1"):
        """Stand-ins for the programs of all long parts, which only write their counts."""
        text = f"import pathlib, sys; f = pathlib.Path(sys.argv[sys.argv.index('--folder') + 1]); print(*sys.argv)\n"
        text += f"f.mkdir(parents=True, exist_ok=True); (f / 'counts').write_text({counts + chr(10)!r})"
        for name in ("tools/long/tsan.py", "tools/long/fuzz.py", "tools/long/soak.py", "tools/mutate.py", "tests/cases/check.py",
                     "tools/long/vectors.py", "tools/long/wheel.py", "tools/long/torch_backend.py", "tools/long/triton.py", "tools/long/ray_serve.py",
                     "tools/long/deploy.py", "tools/long/browser.py", "tools/long/score_zoo.py", "tools/long/package.py"):
            (self.copy / name).parent.mkdir(parents=True, exist_ok=True)
            (self.copy / name).write_text(text)
        (self.copy / "build/fuzz/bin").mkdir(parents=True)
        self.program("../build/fuzz/bin/write_corpus", "exit 0")

    def test_long_adds_every_part(self):
        self.stand_in_parts()
        done = self.run_script("--quick", "--long")
        parts = ("tsan", "fuzz", "soak", "mutants", "cases", "vectors", "wheel", "torch", "triton", "ray", "deploy", "browser", "zoo", "package")
        count = len(parts)
        self.expect(done, f"{7 + 3 * count} passed, {count} failed, {2 + 2 * count} skipped", 1)
        self.assertEqual(done.stdout.splitlines()[-2], f"expected refusals, among the skipped: {count}")
        for part in parts:
            self.assertIn(f"min  {part}", done.stdout)

    def test_a_long_part_runs_alone(self):  # and its build
        self.stand_in_parts("7 0 2 2")
        self.program("cmake", 'echo "cmake $*"')
        done = self.run_script("--long=cases")
        self.expect(done, "7 passed, 0 failed, 2 skipped", 0)
        self.assertIn("cmake --build --preset cpu --target run_cases", done.stdout)
        self.assertIn("build/bin/run_cases --count 20000", done.stdout)
        self.assertNotIn("soak", done.stdout)

    def test_a_part_that_tells_no_counts_failed(self):
        self.stand_in_parts()
        (self.copy / "build/cpu").mkdir()
        (self.copy / "build/cpu/build.ninja").touch()
        self.run_script("--long=soak")  # its counts must not be used for the next run
        self.expect(self.run_script("--long=soak", CMAKE_CODE="1"), "0 passed, 1 failed, 0 skipped", 1)

    def test_a_failed_test_fails_the_run_and_is_named(self):
        done = self.run_script("--quick", FAILED="1")
        self.expect(done, "7 passed, 1 failed, 2 skipped", 1)
        self.assertIn("failed: d", done.stderr)

    def test_a_failed_build_fails_the_run(self):
        (self.copy / "build/cpu").mkdir()
        self.run_script("--quick")  # so that set-up has been run
        (self.copy / "build/cpu/build.ninja").touch()
        self.expect(self.run_script("--quick", CMAKE_CODE="1"), "4 passed, 1 failed, 2 skipped", 1)

    def preset(self, override="", **codes):
        """The chosen preset if the stand-ins of nvidia-smi and nvcc exit with these codes."""
        for name, code in codes.items():
            self.program(name.replace("_", "-"), f"exit {code}")
        env = {**os.environ, "PATH": f"{self.copy}/programs:{os.environ['PATH']}", "ONNX_CUDNN_PRESET": override}
        script = f"source {self.copy}/tools/setup.sh; echo $preset"
        return subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=True).stdout.strip()

    def test_preset_suits_the_host(self):
        self.assertEqual(self.preset(nvidia_smi=0), "cuda")
        self.assertEqual(self.preset(nvidia_smi=9, nvcc=0), "cuda-check")
        self.assertEqual(self.preset(override="cpu", nvidia_smi=0), "cpu")

    def test_setup_ends_with_what_comes_next(self):
        env = {**os.environ, "PATH": f"{self.copy}/programs:{os.environ['PATH']}", "ONNX_CUDNN_PRESET": "cuda-90a"}
        for _ in range(2):  # configured now, and before
            done = subprocess.run(["bash", self.copy / "tools/setup.sh"], env=env, capture_output=True, text=True, check=False)
            self.expect(done, "setup: done, preset cuda-90a; next: cmake --build --preset cuda-90a --target installable", 0)

    def test_builds_and_tests_the_preset(self):
        self.program("cmake", 'echo "cmake $*"')
        done = self.run_script("--quick", ONNX_CUDNN_PRESET="cuda-90a")
        self.assertIn("cmake --build --preset cuda-90a", done.stdout)

    def test_unknown_option_is_usage(self):
        self.assertEqual(self.run_script("--frobnicate").returncode, 1)
        self.assertEqual(self.run_script("--long=frobnicate").returncode, 1)


if __name__ == "__main__":
    unittest.main()
