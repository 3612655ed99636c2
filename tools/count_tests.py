"""count_tests.py REPORT: prints `passed failed skipped` of a ctest JUnit report and names what failed or was skipped on stderr."""

import sys
import xml.etree.ElementTree as ElementTree


def count(report):
    """Counts of a <testsuite>: a disabled or not-run test counts as skipped unless ctest says it failed."""
    passed, failed, skipped = 0, [], []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        status = case.get("status")
        if status == "run":
            passed += 1
        elif status == "fail":
            failed.append(case.get("name"))
        else:
            skipped.append(case.get("name"))
    return passed, failed, skipped


def main():
    passed, failed, skipped = count(sys.argv[1])
    for word, names in (("failed", failed), ("skipped", skipped)):
        for name in names:
            print(f"{word}: {name}", file=sys.stderr)
    print(passed, len(failed), len(skipped))


if __name__ == "__main__":
    main()
