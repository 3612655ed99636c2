"""table.py [--check]: writes README's table of figures measured on GPUs, between its two markers, from tools/bench/results/*.json.

The table holds each model's newest run beside a peer; without records of a GPU, or without markers, README stays as it is. --check writes nothing and
ends with 1 when README is not what the records say.
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tools/bench/results"
README = ROOT / "README.md"
BEGIN, END = "<!-- measured: begin (tools/bench/table.py) -->", "<!-- measured: end -->"
OURS = "onnx-cudnn"


def read_records(folder):
    """Every record of a GPU in the result files that are lists of records."""
    records = []
    for file in sorted(pathlib.Path(folder).glob("*.json")):
        content = json.loads(file.read_text())
        if isinstance(content, list):
            records += [r for r in content if isinstance(r, dict) and r.keys() >= {"who", "batch"} and r.get("driver")]
    return records


def newest_run(records):
    """Of each model the records of the newest run in which it was measured beside a peer; where there is none at all, our newest run."""
    ours = [r for r in records if r["who"] == OURS]
    beside = {(r["run"], r["model"]) for r in records if r["who"] != OURS}
    newest = {}  # by model
    for record in sorted(ours, key=lambda r: r["date"]):
        if (record["run"], record["model"]) in beside:
            newest[record["model"]] = record["run"]
    if newest:
        return [r for r in records if newest.get(r["model"]) == r["run"]]
    return [r for r in records if r["run"] == max(ours, key=lambda r: r["date"])["run"]] if ours else []


def commits(records):
    """Our commits, each with the models that it was measured on where there are several."""
    models = {}
    for record in records:
        if record["who"] == OURS:
            models.setdefault(record["commit"], set()).add(record["model"])
    if len(models) == 1:
        return "commit " + "".join(models)
    return "commits " + ", ".join(f"{commit} ({', '.join(sorted(names))})" for commit, names in models.items())


def program(record):
    """What a row is called, ours first; "": no row (a tuned network again, from its plan cache)."""
    if record["who"] != OURS:
        return record["who"]
    if record.get("tuned_signatures"):
        return OURS + ", tuned"
    return "" if record.get("cached_signatures") else OURS


def make_table(records):
    """Lines of Markdown: a row a model, precision and program, a column a batch; milliseconds, images per second of the largest, and the
    seconds from the file to the first result at the smallest, less the CUDA context's."""
    batches = sorted({r["batch"] for r in records})
    ours = next(r for r in records if r["who"] == OURS)
    lines = [f"One {ours['device']}, driver {ours['driver']}, CUDA {ours['cuda']}, cuDNN {ours['cudnn']}, {ours['date'][:10]}, "
             f"{commits(records)}: median ms of a run, data on the device.", "",
             "| model | precision | program | " + " | ".join(f"batch {b}" for b in batches) + " | images/s | set-up s |",
             "|---" * (5 + len(batches)) + "|"]
    rows = {}
    for record in records:
        if name := program(record):
            row = rows.setdefault((record["model"], record["precision"], record["who"] != OURS, name), {})
            row.setdefault(record["batch"], record)  # turns-*.json measure again what real-*.json and tuned-*.json did
    for (model, precision, _, who), by_batch in sorted(rows.items()):
        cells = [f"{by_batch[b]['median_ms']:.3f}" if b in by_batch else "" for b in batches]
        largest, smallest = by_batch[max(by_batch)], by_batch[min(by_batch)]
        setup_s = smallest["setup_s"] - smallest["context_s"]
        images_per_s = f"{largest['images_per_s']:,.0f}" if largest["images_per_s"] else ""  # 0: nothing sustained was measured
        lines.append(f"| {model} | {precision} | {who} | " + " | ".join(cells) + f" | {images_per_s} | {setup_s:.1f} |")
    return lines


def with_table(readme, records):
    """The text of README with the table of these records."""
    chosen = newest_run(records)
    if BEGIN not in readme or not chosen:
        return readme
    before, rest = readme.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return before + BEGIN + "\n" + "\n".join(make_table(chosen)) + "\n" + END + after


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    readme = README.read_text()
    made = with_table(readme, read_records(RESULTS))
    if not arguments.check:
        README.write_text(made)
    elif made != readme:
        sys.exit("README.md: its table is not what tools/bench/results says: run tools/bench/table.py")


if __name__ == "__main__":
    main()
