"""torch_backend.py [options] PACKAGES: runs tests/python/torch_test.py with the package in the folder PACKAGES, in an environment with torch that it makes
in build/torch once (build/python/torch-packages.txt)."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from environment import environment
from part import ROOT, Part, fingerprint, parser_of

PINS = ROOT / "build/python/torch-packages.txt"
TEST = ROOT / "tests/python/torch_test.py"
# Warnings are printed between a test's name and its result, so the results are written to a file.
RUN = """
import json, sys, unittest
class Result(unittest.TextTestResult):
    passed = []
    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.append(test.id())
result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(unittest.defaultTestLoader.loadTestsFromName(sys.argv[1]))
with open(sys.argv[2], "w") as file:
    json.dump({"passed": result.passed, "failed": [test.id() for test, _ in [*result.failures, *result.errors]],
               "skipped": {test.id(): why for test, why in result.skipped}}, file)
"""


def check(packages):
    python = environment(ROOT / "build/torch/environment", PINS)
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder, "results.json")
        done = subprocess.run([python, "-c", RUN, TEST.stem, results], cwd=TEST.parent, env={**os.environ, "PYTHONPATH": str(packages.resolve())}, check=False)
        answer = json.loads(results.read_text()) if results.exists() else {"passed": [], "failed": [f"ended with {done.returncode}"], "skipped": {}}
    versions = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True).stdout
    return {**answer, "versions": re.findall(r"^(?:torch|torchvision|onnx|onnxscript|onnxruntime)==.*", versions, re.MULTILINE)}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("packages", type=pathlib.Path)
    options = parser.parse_args()
    part = Part("torch", options)
    sources = [*sorted(ROOT.glob("python/onnx_cudnn/*.py")), TEST, PINS, *sorted(options.packages.glob("onnx_cudnn/_core*.so"))]
    key = fingerprint(*sources)
    answers = part.run([key], lambda _: check(options.packages))
    answer = answers.get(key, {"passed": [], "failed": [], "skipped": {}, "versions": []})
    if answer["failed"]:
        part.forget(key)
    facts = {"tests": answer["passed"], "skipped_tests": answer["skipped"], "versions": answer["versions"]}
    sys.exit(part.finish(len(answer["passed"]), answer["failed"], 1 - len(answers), facts, len(answer["skipped"])))


if __name__ == "__main__":
    main()
