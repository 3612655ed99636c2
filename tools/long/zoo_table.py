"""The page docs/zoo.md from the scores in models/zoo.json."""

import collections

HEAD = """# The zoo

Models of many architectures, with random weights from fixed seeds, as their exporters write them ([models/zoo.py](../models/zoo.py)): small, with the graphs of the
full ones. `tools/test.sh --long=zoo` builds and scores them, and fails if one is worse than in `models/zoo.json`. To add one, write a row in a table of
`models/architectures` and run `tools/long/score_zoo.py --folder build/zoo --update build/bin`, which writes that file and this page. Some of them, small, are in
`models/small` without their weights, for every test run (`tests/e2e/zoo_test.py`).

- **agrees** compares each output on the CPU device with onnxruntime's: the share of the tolerance of `strict` (1e-4 of the element + 1e-5 of the largest) that the
  worst element uses; 2e-2 of the largest with a DynamicQuantizeLSTM or QuantizeLinear, where a sum between two numbers of 8 bits goes either way.
- **on the GPU**: the share of the rewritten graph's nodes that do not run on the host, with the model partitioned for an H200, strict, over all Programs of the
  Run. The outputs of that Run must agree too.
- **launches** and **partitions** are those of `onnx-cudnn-opt --explain --target h200` (tf32), over all Programs of a Run, each as often as it runs; empty where the
  program did not explain the model when it was scored (`not_explained` in `models/zoo.json`).
- **Programs**: how many one Run goes through; with it the tensors that are read because their elements decide shapes.
- Dims that are symbolic are run with other sizes than exported.
"""
COLUMNS = "| architecture | exporter | shapes | nodes | rewritten | partitions | launches | Programs | on the GPU | agrees: of the tolerance, or why not |"


def cell(row, key):
    return "" if row.get(key) is None else f"{row[key]:,}" if isinstance(row[key], int) else str(row[key])


def line(name, row):
    if row.get("reason"):
        state = row["reason"].replace("|", "/").replace("\n", " ")
    else:
        state = f"{row['of_tolerance']:.3f}"
    gpu = f"{100 * row['share_on_gpu']:.1f} %" if "share_on_gpu" in row else ""
    programs = f"{row['segments']}, {row['size_reads']} reads" if row.get("segments", 1) > 1 or row.get("size_reads") else cell(row, "segments")
    shapes = " ".join(row["symbols"]) or "static"
    return (f"| `{name.split('.')[0]}` | {row['exporter']} | {shapes} | {cell(row, 'nodes')} | {cell(row, 'rewritten_nodes')} | {cell(row, 'partitions')} | "
            f"{cell(row, 'launches')} | {programs} | {gpu} | {state} |")


def summary(scores):
    good = [row for row in scores.values() if row.get("agrees") and row.get("agrees_as_partitioned")]
    exporters = collections.Counter(row["exporter"] for row in scores.values())
    shares = [row["share_on_gpu"] for row in good]
    text = f"{len(scores)} models of {len({name.split('.')[0] for name in scores})} architectures; {len(good)} run and agree, also as partitioned for an H200. "
    text += "Exporters: " + ", ".join(f"{exporter} {count}" for exporter, count in sorted(exporters.items(), key=lambda pair: -pair[1])) + ". "
    if shares:
        text += f"{sum(share == 1 for share in shares)} run wholly on the GPU; the mean share is {100 * sum(shares) / len(shares):.1f} %."
    return text


def page(scores):
    parts = [HEAD, summary(scores), ""]
    packages = dict.fromkeys(row["package"] for _, row in sorted(scores.items(), key=lambda pair: pair[1]["package"]))
    for package in packages:
        parts += [f"## {package}", "", COLUMNS, "|---|---|---|---:|---:|---:|---:|---|---:|---|"]
        parts += [line(name, row) for name, row in sorted(scores.items()) if row["package"] == package]
        parts.append("")
    return "\n".join(parts)
