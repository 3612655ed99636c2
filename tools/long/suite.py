"""Test modules that long parts run in environments of their own."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

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


def with_package(packages):
    """Environment variables with which Python finds the package in a folder."""
    return {**os.environ, "PYTHONPATH": str(packages.resolve()), "PYTHONDONTWRITEBYTECODE": "1"}


def run_suite(python, test, packages, before=()):
    """{"passed": names, "failed": names, "skipped": {name: reason}} of a file of tests. before: the words of a command that runs the one behind it."""
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder, "results.json")
        done = subprocess.run([*before, python, "-c", RUN, test.stem, results], cwd=test.parent, env=with_package(packages), check=False)
        return json.loads(results.read_text()) if results.exists() else {"passed": [], "failed": [f"{test.stem} ended with {done.returncode}"], "skipped": {}}


def versions_of(python, *names):
    """["name==version"] of packages of an environment."""
    listed = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True).stdout
    return re.findall(rf"^(?:{'|'.join(names)})==.*", listed, re.MULTILINE)
