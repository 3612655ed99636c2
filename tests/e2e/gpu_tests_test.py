"""tools/bench/gpu_tests.py: records from the reports of gpu.sh."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench"))

import gpu_tests  # noqa: E402


def report(*tests):
    suite = [{"name": name, "status": "RUN", **rest} for name, rest in tests]
    return json.dumps({"time": "1.5s", "testsuites": [{"name": "Suite", "testsuite": suite}]})


class GpuTestsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        (self.out / "reports").mkdir()

    def record(self, text, log=None):
        file = self.out / "reports/racecheck-0.json"
        file.write_text(text)
        if log is not None:
            (self.out / "racecheck-0.log").write_text(log)
        return gpu_tests.record_of("racecheck", [file])

    def test_counts_tests_by_their_ends(self):
        done = {"result": "COMPLETED"}
        record = self.record(report(("a", {**done, "nodes": "3"}), ("b", {"result": "SKIPPED", "skip_reason": "no CuPy"}), ("c", {**done, "failures": [{}]})))
        self.assertEqual((record["passed"], record["failed"], record["skipped"], record["nodes"]), (1, ["Suite.c"], 1, 3))
        self.assertEqual(record["skipped_tests"], {"Suite.b": "no CuPy"})

    def test_what_a_sanitizer_saw_is_a_failure(self):
        passed = report(("a", {"result": "COMPLETED"}))
        seen = "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n========= ERROR SUMMARY: 2 errors\n"
        self.assertEqual(self.record(passed, seen)["failed"], ["racecheck-0: compute-sanitizer counts 3"])
        clean = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
        self.assertEqual(self.record(passed, clean)["failed"], [])
        self.assertEqual(self.record(passed, "no sanitizer ran")["failed"], [])


if __name__ == "__main__":
    unittest.main()
