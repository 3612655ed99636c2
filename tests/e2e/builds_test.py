"""tools/bench/builds.py."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/bench/builds.py"
# A benchmark that reports the next median of a list for each network.
BENCH = """#!{python}
import json, pathlib, sys
options = dict(zip(sys.argv[1:], sys.argv[2:]))
medians = pathlib.Path(__file__).with_name("medians")
first, *rest = medians.read_text().split()
medians.write_text(" ".join(rest))
record = {{"model": "resnet18", "precision": "fp16", "partitioner": "greedy", "batch": 1, "median_ms": float(first), "commit": options["--commit"]}}
pathlib.Path(options["--output"]).write_text(json.dumps([record]))
"""


def compare(before, after):
    """(exit code, output, records) of builds.py for builds whose rounds take these milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        for build, medians in (("before", before), ("after", after)):
            place = pathlib.Path(folder, build)
            place.mkdir()
            place.joinpath("medians").write_text(" ".join(map(str, medians)))
            program = place / "onnx-cudnn-bench"
            program.write_text(BENCH.format(python=sys.executable))
            program.chmod(0o755)
        output = pathlib.Path(folder, "records.json")
        command = [sys.executable, TOOL, "--before", f"{folder}/before", "--after", f"{folder}/after", "--rounds", str(len(before))]
        done = subprocess.run([*command, "--commits", "a1,b2", "--output", output], capture_output=True, text=True)
        return done.returncode, done.stdout, json.loads(output.read_text())


class BuildsTest(unittest.TestCase):
    def test_the_least_round_of_each_counts(self):
        code, text, records = compare([1.0, 1.5], [1.4, 1.005])
        self.assertEqual(code, 0, text)
        self.assertIn("ratio 1.0050", text)
        self.assertEqual([(r["commit"], r["median_ms"]) for r in records], [("a1", 1.0), ("b2", 1.005)])

    def test_a_slower_build_ends_with_4(self):
        code, text, _ = compare([1.0], [1.02])
        self.assertEqual(code, 4)
        self.assertIn("slower than 1.01", text)


if __name__ == "__main__":
    unittest.main()
