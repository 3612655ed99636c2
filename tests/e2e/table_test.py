"""The tables of measured figures in documents are the output of tools/bench/table.py for the committed records."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench"))

import table  # noqa: E402


def record(**fields):
    return {"who": "onnx-cudnn", "model": "resnet50", "precision": "fp16", "batch": 1, "median_ms": 0.3, "p99_ms": 0.31, "images_per_s": 3400.0,
            "setup_s": 1.0, "context_s": 0.2, "peak_bytes": 1, "device": "h200", "driver": "580", "cuda": "13.0", "cudnn": "9.19",
            "commit": "abc", "date": "2026-11-22T00:00:00Z", "run": "a", **fields}


class TableTest(unittest.TestCase):
    def test_pages_are_what_the_records_say(self):
        records = table.read_records(table.RESULTS)
        for page, make_table in table.PAGES.items():
            text = page.read_text()
            self.assertIn(table.BEGIN, text)
            self.assertEqual(table.with_table(text, records, make_table), text, page)

    def test_the_short_table_has_a_row_a_batch_and_a_column_a_program(self):
        records = [record(), record(tuned_signatures=5, median_ms=0.2), record(tuned_signatures=5, median_ms=0.9, batch=8),
                   record(tuned_signatures=5, median_ms=6.0, batch=256), record(tuned_signatures=5, median_ms=0.4, precision="tf32"),
                   record(who="torch", median_ms=0.7), record(who="torch-graph", median_ms=0.6),
                   record(who="torch-graph", median_ms=0.6, model="alexnet")]
        self.assertEqual(table.short_table(records)[2:], [
            "| model, fp16 | batch | onnx-cudnn, tuned | torch-graph |",
            "|---|---|---|---|",
            "| resnet50 | 1 | 0.200 | 0.600 |",
            "| resnet50 | 256 | 6.000 |  |"])

    def test_a_row_a_batch_and_a_program(self):
        records = [record(), record(batch=256, median_ms=6.0, images_per_s=42000.4, setup_s=1.5),
                   record(tuned_signatures=5, median_ms=0.2, setup_s=6.0, joules=0.0588), record(cached_signatures=5, median_ms=0.21, setup_s=0.45),
                   record(who="torch-graph", median_ms=0.6, device_ms=0.55, commit="torch 2"), record(run="old", date="2026-01-01T00:00:00Z", batch=8)]
        lines = table.full_table(table.newest_run(records))
        self.assertIn("One h200, driver 580, CUDA 13.0, cuDNN 9.19, 2026-11-22, commit abc", lines[0])
        self.assertEqual(lines[3:], [
            "| model | precision | batch | program | alone ms | device ms | sustained ms | images/s | J per run | set-up s | from its cache ms | cached start s |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|",
            "| resnet50 | fp16 | 1 | onnx-cudnn | 0.300 | 0.300 | 0.294 | 3,400 |  | 0.80 |  |  |",
            "| resnet50 | fp16 | 1 | onnx-cudnn, tuned | 0.200 | 0.200 | 0.294 | 3,400 | 0.059 | 5.80 | 0.210 | 0.25 |",
            "| resnet50 | fp16 | 1 | torch-graph | 0.600 | 0.550 | 0.294 | 3,400 |  | 0.80 |  |  |",
            "| resnet50 | fp16 | 256 | onnx-cudnn | 6.000 | 6.000 | 6.095 | 42,000 |  | 1.30 |  |  |"])

    def test_says_how_each_program_was_timed(self):
        how = table.timed_how([record(), record(who="onnxruntime-cuda"), record(who="torch", clock="events"), record(cached_signatures=5)])
        self.assertEqual(how, "How runs were timed: onnx-cudnn: the choices of heuristics, a CUDA graph, by events; onnxruntime-cuda: a CUDA graph, by the "
                              "host's clock; torch: eager, with the gaps of its host, by events. \"Alone\" contains what the host takes from the call on, \"device\" does not. ResNets have BatchNorm folded for everyone.")
        self.assertIn("onnxruntime-cuda: a CUDA graph, by events;", table.timed_how([record(who="onnxruntime-cuda", clock="events"), record(who="torch")]))
        self.assertIn("by the host's clock. ", table.timed_how([record(cuda_graph=False)]))

    def test_a_model_has_its_newest_run_beside_a_peer(self):
        old, new = {"run": "old", "commit": "o"}, {"run": "new", "commit": "n", "date": "2026-11-23T00:00:00Z"}
        peer = {"who": "torch"}
        chosen = [record(**old), record(**old, **peer), record(**new, model="nsfw", images_per_s=0), record(**new, **peer, model="nsfw")]
        alone = [record(**new), record(**new, model="det"), record(**old, **peer, model="det")]
        self.assertEqual(table.newest_run(chosen + alone), chosen)
        self.assertIn("2026-11-22 to 2026-11-23, commits o (resnet50), n (nsfw):", table.full_table(chosen)[0])
        self.assertIn("| nsfw | fp16 | 1 | onnx-cudnn | 0.300 | 0.300 |  |  |  | 0.80 |  |  |", table.full_table(chosen))
        self.assertEqual(table.newest_run(alone[:1]), alone[:1])
        later = [record(**new), record(**new, batch=32), record(**new, **peer, batch=32)]  # none beside our smallest batch
        self.assertEqual(table.newest_run(chosen + later), chosen)

    def test_only_what_stands_between_the_markers_changes(self):
        readme = f"a\n{table.BEGIN}\nold\n{table.END}\nb\n"
        made = table.with_table(readme, [record()], table.full_table)
        self.assertTrue(made.startswith(f"a\n{table.BEGIN}\nOne h200"))
        self.assertTrue(made.endswith(f"|\n{table.END}\nb\n"))
        self.assertEqual(table.with_table(readme, [], table.full_table), readme)
        self.assertEqual(table.with_table("no markers", [record()], table.full_table), "no markers")

    def test_reads_lists_of_records_of_gpus(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "gpu.json").write_text(json.dumps([record(), record(device="cpu", driver=""), record(threads=4), record(control=True), {key: value for key, value in record(tokens_per_s=900).items() if key != "images_per_s"}]))
            pathlib.Path(folder, "other.json").write_text(json.dumps({"who": "someone"}))
            self.assertEqual(table.read_records(folder), [record()])


if __name__ == "__main__":
    unittest.main()
