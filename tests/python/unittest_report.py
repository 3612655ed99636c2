"""unittest_report.py FILE MODULE[.CASE]...: runs tests of unittest and writes what became of each to FILE (.xml or .json), in the form of GoogleTest's
reports, with the reasons of skipped ones. Exit code 1 if one failed or none was found."""

import json
import pathlib
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree


class Result(unittest.TextTestResult):
    """Collects rows. Warnings are printed between a test's name and its result, so that the printed text is no report."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.rows = []

    def add(self, test, result="COMPLETED", **fields):
        path, *part = test.id().split(" ", 1)  # of a subtest, or of setUpClass: what stands in brackets
        suite, _, name = path.rpartition(".")
        self.rows.append({"classname": suite, "name": " ".join([name, *part]), "status": "RUN", "result": result, **fields})

    def addSuccess(self, test):
        super().addSuccess(test)
        self.add(test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.add(test, "SKIPPED", skip_reason=reason)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.add(test, failures=[{"failure": self.failures[-1][1]}])

    def addError(self, test, error):
        super().addError(test, error)
        self.add(test, failures=[{"failure": self.errors[-1][1]}])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.add(subtest, failures=[{"failure": str(error[1])}])


def json_of(rows, seconds):
    suites = {}
    for row in rows:
        suites.setdefault(row["classname"], []).append(row)
    return json.dumps({"time": f"{seconds:.1f}s", "testsuites": [{"name": name, "testsuite": tests} for name, tests in suites.items()]})


def xml_of(rows, seconds):
    suites = ElementTree.Element("testsuites", time=f"{seconds:.1f}")
    for row in rows:
        case = ElementTree.SubElement(suites, "testcase", classname=row["classname"], name=row["name"], status="run", result=row["result"].lower())
        for failure in row.get("failures", []):
            ElementTree.SubElement(case, "failure", message=failure["failure"])
        if "skip_reason" in row:
            ElementTree.SubElement(case, "skipped", message=row["skip_reason"])
    return ElementTree.tostring(suites, encoding="unicode")


def main():
    file, *names = sys.argv[1:]
    file = pathlib.Path(file)
    start = time.time()
    sys.path.insert(0, ".")
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(unittest.defaultTestLoader.loadTestsFromNames(names))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((xml_of if file.suffix == ".xml" else json_of)(result.rows, time.time() - start))
    sys.exit(not result.wasSuccessful() or not result.rows)


if __name__ == "__main__":
    main()
