"""check.py RUN_CASES [options]: runs generated cases of single ops in every mode of the program RUN_CASES and compares the results with those of
onnxruntime and onnx.reference (the judges); from --first 10000000 on cases of com.microsoft, which onnxruntime alone judges. Exit code 1 if a
result is wrong. Equal seeds and indices give equal cases. Results of finished chunks are stored in --folder and reused while RUN_CASES and the
sources of this folder are unchanged."""

import collections
import dataclasses
import importlib.metadata
import pathlib
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import ours
from case import CONTRIB_OPS, FIRST_CONTRIB, ML_OPS, OPS
from differences import allowed_refusal, is_false_diagnosis
from draw import ML
from expectation import AGREED, ALONE, ASIDE, REFUSED, Writer
from workers import judge_all

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tools/long"))

from part import Part, fingerprint, parser_of  # noqa: E402

OPS_OF = {"": OPS, ML: ML_OPS}
INVALID, UNSUPPORTED, EXHAUSTED = "2", "3", "6"  # exit codes


def verdict(made, word, message):
    """(category, error or None) of one case in one mode, given its Expectation and the line of RUN_CASES."""
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
    """The category of a case and its errors, over all modes."""
    counts, findings = set(), []
    for mode in modes:
        word, message = results.get((made.name, mode), ("not run", "another mode ended the program"))
        count, wrong = verdict(made, word, message)
        counts.add(count)
        if wrong:
            findings.append({"case": made.name, "mode": mode, "wrong": wrong, **dataclasses.asdict(made)})
    return ("wrong" if findings else min(counts)), findings


def run_chunk(options, indices, modes):
    """[(op, name, category, errors)] of the cases."""
    with tempfile.TemporaryDirectory() as folder:
        made = judge_all(options.seed, indices, Writer(folder), options.jobs, OPS_OF[options.domain])
        expected = [made[i][0] for i in indices]
        pathlib.Path(folder, "cases.tsv").write_text("".join(made[i][1] + "\n" for i in indices))
        results = ours.run_all(options.program, folder, [e.name for e in expected], modes, options.jobs)
        chunk = [(e.op, e.name, *judged(e, results, modes)) for e in expected]
        if options.keep:
            for _, name, _, findings in chunk:
                if findings:
                    shutil.copytree(pathlib.Path(folder, name), pathlib.Path(options.keep, name), dirs_exist_ok=True)
    return chunk


def run_chunks(options, part, modes):
    """The same for all chunks that are finished before the deadline."""
    marks = fingerprint(pathlib.Path(options.program), *sorted(HERE.rglob("*.py")))
    chunks = {}
    for first in range(options.first, options.first + options.count, options.chunk):
        indices = range(first, min(first + options.chunk, options.first + options.count))
        chunks[f"{options.domain}{options.seed}-{marks}-{first}-{len(indices)}"] = indices

    def work(key):
        chunk = run_chunk(options, chunks[key], modes)
        print(f"cases {chunks[key][0]} to {chunks[key][-1]}: {sum(bool(c[3]) for c in chunk)} wrong", flush=True)
        return chunk

    return [tuple(c) for chunk in part.run(chunks, work).values() for c in chunk]


def details(options, modes, cases):
    """What a record of the run holds: totals, and counts per op."""
    ops = {op: collections.Counter() for op in (CONTRIB_OPS if options.first >= FIRST_CONTRIB else OPS_OF[options.domain])}
    for op, _, count, _ in cases:
        ops[op][count] += 1
    return {
        "modes": modes, "seed": options.seed, "cases": len(cases),
        "onnx": importlib.metadata.version("onnx"), "onnxruntime": importlib.metadata.version("onnxruntime"),
        "totals": dict(sorted(sum(ops.values(), collections.Counter()).items())),
        "ops": {op: dict(sorted(counts.items())) for op, counts in ops.items()},
    }  # fmt: skip


def is_refusal(count):
    """Whether the category is an expected refusal by onnx-cudnn."""
    return count.startswith(("refused:", "refused by ours"))


def write_report(path, cases):
    """In GoogleTest's format, for tools/count_tests.py."""
    suite = ElementTree.Element("testsuite", name="cases")
    for op, name, count, findings in cases:
        is_refused = is_refusal(count)
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
    parser = parser_of(__doc__)
    parser.add_argument("program")
    parser.add_argument("--domain", default="", choices=OPS_OF, help="of the ops")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--chunk", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--modes", help="some of the modes of RUN_CASES, separated by commas; default: all")
    parser.add_argument("--keep", help="folder to which wrong cases are copied")
    parser.add_argument("--report", help="file for a report in GoogleTest's format")
    return parser.parse_args()


def main():
    options = parse()
    modes = options.modes.split(",") if options.modes else ours.modes_of(options.program)
    if ours.EMULATOR in modes:
        print(f"{ours.EMULATOR}: the source of our kernels runs on the host, compared with onnxruntime and onnx.reference; no GPU is involved", flush=True)
    part = Part("cases", options)
    cases = run_chunks(options, part, modes)
    print_findings(cases)
    made = details(options, modes, cases)
    print("\n" + ", ".join(f"{count} {words}" for words, count in made["totals"].items()))
    if options.report:
        write_report(options.report, cases)
    failed = [name for _, name, _, findings in cases if findings]
    refused = sum(is_refusal(count) and not findings for _, _, count, findings in cases)
    sys.exit(part.finish(len(cases) - len(failed) - refused, failed, options.count - len(cases), made, skipped=refused, refused=refused))


if __name__ == "__main__":
    main()
