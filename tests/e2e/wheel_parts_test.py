"""tools/bench/wheel_parts.sh: a wheel in parts over several calls."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/bench/wheel_parts.sh"


class WheelPartsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_script(self, *arguments):
        return subprocess.run([SCRIPT, *arguments], cwd=self.folder, capture_output=True, text=True, check=False)

    def test_parts_of_several_calls_become_a_package(self):
        with zipfile.ZipFile(self.folder / "a-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("a.py", "answer = 42\n")
            wheel.writestr("data", bytes(range(256)) * 10)
        self.assertEqual(self.run_script("split", "a-1-py3-none-any.whl", "parts", "1000").returncode, 0)
        parts = sorted(p.name for p in (self.folder / "parts").iterdir())
        self.assertEqual(parts, ["00", "01", "02", "a-1-py3-none-any.whl.sha256"])
        for call, names in enumerate((parts[1:2], parts[3:], [parts[0], parts[2]])):  # in any order
            (self.folder / f"call{call}").mkdir()
            for name in names:
                (self.folder / "parts" / name).rename(self.folder / f"call{call}" / name)
            done = self.run_script("join", f"call{call}", "kept", "site")
            self.assertEqual(done.returncode, 0 if call == 2 else 3, done.stderr)
        found = subprocess.run([sys.executable, "-c", "import a; print(a.answer)"], env={"PYTHONPATH": str(self.folder / "site")}, capture_output=True,
                               text=True, check=True)
        self.assertEqual(found.stdout, "42\n")


if __name__ == "__main__":
    unittest.main()
