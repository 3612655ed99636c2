"""unittest_report.py FILE MODULE[.CASE]...: runs tests of unittest and writes what became of each to FILE, in the form of GoogleTest's JSON
reports, with the reasons of skipped ones. Exit code 1 if one failed."""

import json
import pathlib
import sys
import time
import unittest


class Result(unittest.TextTestResult):
    """Results in the order of the tests; warnings printed in between do not matter."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.rows = []

    def add(self, test, **fields):
        suite, _, name = test.id().rpartition(".")
        self.rows.append({"classname": suite, "name": name, "status": "RUN", "result": "COMPLETED", **fields})

    def addSuccess(self, test):
        super().addSuccess(test)
        self.add(test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.add(test, result="SKIPPED", skip_reason=reason)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.add(test, failures=[{"failure": self.failures[-1][1]}])

    def addError(self, test, error):
        super().addError(test, error)
        self.add(test, failures=[{"failure": self.errors[-1][1]}])

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self.add(test, expected_failure=True)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.add(test, failures=[{"failure": "was expected to fail"}])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.add(test, failures=[{"failure": str(error[1])}])


def report_of(rows, seconds):
    suites = {}
    for row in rows:
        suites.setdefault(row["classname"], []).append(row)
    return {"time": f"{seconds:.1f}s", "testsuites": [{"name": name, "testsuite": tests} for name, tests in suites.items()]}


def main():
    file, *names = sys.argv[1:]
    start = time.time()
    sys.path.insert(0, ".")
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(unittest.defaultTestLoader.loadTestsFromNames(names))
    pathlib.Path(file).write_text(json.dumps(report_of(result.rows, time.time() - start)))
    sys.exit(not result.wasSuccessful() or not result.rows)


if __name__ == "__main__":
    main()
