"""table.py [--check]: writes the tables of figures measured on GPUs, between two markers each, from tools/bench/results/*.json.

docs/performance.md has every row, README.md a short table of fp16. Both use each model's newest run that includes a peer; without GPU records, or
without markers, a page is not changed. --check writes nothing and exits with 1 if a page differs from the records.
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tools/bench/results"
BEGIN, END = "<!-- measured: begin (tools/bench/table.py) -->", "<!-- measured: end -->"
OURS = "onnx-cudnn"
GPU = "h200"  # of the tables
SHORT_BATCHES = (1, 256)
NOT_SHORT = ("PP-OCRv6_rec_small", "resnet18")  # models whose figures say nothing that another's do not
SHORT_PROGRAMS = (OURS + ", tuned", "onnxruntime-cuda", "torch-graph", "torch-compile", "torch-reduce-overhead")


def gpu_of(record):
    """As our tools name it, of a record of ours or of a peer."""
    return record["device"].lower().removeprefix("nvidia ")


def read_records(folder):
    """Every record of a GPU in the result files that are lists of records. Those of alternating-*.json come last: they repeat other measurements. Those of
    another GPU than GPU are left out."""
    records = []
    for file in sorted(pathlib.Path(folder).glob("*.json"), key=lambda file: (file.name.startswith("alternating-"), file.name)):
        content = json.loads(file.read_text())
        if isinstance(content, list):
            records += [r for r in content if isinstance(r, dict) and r.keys() >= {"who", "batch"} and r.get("driver") and gpu_of(r) == GPU]
    return records


def newest_run(records):
    """Of each model the records of the newest run in which it was measured beside a peer, at our smallest batch too; where there is none at all, our
    newest run."""
    ours = [r for r in records if r["who"] == OURS]
    smallest = {}  # by model
    for record in ours:
        smallest[record["model"]] = min(record["batch"], smallest.get(record["model"], record["batch"]))
    beside = {(r["run"], r["model"]) for r in records if r["who"] != OURS and r["batch"] == smallest.get(r["model"])}
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


def described(records):
    """One line: of which device, libraries, days and commits the records are."""
    ours = next(r for r in records if r["who"] == OURS)
    days = sorted({r["date"][:10] for r in records if r["who"] == OURS})
    return (f"One {ours['device']}, driver {ours['driver']}, CUDA {ours['cuda']}, cuDNN {ours['cudnn']}, {' to '.join(sorted({days[0], days[-1]}))}, "
            f"{commits(records)}: median ms of a run, data on the device.")


def table_lines(heads, rows):
    return ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"] + ["| " + " | ".join(row) + " |" for row in rows]


def milliseconds(record):
    return f"{record['median_ms']:.3f}" if record else ""


def short_table(records):
    """Lines of Markdown: a row a model (none of NOT_SHORT) and batch of SHORT_BATCHES that we were measured at, a column each of SHORT_PROGRAMS that was measured; fp16 alone."""
    cells = {}  # by (model, batch), then by program
    for record in records:
        if record["precision"] == "fp16" and record["batch"] in SHORT_BATCHES and program(record) in SHORT_PROGRAMS:
            cells.setdefault((record["model"], record["batch"]), {}).setdefault(program(record), record)
    programs = [p for p in SHORT_PROGRAMS if any(p in row for row in cells.values())]
    rows = [[model, str(batch)] + [milliseconds(row.get(p)) for p in programs] for (model, batch), row in sorted(cells.items())
            if OURS + ", tuned" in row and model not in NOT_SHORT]
    return [described(records), "", *table_lines(["model, fp16", "batch", *programs], rows)]


def full_table(records):
    """Lines of Markdown: a row a model, precision and program, a column a batch; milliseconds, images per second of the largest, and the
    seconds from the file to the first result at the smallest, less the CUDA context's."""
    batches = sorted({r["batch"] for r in records})
    by_row = {}
    for record in records:
        if name := program(record):
            row = by_row.setdefault((record["model"], record["precision"], record["who"] != OURS, name), {})
            row.setdefault(record["batch"], record)  # the first record counts: see read_records
    rows = []
    for (model, precision, _, who), by_batch in sorted(by_row.items()):
        largest, smallest = by_batch[max(by_batch)], by_batch[min(by_batch)]
        images_per_s = f"{largest['images_per_s']:,.0f}" if largest["images_per_s"] else ""  # 0: nothing sustained was measured
        rows.append([model, precision, who, *(milliseconds(by_batch.get(b)) for b in batches), images_per_s,
                     f"{smallest['setup_s'] - smallest['context_s']:.1f}"])
    heads = ["model", "precision", "program", *(f"batch {b}" for b in batches), "images/s", "set-up s"]
    return [described(records), "", *table_lines(heads, rows)]


PAGES = {ROOT / "README.md": short_table, ROOT / "docs/performance.md": full_table}


def with_table(page, records, make_table):
    """The text of a page with the table of these records."""
    chosen = newest_run(records)
    if BEGIN not in page or not chosen:
        return page
    before, rest = page.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return before + BEGIN + "\n" + "\n".join(make_table(chosen)) + "\n" + END + after


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    records = read_records(RESULTS)
    for page, make_table in PAGES.items():
        text = page.read_text()
        made = with_table(text, records, make_table)
        if not arguments.check:
            page.write_text(made)
        elif made != text:
            sys.exit(f"{page.relative_to(ROOT)}: its table differs from tools/bench/results: run tools/bench/table.py")


if __name__ == "__main__":
    main()
