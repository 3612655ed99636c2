"""The tables of models whose shapes vary are the output of tools/bench/shape_tables.py for the committed records."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench"))

import shape_tables  # noqa: E402
import table  # noqa: E402


class ShapeTablesTest(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def write(self, name, content):
        (self.folder / name).write_text(json.dumps(content))

    def test_the_page_is_what_the_records_say(self):
        page = shape_tables.PAGE.read_text()
        scores = json.loads((ROOT / "models/zoo.json").read_text())
        self.assertEqual(shape_tables.with_section(page, shape_tables.section(table.RESULTS, scores)), page)

    def test_a_detector_has_its_newest_record_and_the_share_of_its_run(self):
        def record(reads_ms):
            outputs = [{"tolerance": "f32", "largest_difference": 0.5, "largest_expected": 100}, {"tolerance": "exact", "largest_difference": 0, "largest_expected": 0}]
            return {"segments": {"programs": 3, "size_reads": 5, "size_reads_ms": reads_ms, "run_ms": 4.0}, "timing": {"median_ms": 4.1}, "verify": {"ok": True, "outputs": outputs}}

        self.write("one-strict-2026-01-02-aaaaaaa.json", record(0.01))
        self.write("one-strict-2026-01-01-bbbbbbb.json", record(1.0))
        self.write("whole-strict-2026-01-02-aaaaaaa.json", {"model": "runs as one Program"})
        self.write("undated-strict-.json", record(1.0))
        newest = shape_tables.link(self.folder / "one-strict-2026-01-02-aaaaaaa.json", "one")
        self.assertEqual(shape_tables.detector_lines(self.folder)[4:], [f"| {newest} | 3 | 5 | 4.10 | 10.0 | 0.25 % | 5.0e-03 |"])

    def test_a_new_shape_has_a_column_for_each_mode_that_was_measured(self):
        for mode, beyond in (("best-tf32", (3000.25, 2000)), ("quick-fp16", (50, 50.1))):
            shapes = [{"inputs": f"x[1,{i}]", "beyond_ms": ms} for i, ms in enumerate(beyond)]
            self.write(f"shapes-{mode}-2026-01-01-aaaaaaa.json", {"new_shapes": shapes})
        lines = shape_tables.new_shape_lines(self.folder)
        self.assertRegex(lines[2], r"^\| new shape \| \[best, tf32\]\(\S+/shapes-best-tf32-\S+\) \| \[quick, fp16\]\(\S+\) \|$")
        self.assertEqual(lines[4:], ["| `x[1,0]` | 3,000.2 | 50.0 |", "| `x[1,1]` | 2,000.0 | 50.1 |", "| median | 2,500.1 | 50.0 |",
                                     "| within 50 ms | 0 of 2 | 1 of 2 |"])  # fmt: skip

    def test_a_decoder_has_its_programs_and_its_error(self):
        row = {"model": "llama", "buckets": [], "runs": 201, "padded_runs": 0, "programs_built": 201, "programs_held": 8, "largest_error": 6.2e-06}
        self.write("decoders-2026-01-01-aaaaaaa.json", {"decoders": [row, {**row, "buckets": ["all"], "programs_built": 10}]})
        lines = shape_tables.decoder_lines(self.folder)
        self.assertIn("at aaaaaaa", lines[0])
        self.assertIn("on the CPU device", lines[0])
        self.assertEqual(lines[4:], ["| llama | none | 201 | 201 | 8 | 6.2e-06 |", "| llama | all | 201 | 10 | 8 | 6.2e-06 |"])
        self.write("decoders-cuda-2026-01-01-bbbbbbb.json", {"device": "NVIDIA H200", "reference": "the CPU device", "decoders": [row]})
        both = shape_tables.decoder_lines(self.folder)
        heads = [line for line in both if line.startswith("Decoders")]
        self.assertEqual(both[: len(lines) + 1], [*lines, ""])
        self.assertEqual(len(heads), 2)
        self.assertIn("on one NVIDIA H200 at bbbbbbb", heads[1])
        self.assertIn("against the CPU device's", heads[1])

    def test_vectors_are_those_of_the_newest_record_that_has_some(self):
        suite = {"suite": "vectors", "passed": 1800, "failed": ["one"], "skipped": 9, "device": "a GPU", "nodes": 12000, "host_nodes": 500}
        self.write("tests-2026-01-01-aaaaaaa.json", [{**suite, "date": "2026-01-01"}])
        self.write("tests-2026-01-02-bbbbbbb.json", [{**suite, "date": "2026-01-02", "passed": 0}, {"suite": "c-api"}])
        self.write("vectors-2026-01-01-aaaaaaa.json", {"wheels": {"1.2": {"vectors": 5, "passed": 4, "refused": 0, "wrong": 1}, "1.3": {"vectors": 6, "passed": 6, "refused": 0, "wrong": 0}},
                                                        "present": {"1.4": {"vectors": 1900, "passed": 1899, "refused": 1, "wrong": 0}}})  # fmt: skip
        rows = shape_tables.vector_rows(self.folder)
        self.assertEqual([row[1] for row in rows], ["1,800 of 1,810", "1,899 of 1,900", "10 of 11"])
        self.assertIn("on one a GPU", rows[0][0])
        self.assertIn("of the wheel 1.4, CPU device", rows[1][0])
        self.assertIn("1.2, 1.3", rows[2][0])

    def test_the_zoo_counts_models_architectures_and_exporters(self):
        good = {"agrees": True, "agrees_as_partitioned": True, "exporter": "torch dynamo", "segments": 1}
        scores = {"a.dynamo": good, "a.script": {**good, "exporter": "torch TorchScript", "segments": 2}, "b.dynamo": {**good, "agrees_as_partitioned": False}}
        self.assertEqual(shape_tables.zoo_row(scores)[1:], ["2 of 3", "2 architectures by 2 exporters; 1 models run as several Programs"])

    def test_only_what_stands_between_the_markers_changes(self):
        page = f"a\n{shape_tables.BEGIN}\nold\n{shape_tables.END}\nb\n"
        self.assertEqual(shape_tables.with_section(page, "new"), f"a\n{shape_tables.BEGIN}\nnew\n{shape_tables.END}\nb\n")


if __name__ == "__main__":
    unittest.main()
