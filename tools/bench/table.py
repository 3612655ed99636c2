"""table.py [--check]: writes the tables of figures measured on GPUs, between two markers each, from tools/bench/results/*.json.

docs/performance.md has every row and says how each program was timed, README.md has a short table of fp16. Both use each model's newest run that includes a peer; without GPU records, or
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
    another GPU than GPU, of several callers at once, of control cells (peers.py) and of decoding, which has tokens, are left out."""
    records = []
    for file in sorted(pathlib.Path(folder).glob("*.json"), key=lambda file: (file.name.startswith("alternating-"), file.name)):
        content = json.loads(file.read_text())
        if isinstance(content, list):
            records += [r for r in content if isinstance(r, dict) and r.keys() >= {"who", "batch", "images_per_s"} and r.get("driver") and gpu_of(r) == GPU and r.get("threads", 1) == 1 and not r.get("control")]
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


# What a run of each program is.
RUNS = {OURS: "the choices of heuristics, a CUDA graph", OURS + ", tuned": "the choices of the tuner, a CUDA graph", "torch": "eager, with the gaps of its host",
        "torch-graph": "a CUDA graph of eager runs", "torch-compile": "Inductor, max-autotune, frozen, with its CUDA graphs",
        "torch-reduce-overhead": "Inductor, reduce-overhead, frozen, with its CUDA graphs", "onnxruntime-cuda": "a CUDA graph"}


def clock(record):
    """Which clock timed its runs; records of before it was in them: onnxruntime's are by the host's, ours are so without a CUDA graph."""
    by_host = record["who"] == "onnxruntime-cuda" or (record["who"] == OURS and not record.get("cuda_graph", True))
    return {"events": "events", "host": "the host's clock"}[record.get("clock", "host" if by_host else "events")]


def timed_how(records):
    """One line: what a run of each program is, and which clock timed it."""
    clocks = {}  # by program
    for record in records:
        if name := program(record):
            clocks.setdefault(name, set()).add(clock(record))
    how = [f"{name}: {RUNS.get(name, 'as it says')}, by {' or '.join(sorted(clocks[name]))}" for name in sorted(clocks)]
    return "How runs were timed: " + "; ".join(how) + ". \"Alone\" contains what the host takes from the call on, \"device\" does not. ResNets have BatchNorm folded for everyone."


def on_device(record):
    """Milliseconds of a run alone without the host's part; ours enqueue a CUDA graph at once. None: not measured."""
    return record["median_ms"] if record["who"] == OURS else record.get("device_ms")


def sustained_ms(record):
    """Of a run among many back to back; None: not measured."""
    return 1e3 * record["batch"] / record["images_per_s"] if record["images_per_s"] else None


def is_cached_start(record):
    return record["who"] == OURS and not program(record)


def full_table(records):
    """Lines of Markdown: a row a model, precision, batch and program. Milliseconds of a run alone, from its call on and on the device, and of one among many
    back to back with its joules where the GPU counted them, and seconds from the file to the first result, less the CUDA context's; the same of a start from the plan cache beside the tuned row it belongs to."""
    rows, cached = {}, {}  # by (model, precision, batch), ours first
    for record in records:
        cell = (record["model"], record["precision"], record["batch"])
        if is_cached_start(record):
            cached.setdefault(cell, record)
        else:
            rows.setdefault((*cell, record["who"] != OURS, program(record)), record)  # the first record counts: see read_records
    lines = []
    for (model, precision, batch, _, name), record in sorted(rows.items()):
        again = cached.get((model, precision, batch)) if name == OURS + ", tuned" else None
        times = [f"{ms:.3f}" if ms else "" for ms in (record["median_ms"], on_device(record), sustained_ms(record))]
        rate = record["images_per_s"]
        joules = record.get("joules")
        lines.append([model, precision, str(batch), name, *times, f"{rate:,.0f}" if rate else "", f"{joules:.3f}" if joules else "", seconds_to_start(record), milliseconds(again), seconds_to_start(again)])
    heads = ["model", "precision", "batch", "program", "alone ms", "device ms", "sustained ms", "images/s", "J per run", "set-up s", "from its cache ms", "cached start s"]
    return [described(records), timed_how(records), "", *table_lines(heads, lines)]


def seconds_to_start(record):
    return f"{record['setup_s'] - record['context_s']:.2f}" if record else ""


PAGES = {ROOT / "README.md": short_table, ROOT / "docs/performance.md": full_table}


def between(page, begin, end, text):
    """The page with this text between the markers."""
    before, rest = page.split(begin, 1)
    _, after = rest.split(end, 1)
    return before + begin + "\n" + text + "\n" + end + after


def with_table(page, records, make_table):
    """The text of a page with the table of these records."""
    chosen = newest_run(records)
    if BEGIN not in page or not chosen:
        return page
    return between(page, BEGIN, END, "\n".join(make_table(chosen)))


def write_pages(pages, remake, description, differs):
    """The program that writes remake(page, its text) into each page. With --check it writes nothing and exits with 1 and what `differs` if one is another."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    for page in pages:
        text = page.read_text()
        made = remake(page, text)
        if not arguments.check:
            page.write_text(made)
        elif made != text:
            sys.exit(f"{page.relative_to(ROOT)}: {differs}")


def main():
    records = read_records(RESULTS)
    write_pages(PAGES, lambda page, text: with_table(text, records, PAGES[page]), __doc__,
                "its table differs from tools/bench/results: run tools/bench/table.py")  # fmt: skip


if __name__ == "__main__":
    main()
