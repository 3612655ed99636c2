"""vectors.py [options] PROGRAM: runs test_onnx_backend over the test vectors of older wheels of ONNX (build/python/older-vectors.txt) and over its own, of the
present wheel, on the host and as Programs for an H200. The vectors in tests/onnx_backend/older_failing.txt, and no others, must fail."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
import zipfile

from part import ROOT, Part, fingerprint, parser_of

PINS = ROOT / "build/python/older-vectors.txt"
LIST = ROOT / "tests/onnx_backend/older_failing.txt"
REFUSALS = ROOT / "tests/onnx_backend/failing.txt"
DATA = "onnx/backend/test/data/"
PRESENT = re.search(r'set\(ONNX_VECTORS "onnx==(\S+)"\)', (ROOT / "third_party/versions.cmake").read_text())[1]
MODES = ("Cpu", "H200Greedy", "H200Cost")
SECONDS = 600  # limit per wheel and mode


def wheels():
    """{version: pip's requirement}"""
    return {re.match(r"onnx==(\S+)", line)[1]: line for line in PINS.read_text().splitlines() if line}


def listed():
    """{version: {vector: reason}} of lines of "vector  version,version  reason"."""
    wrong = {version: {} for version in wheels()}
    for line in LIST.read_text().splitlines():
        name, versions, reason = line.split("  ", 2)
        for version in versions.split(","):
            wrong[version][name] = reason
    return wrong


def unpacked(version, requirement, folder):
    """The wheel's folder of vectors, downloaded once; pip checks its hash."""
    target = folder / f"onnx-{version}"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as place:
            pins = pathlib.Path(place, "requirements.txt")
            pins.write_text(requirement + "\n")
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--retries", "2", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
            command += ["--only-binary", ":all:", "--platform", "manylinux_2_17_x86_64", "--platform", "manylinux_2_28_x86_64", "--python-version", "3.10"]
            subprocess.run([*command, "--implementation", "cp", "--abi", "cp310", "--dest", place, "--requirement", pins], check=True)
            (wheel,) = pathlib.Path(place).glob("*.whl")
            with zipfile.ZipFile(wheel) as files:
                files.extractall(pathlib.Path(place, "files"), [name for name in files.namelist() if name.startswith(DATA)])
            pathlib.Path(place, "files", DATA).rename(target)
    return target


def run(program, version, data, mode, folder):
    """The names of the vectors in `data` (None: the program's own) that passed, failed, and were refused as failing.txt says."""
    report = folder / "reports" / f"onnx-{version}-{mode}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    log = report.with_suffix(".log")
    start = time.time()
    with log.open("w") as out:
        subprocess.run(
            [program, f"--gtest_filter=*/OnnxBackendTest.{mode}/*", f"--gtest_output=xml:{report}"], stdout=out, stderr=out,
            env={**os.environ, **({"ONNX_CUDNN_VECTORS": str(data)} if data else {})}, timeout=SECONDS, check=False,
        )  # fmt: skip
    answer = {"passed": [], "failed": [], "refused": [], "seconds": 0}
    if not report.exists():
        raise AssertionError(f"onnx {version}, {mode}: no report, see {log}")
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        kind = "failed" if case.find("failure") is not None else "passed" if case.get("result") == "completed" else "refused"
        answer[kind].append(case.get("value_param"))
    answer["seconds"] = round(time.time() - start, 1)
    print(f"onnx {version}, {mode}: {len(answer['passed'])} passed, {len(answer['failed'])} failed, {answer['seconds']} s", flush=True)
    return answer


def unexpected(answer, wrong):
    """Names of the vectors that contradict the list of those that are wrong."""
    failed = set(answer["failed"])
    return [*(failed - wrong.keys()), *(f"{name} passes, but is listed" for name in wrong.keys() - failed)]


def facts(answers, wrong):
    """What the record says of each wheel: its vectors, and how many are wrong, are refused, or pass in all modes."""
    rows = {}
    for version, modes in answers.items():
        refused = {name for answer in modes.values() for name in answer["refused"]}
        vectors = {name for answer in modes.values() for kind in ("passed", "failed", "refused") for name in answer[kind]}
        failed = {name for answer in modes.values() for name in answer["failed"]}
        rows[version] = {
            "vectors": len(vectors), "passed": len(vectors - failed - refused), "refused": len(refused), "wrong": len(wrong[version]),
            "seconds": {mode: answer["seconds"] for mode, answer in modes.items()},
        }  # fmt: skip
    return {"wheels": {version: row for version, row in rows.items() if version != PRESENT}, "present": {PRESENT: rows[PRESENT]}}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("program", type=pathlib.Path)
    options = parser.parse_args()
    part = Part("vectors", options)
    folder = options.folder or ROOT / "build/vectors"
    folder.mkdir(parents=True, exist_ok=True)
    pins, wrong, marks = wheels(), {**listed(), PRESENT: {}}, fingerprint(options.program, REFUSALS)
    units = {f"{version}-{mode}-{marks}": (version, mode) for version in wrong for mode in MODES}

    def work(key):
        version, mode = units[key]
        data = None if version == PRESENT else unpacked(version, pins[version], folder)
        return run(options.program, version, data, mode, folder)

    done = part.run(units, work)
    answers = {version: {mode: done[key] for key, (v, mode) in units.items() if v == version and key in done} for version in wrong}
    failed = [f"onnx {version}, {mode}: {name}" for version, modes in answers.items() for mode, answer in modes.items()
              for name in unexpected(answer, wrong[version])]  # fmt: skip
    passed = sum(len(answer["passed"]) for answer in done.values())
    refused = sum(len(answer["refused"]) for answer in done.values())
    known = sum(len(wrong[version].keys() & answer["failed"]) for version, modes in answers.items() for answer in modes.values())
    sys.exit(part.finish(passed, failed, len(units) - len(done), facts(answers, wrong), known + refused, refused))


if __name__ == "__main__":
    main()
