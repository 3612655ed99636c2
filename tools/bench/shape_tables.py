"""shape_tables.py [--check]: writes the section on models whose shapes vary into docs/performance.md, between two markers, from tools/bench/results/*.json and
models/zoo.json.

Of each kind of record (and detector) the newest counts. --check writes nothing and exits with 1 if the page differs from the records.
"""

import json
import pathlib
import re
import statistics

import table

PAGE = table.ROOT / "docs/performance.md"
BEGIN, END = "<!-- shapes: begin (tools/bench/shape_tables.py) -->", "<!-- shapes: end -->"
LIMIT_MS = 50  # what a new shape may cost beyond its steady time
FIRST_PROGRAMS, PRECISIONS = ("best", "quick"), ("tf32", "fp16")
MODES = [(first, precision) for first in FIRST_PROGRAMS for precision in PRECISIONS]
DATED = re.compile(r"(?P<name>.+)-(?P<date>\d{4}-\d{2}-\d{2})-(?P<commit>[0-9a-f]{7})\.json")


def newest_files(folder, pattern):
    """{what a file's name says before its date: the file with the last date} of the files that `pattern` matches."""
    dated = [(found["date"], found["name"], file) for file in pathlib.Path(folder).glob(pattern) if (found := DATED.fullmatch(file.name))]
    return {name: file for _, name, file in sorted(dated)}


def link(file, text):
    return f"[{text}](../tools/bench/results/{file.name})"


def commit_of(file):
    return DATED.fullmatch(file.name)["commit"]


def percent(part, whole):
    return f"{100 * part / whole:.2f} %"


def detector_lines(folder):
    """A row a detector: what one Run reads to know its sizes."""
    rows = []
    for name, file in newest_files(folder, "*-strict-*.json").items():
        record = json.loads(file.read_text())
        if "segments" not in record:
            continue
        parts = record["segments"]
        largest = max(output["largest_difference"] / output["largest_expected"] for output in record["verify"]["outputs"] if output["tolerance"] != "exact")
        rows.append([link(file, name.removesuffix("-strict").removesuffix(".script")), str(parts["programs"]), str(parts["size_reads"]), f"{record['timing']['median_ms']:.2f}",
                     f"{1e3 * parts['size_reads_ms']:.1f}", percent(parts["size_reads_ms"], parts["run_ms"]),
                     f"{largest:.1e}" if record["verify"]["ok"] else "differs"])  # fmt: skip
    heads = ["detector", "Programs", "sizes read", "median ms of a run", "µs of reading", "share of the run", "largest difference"]
    return ["Detectors as torchvision exports them, 96×128, strict, on a GPU; the difference from onnxruntime is that of the last column, as a share of an output's largest element:", "",
            *table.table_lines(heads, sorted(rows))] if rows else []  # fmt: skip


def new_shape_lines(folder):
    """A row a shape, a column a mode: how far its longest Run is beyond its steady time."""
    files = {}  # by mode
    for mode in MODES:
        files.update({mode: file for file in newest_files(folder, f"shapes-{'-'.join(mode)}-*.json").values()})
    if not files:
        return []
    cells, beyond = {}, {}  # cells by shape, then by mode; beyond by mode
    for mode, file in files.items():
        for shape in json.loads(file.read_text())["new_shapes"]:
            cells.setdefault(shape["inputs"], {})[mode] = f"{shape['beyond_ms']:,.1f}"
            beyond.setdefault(mode, []).append(shape["beyond_ms"])
    modes = [mode for mode in MODES if mode in files]
    within = ["within 50 ms", *(f"{sum(ms <= LIMIT_MS for ms in beyond[mode])} of {len(beyond[mode])}" for mode in modes)]
    median = ["median", *(f"{statistics.median(beyond[mode]):,.1f}" for mode in modes)]
    heads = ["new shape", *(link(files[mode], f"{mode[0]}, {mode[1]}") for mode in modes)]
    rows = [[f"`{shape}`", *(row.get(mode, "") for mode in modes)] for shape, row in cells.items()]
    return ["PP-OCR detection, each shape for the first time in its Session: ms of the longest Run beyond the median of the last, by `--first-program` and precision:", "",
            *table.table_lines(heads, [*rows, median, within])]  # fmt: skip


def decoder_lines(folder):
    """A table a device, in it a row a decoder."""
    lines = []
    for file in newest_files(folder, "decoders-*.json").values():
        record, rows = json.loads(file.read_text()), []
        device = "the CPU device" if record.get("device", "cpu") == "cpu" else f"one {record['device']}"
        reference = f"{record.get('reference', 'onnxruntime')}'s"
        for row in record["decoders"]:
            buckets = ", ".join(row["buckets"]) or "none"
            rows.append([row["model"], buckets, str(row["runs"]), str(row["programs_built"]), str(row["programs_held"]), f"{row['largest_error']:.1e}"])
        heads = ["decoder", "buckets", "runs", "Programs built", "held at the end", "largest error"]
        lines += ["", f"Decoders whose cache grows, a prompt and then a token a run, on {device} at {commit_of(file)} ({link(file, 'record')}); the error is that of logits "
                  f"against {reference}, as a share of the largest:", "", *table.table_lines(heads, rows)]  # fmt: skip
    return lines[1:]


def vector_rows(folder):
    """Rows of the table of coverage: test vectors of ONNX's wheels, on a GPU and on the CPU device."""
    rows, on_gpu = [], []
    for file in sorted(pathlib.Path(folder).glob("tests-*.json")):
        on_gpu += [(suite["date"], file, suite) for suite in json.loads(file.read_text()) if suite.get("suite") == "vectors" and suite["passed"] > 0]
    if on_gpu:
        _, file, suite = max(on_gpu, key=lambda found: found[0])
        count = suite["passed"] + suite["skipped"] + len(suite["failed"])
        rows.append([f"{link(file, 'vectors')} of the present wheel, on one {suite['device']}", f"{suite['passed']:,} of {count:,}",
                     f"{suite['nodes']:,} nodes, of which {suite['host_nodes']:,} run on the host"])  # fmt: skip
    for file in newest_files(folder, "vectors-*.json").values():
        record = json.loads(file.read_text())
        for version, wheel in record.get("present", {}).items():
            rows.append([f"{link(file, 'vectors')} of the wheel {version}, CPU device and as Programs for an H200", f"{wheel['passed']:,} of {wheel['vectors']:,}",
                         f"{wheel['refused']} refused"])  # fmt: skip
        wheels = record["wheels"]
        count, passed, refused, wrong = (sum(wheel[key] for wheel in wheels.values()) for key in ("vectors", "passed", "refused", "wrong"))
        rows.append([f"{link(file, 'vectors')} of the wheels {', '.join(wheels)}, CPU device and as Programs for an H200", f"{passed:,} of {count:,}",
                     f"{refused} refused, {wrong} fail, which ONNX corrected later"])  # fmt: skip
    return rows


def zoo_row(scores):
    good = [row for row in scores.values() if row.get("agrees") and row.get("agrees_as_partitioned")]
    architectures, exporters = {name.split(".")[0] for name in scores}, {row["exporter"] for row in scores.values()}
    in_parts = sum(row.get("segments", 1) > 1 for row in good)
    return ["[zoo](zoo.md) on the CPU device and as partitioned for an H200", f"{len(good)} of {len(scores)}",
            f"{len(architectures)} architectures by {len(exporters)} exporters; {in_parts} models run as several Programs"]  # fmt: skip


def section(folder, scores):
    """Lines of Markdown."""
    coverage = table.table_lines(["what", "right", ""], [*vector_rows(folder), zoo_row(scores)])
    parts = [detector_lines(folder), new_shape_lines(folder), decoder_lines(folder), ["What runs and is right:", "", *coverage]]
    return "\n\n".join("\n".join(part) for part in parts if part)


def with_section(page, text):
    """The page with this text between the markers."""
    return table.between(page, BEGIN, END, text)


def main():
    made = section(table.RESULTS, json.loads((table.ROOT / "models/zoo.json").read_text()))
    table.write_pages([PAGE], lambda _, page: with_section(page, made), __doc__, "its tables differ from the records: run tools/bench/shape_tables.py")


if __name__ == "__main__":
    main()
