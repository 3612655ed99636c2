"""The table of transformers is the output of tools/bench/transformer_table.py for the committed records."""

import json
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench"))

import table  # noqa: E402
import transformer_table  # noqa: E402


def ours(**fields):
    return {"who": "onnx-cudnn", "model": "vit_b_16", "precision": "fp16", "batch": 8, "median_ms": 0.5, "images_per_s": 10000.0, "setup_s": 7.06, "tuned_signatures": 5,
            "device": "h200", "date": "2026-01-02T00:00:00Z", **fields}  # fmt: skip


def peer(**fields):
    return {**ours(who="torch-reduce-overhead", median_ms=1.0, images_per_s=9000.0, setup_s=20.0, device="NVIDIA H200"), **fields}


class TransformerTableTest(unittest.TestCase):
    def lines_of(self, tuned, peers):
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            (folder / "transformers-tuned-2026-01-02-aaaaaaa.json").write_text(json.dumps(tuned))
            (folder / "transformers-peers-2026-01-02-aaaaaaa.json").write_text(json.dumps(peers))
            return transformer_table.lines(folder)[2:]

    def test_the_page_is_what_the_records_say(self):
        page = transformer_table.PAGE.read_text()
        self.assertEqual(transformer_table.with_table(page, "\n".join(transformer_table.lines(table.RESULTS))), page)

    def test_the_readme_has_the_range_of_the_ratios(self):
        cells = [[cell.strip() for cell in line.split("|")] for line in transformer_table.lines(table.RESULTS)[2:]]
        medians, sustained = sorted(float(row[7]) for row in cells), sorted(float(row[10]) for row in cells)
        said = f"{medians[0]:.2f} to {medians[-1]:.2f} times as fast as torch.compile alone and {sustained[0]:.2f} to {sustained[-1]:.2f} times back to back"
        self.assertIn(said, re.sub(r"\s+", " ", (ROOT / "README.md").read_text()))

    def test_ratios_are_of_medians_and_of_runs_back_to_back(self):
        self.assertEqual(self.lines_of([ours()], [peer()]), ["| ViT-B/16 | 8 | 0.500 | 7.1 | 1.000 | 20.0 | 2.00 | 0.800 | 0.889 | 1.11 |"])

    def test_a_cell_has_its_newest_records_of_both(self):
        old = {"date": "2026-01-01T00:00:00Z"}
        tuned = [ours(), ours(**old, median_ms=9), ours(batch=32), ours(tuned_signatures=0, cached_signatures=5, date="2026-01-03T00:00:00Z")]
        peers = [peer(**old, median_ms=9), peer(), peer(batch=1), peer(device="NVIDIA H100", date="2026-01-03T00:00:00Z"), peer(who="torch-compile", batch=32)]
        self.assertEqual(self.lines_of(tuned, peers), self.lines_of([ours()], [peer()]))

    def test_only_what_stands_between_the_markers_changes(self):
        page = f"a\n{transformer_table.BEGIN}\nold\n{transformer_table.END}\nb\n"
        self.assertEqual(transformer_table.with_table(page, "new"), page.replace("old", "new"))


if __name__ == "__main__":
    unittest.main()
