"""count_tests.py REPORT GTEST_FOLDER: prints `passed failed skipped refused` of a ctest JUnit report and lists failed and skipped tests
on stderr. The cases of a test program NAME that wrote GTEST_FOLDER/NAME.xml are counted one by one. Refused cases, a part of the skipped, are
those whose reason starts with EXPECTED_REFUSAL: we refuse them as listed."""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


EXPECTED_REFUSAL = "expected refusal: "


def status_of_skipped(case):
    message = getattr(case.find("skipped"), "attrib", {}).get("message", "")
    return "refused" if EXPECTED_REFUSAL in message else "skipped"


def program_cases(report):
    """(name, status) of each case of a GoogleTest program."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            yield name, "fail"
        elif case.get("result") == "completed":
            yield name, "run"
        else:
            yield name, status_of_skipped(case)


def cases(report, folder):
    """(name, status) of each test. A program that failed although none of its cases did, or that wrote no report, counts as one failure."""
    for test in ElementTree.parse(report).getroot().iter("testcase"):
        name, status = test.get("name"), test.get("status")
        own = folder / f"{name}.xml"
        found = list(program_cases(own)) if own.exists() else []
        yield from found
        if not found or (status == "fail" and all(s != "fail" for _, s in found)):
            yield name, status


def count(report, folder):
    """Numbers and names: a disabled test, or one that did not run, counts as skipped unless ctest reports a failure. Expected refusals have no names."""
    passed, failed, skipped, refused = 0, [], [], 0
    for name, status in cases(report, folder):
        if status == "run":
            passed += 1
        elif status == "fail":
            failed.append(name)
        elif status == "refused":
            refused += 1
        else:
            skipped.append(name)
    return passed, failed, skipped, refused


def main():
    passed, failed, skipped, refused = count(sys.argv[1], pathlib.Path(sys.argv[2]))
    for word, names in (("failed", failed), ("skipped", skipped)):
        for name in names:
            print(f"{word}: {name}", file=sys.stderr)
    print(passed, len(failed), len(skipped) + refused, refused)


if __name__ == "__main__":
    main()
