"""tsan.py [options] PROGRAM...: runs test programs instrumented with ThreadSanitizer, one test suite at a time. A race or a failing test
is a failure; the program's output is kept in FOLDER/logs."""

import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

from part import Part, fingerprint, parser_of

SECONDS = 1200  # limit per suite
RACE = 66  # exit code


def suites(program):
    """Names of the suites of a GoogleTest program."""
    lines = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split(".")[0] for line in lines if line and not line.startswith((" ", "Running"))]


def fixed_addresses():
    """ThreadSanitizer of older compilers does not start if the kernel randomizes many address bits."""
    command = ["setarch", os.uname().machine, "-R"]
    return command if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0 else []


def counts(report):
    """Tests that passed, names of those that failed, and how many were skipped."""
    passed, failed, skipped = 0, [], 0
    for case in ElementTree.parse(report).getroot().iter("testcase") if report.exists() else []:
        if case.find("failure") is not None:
            failed.append(f"{case.get('classname')}.{case.get('name')}")
        elif case.get("result") == "completed":
            passed += 1
        else:
            skipped += 1
    return passed, failed, skipped


def run_suite(program, suite, folder):
    log, report = folder / "logs" / f"{suite.replace('/', '_')}.log", folder / "reports" / f"{suite.replace('/', '_')}.xml"
    for file in (log, report):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
    environment = {**os.environ, "TSAN_OPTIONS": f"exitcode={RACE} second_deadlock_stack=1"}
    command = [*fixed_addresses(), program, f"--gtest_filter={suite}.*", f"--gtest_output=xml:{report}"]
    start = time.time()
    with log.open("w") as out:
        try:
            code = subprocess.run(command, stdout=out, stderr=out, env=environment, timeout=SECONDS, check=False).returncode
        except subprocess.TimeoutExpired:
            code = "timeout"
    passed, failed, skipped = counts(report)
    if code != 0 and not failed:
        failed = [f"{suite}: {'ThreadSanitizer reports' if code == RACE else f'ended with {code}'}, see {log}"]
    print(f"{suite}: {passed} passed, {len(failed)} failed, {time.time() - start:.0f} s", flush=True)
    return {"passed": passed, "failed": failed, "skipped": skipped, "seconds": round(time.time() - start, 1)}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    part = Part("tsan", options)
    units = {}
    for program in options.programs:
        marks = fingerprint(program)
        for suite in suites(program):
            units[f"{program.name}-{marks}-{suite}"] = (program.resolve(), suite)
    answers = part.run(units, lambda key: run_suite(*units[key], options.folder), jobs=2)
    done = list(answers.values())
    failed = [name for answer in done for name in answer["failed"]]
    programs = {
        program.name: {
            "passed": sum(answers[k]["passed"] for k, (p, _) in units.items() if k in answers and p == program.resolve()),
            "seconds": round(sum(answers[k]["seconds"] for k, (p, _) in units.items() if k in answers and p == program.resolve()), 1),
        }
        for program in options.programs
    }
    sys.exit(
        part.finish(sum(a["passed"] for a in done), failed, len(units) - len(done), {"programs": programs}, sum(a["skipped"] for a in done))
    )


if __name__ == "__main__":
    main()
