"""What a model of the zoo gets for a score, when it counts as worse, and the page of the scores; models/small.py."""

import json
import pathlib
import stat
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import onnx
import onnx.parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools/long"), str(ROOT / "models")]

import model_score  # noqa: E402
import small  # noqa: E402
from model_score import drops, explanation, score, share_of_tolerance, tolerance_of  # noqa: E402
from zoo_table import page  # noqa: E402

GOOD = {"package": "p", "exporter": "e", "symbols": ["N"], "nodes": 9, "runs": True, "agrees": True, "agrees_as_partitioned": True, "of_tolerance": 0.01,
        "segments": 1, "size_reads": 0, "nodes_between": 0, "launches": 100, "partitions": 120, "rewritten_nodes": 8, "share_on_gpu": 0.9}  # fmt: skip


class ShareOfToleranceTest(unittest.TestCase):
    def test_the_worst_element_counts(self):
        expected = np.float32([1, 100])  # allowed: 1e-4 of each + 1e-5 · 100
        self.assertAlmostEqual(share_of_tolerance(np.float32([1, 100 + 0.0055]), expected), 0.5, delta=0.01)
        self.assertAlmostEqual(share_of_tolerance(np.float32([1 + 0.0022, 100]), expected), 2, delta=0.01)

    def test_another_type_or_shape_is_wrong(self):
        self.assertEqual(share_of_tolerance(np.float32([1]), np.float64([1])), np.inf)
        self.assertEqual(share_of_tolerance(np.float32([1]), np.float32([[1]])), np.inf)

    def test_integers_are_exact(self):
        self.assertEqual(share_of_tolerance(np.int64([1, 2]), np.int64([1, 2])), 0)
        self.assertEqual(share_of_tolerance(np.int64([1, 3]), np.int64([1, 2])), np.inf)

    def test_infinities_and_nan_must_be_the_same(self):
        expected = np.float32([np.inf, np.nan, 1])
        self.assertEqual(share_of_tolerance(expected.copy(), expected), 0)
        self.assertEqual(share_of_tolerance(np.float32([np.inf, 0, 1]), expected), np.inf)
        self.assertEqual(share_of_tolerance(np.float32([5, np.nan, 1]), expected), np.inf)

    def test_zeros_allow_no_difference(self):
        self.assertEqual(share_of_tolerance(np.float32([0, 0]), np.float32([0, 0])), 0)
        self.assertGreater(share_of_tolerance(np.float32([0, 1e-6]), np.float32([0, 0])), 1)

    def test_an_op_that_rounds_to_8_bits_has_a_tolerance_of_its_own(self):
        shares = {}
        for op in ("Neg", "DynamicQuantizeLSTM", "QuantizeLinear"):
            with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
                onnx.save(onnx.helper.make_model(onnx.helper.make_graph([onnx.helper.make_node(op, ["x"], ["y"])], "g", [], [])), file.name)
                shares[op] = share_of_tolerance(np.float32([0.5, 1.01]), np.float32([0.5, 1]), tolerance_of(file.name))
        self.assertGreater(shares["Neg"], 1)
        self.assertAlmostEqual(shares["DynamicQuantizeLSTM"], 0.5, delta=0.01)
        self.assertAlmostEqual(shares["QuantizeLinear"], 0.5, delta=0.01)


class DropsTest(unittest.TestCase):
    def test_equal_and_better_scores_are_none(self):
        self.assertEqual(drops(GOOD, GOOD), "")
        self.assertEqual(drops({**GOOD, "launches": 50, "share_on_gpu": 1.0}, GOOD), "")
        self.assertEqual(drops(GOOD, {**GOOD, "runs": False, "agrees": False, "launches": 1000}), "")

    def test_what_no_longer_runs_or_agrees_is_named_with_its_reason(self):
        self.assertEqual(drops({"runs": False, "reason": "exit code 3"}, GOOD), "runs no longer: exit code 3")
        self.assertEqual(drops({**GOOD, "agrees_as_partitioned": False, "reason": "wrong"}, GOOD), "agrees_as_partitioned no longer: wrong")

    def test_more_launches_reads_or_programs(self):
        self.assertEqual(drops({**GOOD, "launches": 102}, GOOD), "")
        self.assertEqual(drops({**GOOD, "launches": 103}, GOOD), "launches 100 > 103")
        self.assertEqual(drops({**GOOD, "segments": 2, "size_reads": 1}, GOOD), "segments 1 > 2, size_reads 0 > 1")

    def test_a_count_is_read_for_a_node_that_no_longer_runs_between_programs(self):
        between = {**GOOD, "size_reads": 90, "nodes_between": 12}
        self.assertEqual(drops({**GOOD, "size_reads": 102, "nodes_between": 0}, between), "")
        self.assertEqual(drops({**GOOD, "size_reads": 104, "nodes_between": 0}, between), "size_reads 90 > 104")
        self.assertEqual(drops({**GOOD, "size_reads": 102, "nodes_between": 12}, between), "size_reads 90 > 102")
        self.assertEqual(drops({**GOOD, "size_reads": 0, "nodes_between": 13}, between), "nodes_between 12 > 13")

    def test_less_on_the_gpu(self):
        self.assertEqual(drops({**GOOD, "share_on_gpu": 0.896}, GOOD), "")
        self.assertEqual(drops({**GOOD, "share_on_gpu": 0.8}, GOOD), "share on the GPU 0.9 > 0.8")

    def test_a_model_that_was_explained_must_stay_so(self):
        found = {**GOOD, "not_explained": "exit code 3"}
        del found["launches"]
        self.assertEqual(drops(found, GOOD), "explained no longer: exit code 3")

    def test_a_new_model_needs_an_expected_score(self):
        self.assertIn("no expected score", drops(GOOD, None))


class ProgramsTest(unittest.TestCase):
    """With stand-ins for the programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'), self.folder / "m.onnx")
        np.savez(self.folder / "m.npz", x=np.float32([1, 2]))

    def program(self, name, script):
        program = self.folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def score(self):
        return score(self.folder, self.folder / "m.onnx", self.folder / "m.npz")


class ScoreTest(ProgramsTest):
    def test_a_program_that_fails_is_the_reason(self):
        self.program("onnx-cudnn-run", "echo 'onnx-cudnn-run: '$1': y: the op is not implemented' >&2\nexit 3")
        self.assertEqual(self.score(), {"runs": False, "agrees": False, "agrees_as_partitioned": False, "reason": "exit code 3: y: the op is not implemented"})

    def test_what_onnxruntime_refuses_is_the_reason(self):
        onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = NoOp(x) }'), self.folder / "m.onnx")
        self.assertRegex(self.score()["reason"], "^onnxruntime: .*NoOp")

    def test_an_error_of_the_scorer_is_none_of_onnxruntime(self):
        self.program("onnx-cudnn-run", "exit 0")
        with mock.patch.object(model_score, "run", side_effect=KeyError("partitions")), self.assertRaises(KeyError):
            self.score()


class ExplanationTest(ProgramsTest):
    def explained(self, why):
        """What is said if onnx-cudnn-opt writes `why`, and how the program was called."""
        (self.folder / "why.json").write_text(json.dumps(why))
        # The argument behind --json is the file to write; that of --input is NAME=FILE.
        self.program("onnx-cudnn-opt", f"""echo "$@" > '{self.folder}/called'
            while [ "$1" != --json ]; do shift; done; cp '{self.folder}/why.json' "$2" """)
        return explanation(self.folder, self.folder / "m.onnx", {"x": np.float32([1, 2])}), (self.folder / "called").read_text()

    def program_of(self, partitions, launches, us):
        return {"partitions": [{}] * partitions, "totals": {"launches": launches, "us": us}}

    def test_of_one_program(self):
        found, called = self.explained(self.program_of(3, 2, 1.26))
        self.assertEqual(found, {"partitions": 3, "launches": 2, "predicted_us": 1.3})
        self.assertRegex(called, r"m.onnx --explain --target h200 .* --input x=/\S+\.npy\n")

    def test_segments_count_as_often_as_they_run(self):
        parts = [{"runs": 1, "program": self.program_of(3, 2, 1.5)}, {"runs": 5, "program": self.program_of(2, 1, 0.5)}, {"runs": 1, "program": None}]
        found, _ = self.explained({"segments": parts})
        self.assertEqual(found, {"partitions": 13, "launches": 7, "predicted_us": 4.0})

    def test_a_program_that_fails_did_not_explain(self):
        self.program("onnx-cudnn-opt", "echo 'no' >&2\nexit 3")
        self.assertEqual(explanation(self.folder, self.folder / "m.onnx", {}), {"not_explained": "exit code 3: no"})


class PageTest(unittest.TestCase):
    def test_the_page_is_what_the_scores_say(self):
        scores = json.loads((ROOT / "models/zoo.json").read_text())
        self.assertEqual((ROOT / "docs/zoo.md").read_text(), page(scores), "tools/long/score_zoo.py --update")

    def test_a_row_has_its_counts_or_the_reason(self):
        text = page({"net.dynamo": GOOD, "other.script": {"package": "p", "exporter": "f", "symbols": [], "runs": False, "reason": "exit code 3: no | op"}})
        self.assertIn("| `net` | e | N | 9 | 8 | 120 | 100 | 1 | 90.0 % | 0.010 |", text)
        self.assertIn("| `other` | f | static |  |  |  |  |  |  | exit code 3: no / op |", text)
        self.assertIn("2 models of 2 architectures; 1 run and agree", text)

    def test_the_zoo_is_large_and_of_many_exporters(self):
        scores = json.loads((ROOT / "models/zoo.json").read_text())
        self.assertGreaterEqual(len({name.split(".")[0] for name, row in scores.items() if row["agrees_as_partitioned"]}), 80)
        exporters, both_of_torch = {row["exporter"] for row in scores.values()}, {"torch TorchScript", "torch dynamo"}
        self.assertLessEqual(both_of_torch, exporters)
        self.assertGreaterEqual(len(exporters - both_of_torch), 2)
        self.assertLessEqual({"torchvision", "timm", "transformers"}, {row["package"] for row in scores.values()})
        self.assertGreaterEqual(len({bool(row["symbols"]) for row in scores.values()}), 2)


class SmallTest(unittest.TestCase):
    def test_large_tensors_lie_outside_and_others_stay(self):
        model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g (float[2,3,8,8] x) => (float[2,40,6,6] y)
            <float[40,3,3,3] w = {1}, float[40] b = {2}> { y = Conv(x, w, b) }""".replace("= {1}", "").replace("= {2}", ""))
        model.graph.initializer.extend([onnx.numpy_helper.from_array(np.ones((40, 3, 3, 3), np.float32), "w"),
                                        onnx.numpy_helper.from_array(np.ones(40, np.float32), "b")])
        small.without_weights(model)
        outside, inside = model.graph.initializer[-2:]
        facts = {one.key: one.value for one in outside.external_data}
        self.assertEqual(facts, {"location": "normal-5.bin", "offset": "0", "length": str(4 * 40 * 27)})  # 27 products: 2^(5/2) is about their root
        self.assertFalse(inside.external_data)

    def test_filled_models_are_whole_and_equal(self):
        names = [file.stem for file in small.SMALL.glob("*.onnx")]
        self.assertGreaterEqual(len(names), 10)
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            paths = [small.fill(names[0], pathlib.Path(folder))[0] for folder in (first, second)]
            models = [onnx.load(path) for path in paths]
            onnx.checker.check_model(models[0])
        self.assertEqual(models[0], models[1])

    def test_each_is_of_a_few_hundred_kilobytes(self):
        large = [file.name for file in small.SMALL.iterdir() if file.stat().st_size > 400_000]
        self.assertEqual(large, [])


if __name__ == "__main__":
    unittest.main()
