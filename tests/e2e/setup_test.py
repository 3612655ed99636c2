"""tools/setup.sh: if something is missing, one clear line and exit code 1. The tests run it in a copy of the files that it reads."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOBODY = 65534
# An address that refuses connections at once, for all settings of package indexes.
OFFLINE = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_NO_CACHE_DIR": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}

sys.path.insert(0, str(ROOT / "tools"))
import count_tests


class SetupTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.copy = pathlib.Path(self.folder.name, "clone")
        for name in ("third_party", "tools"):
            shutil.copytree(ROOT / name, self.copy / name)
        for name in ("CMakeLists.txt", "CMakePresets.json"):
            shutil.copy(ROOT / name, self.copy)
        self.programs = self.copy / "programs"
        self.programs.mkdir()
        (self.copy / "build").mkdir()
        for path in (self.folder.name, self.copy, self.copy / "build"):
            os.chmod(path, 0o777)

    def program(self, name, script):
        """Puts a stand-in on the path before the real program."""
        file = self.programs / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def expect_one_line(self, line, user=None, **environment):
        env = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}", "ONNX_CUDNN_PRESET": "cpu", **environment}
        done = subprocess.run(
            ["bash", "tools/setup.sh"], cwd=self.copy, env=env, user=user, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(line, done.stderr)

    def test_is_quick_when_nothing_changed(self):
        start = time.monotonic()
        subprocess.run(["bash", ROOT / "tools/setup.sh"], check=True)
        self.assertLess(time.monotonic() - start, 5)

    def test_offline_says_one_line(self):
        self.expect_one_line("setup: onnx-cudnn: could not install the Python packages: is this host online? (log: build/failed.log)", **OFFLINE)
        self.assertIn("127.0.0.1", (self.copy / "build/failed.log").read_text())

    def test_offline_dependencies_say_one_line(self):
        (self.copy / "build/python").symlink_to(ROOT / "build/python")
        cache = str(self.copy / "cache")
        self.expect_one_line("setup: onnx-cudnn: could not install the Python packages: is this host online?", ONNX_CUDNN_DEPS=cache, **OFFLINE)

    def test_offline_vectors_say_one_line(self):
        for environment in ("python", "python-runner"):
            (self.copy / "build" / environment).symlink_to(ROOT / "build" / environment)
        standing = next(ROOT.glob("build/*/dependencies")).resolve().parent
        cache = self.copy / "cache"
        cache.mkdir()
        for entry in standing.iterdir():
            if not entry.name.startswith("onnx-vectors"):
                (cache / entry.name).symlink_to(entry)
        line = "setup: onnx-cudnn: could not download onnx==1.22.0: is this host online? (log: build/failed.log)"
        self.expect_one_line(line, ONNX_CUDNN_DEPS=str(cache), **OFFLINE)

    def test_without_root_says_one_line(self):
        self.program("dpkg-query", "exit 1")
        self.program("sudo", "exit 1")
        self.expect_one_line("setup: needs root to install: g++ cmake", user=NOBODY if os.getuid() == 0 else None)

    def test_failing_apt_says_one_line(self):
        self.program("dpkg-query", '[ "$3" != cmake ] && echo install ok installed')
        self.program("sudo", 'shift; exec "$@"')
        self.program("apt-get", "echo 'E: no route to host'; exit 100")
        self.expect_one_line("setup: could not install: cmake: is this host online? (log: build/setup.log)")
        self.assertIn("no route", (self.copy / "build/setup.log").read_text())


class ToolkitTest(unittest.TestCase):
    def test_wheels_replace_a_hidden_toolkit(self):
        """Downloads a gigabyte into build/cuda-toolkit and build/cudnn, once."""
        with tempfile.TemporaryDirectory() as folder:
            options = {"ONNX_CUDNN_CUDA": "ON", "ONNX_CUDNN_CUDA_ROOTS": "/nonexistent", "ONNX_CUDNN_TESTS": "OFF", "CMAKE_CUDA_ARCHITECTURES": "90a-real"}
            configure = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, *(f"-D{name}={value}" for name, value in options.items())]
            done = subprocess.run(configure, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"onnx-cudnn: CUDA from {ROOT}/build/cuda-toolkit", done.stdout)
            subprocess.run(["cmake", "--build", folder, "--target", "onnx_cudnn_cuda"], check=True)


class CountTest(unittest.TestCase):
    def count(self, *tests, **programs):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, cases in programs.items():
                (folder / f"{name}.xml").write_text(f"<testsuites>{cases}</testsuites>")
            report = folder / "report"
            report.write_text("<testsuite>" + "".join(f'<testcase name="{n}" status="{s}"/>' for n, s in tests) + "</testsuite>")
            return count_tests.count(report, folder)

    def test_counts_each_status(self):
        tests = [(status, status) for status in ("run", "run", "fail", "notrun", "disabled")]
        self.assertEqual(self.count(*tests), (2, ["fail"], ["notrun", "disabled"], 0))

    def test_counts_the_cases_of_a_program(self):
        cases = """<testcase classname="A" name="Good" result="completed"/><testcase classname="A" name="Skips" result="skipped"/>
                   <testcase classname="A" name="Bad" result="completed"><failure/></testcase>"""
        self.assertEqual(self.count(("p", "fail"), p=cases), (1, ["A.Bad"], ["A.Skips"], 0))

    def test_counts_expected_refusals_apart(self):
        cases = """<testcase classname="A" name="Refused" result="skipped"><skipped message="a.cc:1&#x0A;expected refusal: no such op"/></testcase>
                   <testcase classname="A" name="Skips" result="skipped"><skipped message="no GPU"/></testcase>"""
        self.assertEqual(self.count(("p", "run"), p=cases), (0, [], ["A.Skips"], 1))

    def test_a_program_that_crashed_is_a_failure(self):
        self.assertEqual(self.count(("p", "fail")), (0, ["p"], [], 0))
        self.assertEqual(self.count(("p", "fail"), p='<testcase classname="A" name="Good" result="completed"/>'), (1, ["p"], [], 0))


if __name__ == "__main__":
    unittest.main()
