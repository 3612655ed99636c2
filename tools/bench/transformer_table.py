"""transformer_table.py [--check]: writes the table of transformers into docs/performance.md, between two markers, from tools/bench/results/transformers-*.json.

Ours is tuned, the peer torch.compile by reduce-overhead; of each model and batch the newest record of each counts. --check writes nothing and exits with 1 if
the page differs from the records.
"""

import json
import pathlib

import table

PAGE = table.ROOT / "docs/performance.md"
BEGIN, END = "<!-- transformers: begin (tools/bench/transformer_table.py) -->", "<!-- transformers: end -->"
PEER = "torch-reduce-overhead"
NAMES = {"bert_base": "BERT-base", "vit_b_16": "ViT-B/16", "swin_t": "Swin-T", "convnext_tiny": "ConvNeXt-T", "whisper_small_encoder": "Whisper-small, encoder"}
HEADS = ["model", "batch", "onnx-cudnn, tuned", "set-up s", "torch.compile", "set-up s", "ratio of medians", "back to back: ours", "torch.compile", "ratio"]


def newest_cells(folder, pattern, program):
    """{(model, batch): the newest record of `program` in fp16 on table.GPU} of the files that `pattern` matches."""
    cells = {}
    records = [record for file in pathlib.Path(folder).glob(pattern) for record in json.loads(file.read_text())]
    for record in sorted(records, key=lambda record: record["date"]):
        if table.program(record) == program and table.gpu_of(record) == table.GPU and record["precision"] == "fp16":
            cells[record["model"], record["batch"]] = record
    return cells


def lines(folder):
    """Lines of Markdown: a row a model and batch that both were measured at. Ratios are of the figures before they are rounded."""
    ours = newest_cells(folder, "transformers-tuned-*.json", table.OURS + ", tuned")
    peers = newest_cells(folder, "transformers-peers-*.json", PEER)
    rows = []
    for model, name in NAMES.items():
        for batch in sorted(batch for other, batch in ours.keys() & peers.keys() if other == model):
            both = ours[model, batch], peers[model, batch]
            alone, sustained = [record["median_ms"] for record in both], [table.sustained_ms(record) for record in both]
            medians = [text for record in both for text in (table.milliseconds(record), f"{record['setup_s']:.1f}")]
            rows.append([name, str(batch), *medians, f"{alone[1] / alone[0]:.2f}", *(f"{ms:.3f}" for ms in sustained), f"{sustained[1] / sustained[0]:.2f}"])
    return table.table_lines(HEADS, rows)


def with_table(page, text):
    """The page with this text between the markers."""
    return table.between(page, BEGIN, END, text)


def main():
    made = "\n".join(lines(table.RESULTS))
    table.write_pages([PAGE], lambda _, page: with_table(page, made), __doc__, "its table of transformers differs from the records: run tools/bench/transformer_table.py")


if __name__ == "__main__":
    main()
