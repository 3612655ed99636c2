"""check.py RUN_CASES [options]: generated cases of single ops, judged by onnxruntime and onnx.reference, run by ours in every mode that
RUN_CASES has. Exit code 1 when one is found wrong. Each case is a function of the seed and its index; chunks that are done are kept in
--state and not run again by the same program and generator."""

import argparse
import collections
import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import ours
from case import OPS
from differences import allowed_refusal, is_false_diagnosis
from expectation import AGREED, ALONE, ASIDE, REFUSED, Writer
from workers import judge_all

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INVALID, UNSUPPORTED, EXHAUSTED = "2", "3", "6"  # exit codes


def verdict(made, word, message):
    """(what to count, what is wrong) of one case in one mode. made: an Expectation; wrong: None where nothing is."""
    reason = allowed_refusal(made, message)
    if word not in ("pass", "wrong", INVALID, UNSUPPORTED) and not (word == EXHAUSTED and reason):
        return "wrong", f"ended with {word}: {message}"
    refused = word not in ("pass", "wrong")
    if refused and is_false_diagnosis(message):
        return "wrong", f"false diagnosis: {message}"
    if made.kind == REFUSED:
        return ("refused by all" if refused else "run by ours alone"), None
    if made.kind == ASIDE:
        return "set aside", None
    if word == "pass":
        return "agreed", None
    if word == "wrong":
        return "wrong", message
    if made.spoiled:
        return "refused by ours, spoiled", None
    if word == INVALID and (made.checker or "[ShapeInferenceError]" in message):
        return "refused: ONNX's shape inference finds it invalid", None
    return (f"refused: {reason}", None) if reason else ("wrong", f"refused ({word}): {message}")


def judged(made, results, modes):
    """The count of a case and its findings, over all modes."""
    counts, findings = set(), []
    for mode in modes:
        word, message = results.get((made.name, mode), ("not run", "another mode ended the program"))
        count, wrong = verdict(made, word, message)
        counts.add(count)
        if wrong:
            findings.append({"case": made.name, "mode": mode, "wrong": wrong, **dataclasses.asdict(made)})
    return ("wrong" if findings else min(counts)), findings


def run_chunk(options, indices, modes):
    """[op, name, count, findings] of each case."""
    with tempfile.TemporaryDirectory() as folder:
        made = judge_all(options.seed, indices, Writer(folder), options.jobs)
        expected = [made[i][0] for i in indices]
        pathlib.Path(folder, "cases.tsv").write_text("".join(made[i][1] + "\n" for i in indices))
        results = ours.run_all(options.program, folder, [e.name for e in expected], modes, options.jobs)
        chunk = [(e.op, e.name, *judged(e, results, modes)) for e in expected]
        if options.keep:
            for _, name, _, findings in chunk:
                if findings:
                    shutil.copytree(pathlib.Path(folder, name), pathlib.Path(options.keep, name), dirs_exist_ok=True)
    return chunk


def fingerprint(program):
    """Of the program and of what makes and judges cases."""
    digest = hashlib.sha1(pathlib.Path(program).read_bytes())
    for file in sorted(HERE.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def all_chunks(options, modes):
    state = pathlib.Path(options.state) if options.state else None
    key = f"{options.seed}-{fingerprint(options.program)}"
    for first in range(options.first, options.first + options.count, options.chunk):
        indices = range(first, min(first + options.chunk, options.first + options.count))
        file = state / f"{key}-{first}-{len(indices)}.json" if state else None
        if file and file.exists():
            yield json.loads(file.read_text())
            continue
        chunk = run_chunk(options, indices, modes)
        if file:
            state.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(chunk))
        print(f"cases {first} to {indices[-1]}: {sum(bool(c[3]) for c in chunk)} found wrong", flush=True)
        yield chunk


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def record(options, modes, cases):
    """What stands in tools/bench/results: totals, and counts per op."""
    ops = {op: collections.Counter() for op in OPS}
    for op, _, count, _ in cases:
        ops[op][count] += 1
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": git("rev-parse", "--short=7", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")), "device": "cpu", "modes": modes, "seed": options.seed, "cases": len(cases),
        "onnx": importlib.metadata.version("onnx"), "onnxruntime": importlib.metadata.version("onnxruntime"),
        "totals": dict(sorted(sum(ops.values(), collections.Counter()).items())),
        "ops": {op: dict(sorted(counts.items())) for op, counts in ops.items()},
    }  # fmt: skip


def write_report(path, cases):
    """As GoogleTest does, for tools/count_tests.py."""
    suite = ElementTree.Element("testsuite", name="cases")
    for op, name, count, findings in cases:
        is_refused = count.startswith(("refused:", "refused by ours"))
        case = ElementTree.SubElement(suite, "testcase", classname=op, name=name, result="skipped" if is_refused else "completed")
        if is_refused:
            ElementTree.SubElement(case, "skipped", message=f"expected refusal: {count}")
        for finding in findings:
            ElementTree.SubElement(case, "failure", message=f"{finding['mode']}: {finding['wrong']}")
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suite).write(path)


def print_findings(cases):
    for op, name, _, findings in sorted(c for c in cases if c[3]):
        print(f"\n{name}: {findings[0]['text']}")
        judge = findings[0]
        if judge["kind"] in (AGREED, ALONE):
            print(f"    expected: what {judge['judge']} gives ({judge['kind']})")
        for who in ("onnxruntime", "reference", "checker"):
            if judge[who]:
                print(f"    {who} refuses: {judge[who]}")
        for finding in findings:
            print(f"    {finding['mode']}: {finding['wrong']}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--chunk", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--modes", help="of those that the program has, with commas between; default: all")
    parser.add_argument("--state", help="folder of chunks that are done")
    parser.add_argument("--keep", help="folder for the cases that are found wrong")
    parser.add_argument("--record", help="folder for a record of the run")
    parser.add_argument("--report", help="file for a report as GoogleTest writes")
    return parser.parse_args()


def main():
    options = parse()
    modes = options.modes.split(",") if options.modes else ours.modes_of(options.program)
    cases = [tuple(c) for chunk in all_chunks(options, modes) for c in chunk]
    print_findings(cases)
    made = record(options, modes, cases)
    print("\n" + ", ".join(f"{count} {words}" for words, count in made["totals"].items()))
    if options.record:
        file = pathlib.Path(options.record, f"cases-{made['date'][:10]}-{made['commit']}.json")
        file.write_text(json.dumps(made, indent=1) + "\n")
        print(f"written: {file}")
    if options.report:
        write_report(options.report, cases)
    sys.exit(any(c[3] for c in cases))


if __name__ == "__main__":
    main()
