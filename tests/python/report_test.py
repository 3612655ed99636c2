"""unittest_report.py: each test by its end, for tools/count_tests.py and tools/bench/gpu_tests.py."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

REPORT = pathlib.Path(__file__).with_name("unittest_report.py")
TESTS = """
import unittest
class Some(unittest.TestCase):
    def test_passes(self): pass
    def test_fails(self): self.assertEqual(1, 2)
    def test_errs(self): raise OSError("gone")
    @unittest.skip("no GPU")
    def test_skips(self): pass
    def test_parts(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)
@unittest.skip("no torch")
class All(unittest.TestCase):
    def test_skips(self): pass
class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise OSError("no folder")
    def test_unreached(self): pass
"""


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "some_test.py").write_text(TESTS)

    def run_it(self, file, *names):
        done = subprocess.run([sys.executable, REPORT, file, *names], cwd=self.folder, capture_output=True, text=True, check=False)
        return done.returncode, (self.folder / file).read_text()

    def test_xml_has_each_test(self):
        code, text = self.run_it("reports/Some.xml", "some_test")
        cases = list(ElementTree.fromstring(text).iter("testcase"))
        failed = {case.get("name") for case in cases if case.find("failure") is not None}
        skipped = {f"{case.get('classname')}.{case.get('name')}": case.find("skipped").get("message") for case in cases if case.get("result") == "skipped"}
        self.assertEqual(code, 1)
        self.assertEqual({name.split(" ")[0] for name in failed}, {"test_fails", "test_errs", "test_parts", "setUpClass"})
        self.assertEqual(skipped, {"some_test.Some.test_skips": "no GPU", "some_test.All.test_skips": "no torch"})
        self.assertEqual([case.get("name") for case in cases if case.get("result") == "completed" and case.find("failure") is None], ["test_passes"])

    def test_json_has_the_reasons(self):
        code, text = self.run_it("All.json", "some_test.All")
        (suite,) = json.loads(text)["testsuites"]
        self.assertEqual((code, suite["name"], suite["testsuite"][0]["skip_reason"]), (0, "some_test.All", "no torch"))

    def test_a_failure_or_no_test_is_exit_code_1(self):
        self.assertEqual(self.run_it("x.xml", "some_test.Some.test_passes")[0], 0)
        self.assertEqual(self.run_it("x.xml", "some_test.Some.test_fails")[0], 1)
        (self.folder / "no_test.py").write_text("")
        self.assertEqual(self.run_it("x.xml", "no_test")[0], 1)


if __name__ == "__main__":
    unittest.main()
