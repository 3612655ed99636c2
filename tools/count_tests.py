"""count_tests.py REPORT GTEST_FOLDER: prints `passed failed skipped` of a ctest JUnit report and names what failed or was skipped on
stderr. A test program NAME that wrote GTEST_FOLDER/NAME.xml counts with each of its own cases."""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def program_cases(report):
    """(name, status) of each case of a GoogleTest program."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            yield name, "fail"
        elif case.get("result") == "completed":
            yield name, "run"
        else:
            yield name, "skipped"


def cases(report, folder):
    """(name, status) of each test. A program that failed although no case of it did, or that wrote no report, is one failure."""
    for test in ElementTree.parse(report).getroot().iter("testcase"):
        name, status = test.get("name"), test.get("status")
        own = folder / f"{name}.xml"
        found = list(program_cases(own)) if own.exists() else []
        yield from found
        if not found or (status == "fail" and all(s != "fail" for _, s in found)):
            yield name, status


def count(report, folder):
    """Numbers and names: a disabled or not-run test counts as skipped unless ctest says it failed."""
    passed, failed, skipped = 0, [], []
    for name, status in cases(report, folder):
        if status == "run":
            passed += 1
        elif status == "fail":
            failed.append(name)
        else:
            skipped.append(name)
    return passed, failed, skipped


def main():
    passed, failed, skipped = count(sys.argv[1], pathlib.Path(sys.argv[2]))
    for word, names in (("failed", failed), ("skipped", skipped)):
        for name in names:
            print(f"{word}: {name}", file=sys.stderr)
    print(passed, len(failed), len(skipped))


if __name__ == "__main__":
    main()
