"""The pictures in documents are the output of tools/bench/plots.py for the committed records; steps.py reads plan caches."""

import json
import pathlib
import sys
import tempfile
import unittest
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench"))

import plots  # noqa: E402
import steps  # noqa: E402
import table  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def record(**fields):
    return {"who": "onnx-cudnn", "model": "resnet50", "precision": "fp16", "batch": 1, "median_ms": 0.3, "device": "h200", "driver": "580",
            "date": "2026-11-22T00:00:00Z", "run": "a", **fields}


def content(*plan_steps, **fields):
    return {"run": "a", "device": "h200", "date": "2026-11-22",
            "plans": [{"model": "resnet50", "precision": "fp16", "batch": 1, "steps": list(plan_steps)}], **fields}


def step(**fields):
    return {"node": "conv1", "ops": ["Conv"], "engine": "kernel", "times": 1, "us": 4.0, "floor_us": 2.0, "measured": True, **fields}


def texts(svg):
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def partition(flops, **fields):
    return {"nodes": ["cast", "conv1", "relu1"], "ops": ["Cast", "Conv", "Relu"], "engine": "gemm", "us": 9.0, "floor_us": 2.0, "flops": flops,
            "launches": True, "inputs": [{"value": "x", "type": "f32[1,64,56,56]", "format": "NHWC"}],
            "outputs": [{"value": "y", "type": "f16[1,64,56,56]", "format": "NHWC"}], **fields}


def entry(us, kernel=3, engine="kernel"):
    signature = (f"kernel cuda on h200 sm90 46\n:Cast.28(%0#f32[1,64,56,56],) to=i10->%1#f16[1,64,56,56],\n"
                 f":Conv.28(%1,%2!f16[64,64,{kernel},{kernel}],%3!f16[64],) kernel_shape=[i3,i3,]->%4#f16[1,64,56,56],\n"
                 ":Relu.28(%4,)->%5#f16[1,64,56,56],\nin %0@device(2:56 3:56 1:64) out %5@device(2:56 3:56 1:64) ")
    return {"device": "h200", "signature": signature, "engine": engine, "us": us, "date": "2026-11-22"}


FLOPS_1X1, FLOPS_3X3 = (2 * 56 * 56 * 64 * 64 * taps for taps in (1, 9))


class PlotsTest(unittest.TestCase):
    def test_the_pictures_are_what_the_records_say(self):
        self.assertEqual(plots.stale(table.RESULTS), [], "run tools/bench/plots.py")
        for name, svg in plots.plots(table.RESULTS).items():
            self.assertLess(len(svg.encode()), 40_000, name)
            ElementTree.fromstring(svg)

    def test_a_panel_a_model_and_a_line_a_program(self):
        lines = plots.lines_of([record(), record(batch=8, median_ms=0.5), record(tuned_signatures=1, median_ms=0.2), record(cached_signatures=1),
                                record(who="torch-graph", median_ms=0.6), record(precision="tf32")])
        self.assertEqual(lines, {("resnet50", "fp16"): {"onnx-cudnn": {1: 0.3, 8: 0.5}, "onnx-cudnn, tuned": {1: 0.2}, "torch-graph": {1: 0.6}}})

    def test_an_older_run_is_not_drawn_and_a_reading_is_dashed(self):
        peer = record(who="torch-graph", median_ms=0.6)
        svg = plots.latency_plot([record(), peer, record(who="torch-compile", run="old"), record(who="onnxruntime-cuda", run="reading")])
        self.assertIn("onnxruntime-cuda (another run)", texts(svg))
        self.assertNotIn("torch-compile", texts(svg))
        self.assertEqual(svg.count("stroke-dasharray=\"5 4\""), 2)  # in the legend and the panel
        self.assertNotIn("stroke-dasharray=\"5 4\"", plots.latency_plot([record(), peer]))
        self.assertEqual(table.newest_run([record(), record(who="onnxruntime-cuda", run="reading")]), [record()])

    def test_axes_are_logarithmic(self):
        x = plots.LogAxis(1, 100, 10, 30)
        self.assertEqual([x(1), x(10), x(100)], [10, 20, 30])
        self.assertEqual(plots.round_numbers(0.3, 4), [0.2, 0.5, 1, 2, 5])
        self.assertEqual(plots.round_numbers(1, 1), [1])
        plots.latency_plot([record(), record(who="torch")])  # one batch, two equal times

    def test_without_records_nothing_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(plots.plots(folder), {})
            pathlib.Path(folder, "networks-a.json").write_text(json.dumps([record()]))  # none to compare with
            self.assertEqual(plots.plots(folder), {})

    def test_says_which_picture_is_stale(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "steps-a.json").write_text(json.dumps(content(step())))
            self.assertEqual(plots.stale(folder), ["steps.svg"])
            pathlib.Path(folder, "steps.svg").write_text(plots.plots(folder)["steps.svg"], encoding="utf-8")
            self.assertEqual(plots.stale(folder), [])
            pathlib.Path(folder, "steps-b.json").write_text(json.dumps(content(step(us=5.0), date="2026-11-23")))
            self.assertEqual(plots.stale(folder), ["steps.svg"])

    def test_steps_say_their_time_floor_and_engine(self):
        svg = plots.steps_plot(content(step(), step(node="a<b", times=3, us=40.0, measured=False)))
        self.assertIn("resnet50, fp16, batch 1: 124 µs, floors 8", texts(svg))
        self.assertIn("4.0 / 2.0  kernel", texts(svg))
        self.assertIn("a<b ×3", texts(svg))
        self.assertEqual((svg.count('class="time"'), svg.count('class="predicted"'), svg.count('class="floor"')), (2, 2, 3))  # and the legend's


class StepsTest(unittest.TestCase):
    def test_a_step_takes_the_fastest_that_was_measured_of_any_engine(self):
        [found] = steps.measured_steps([partition(FLOPS_3X3)], [entry(4.0), entry(3.0, engine="cudnn"), entry(1.0, kernel=1)])
        self.assertEqual(found, {"node": "conv1", "ops": ["Cast", "Conv", "Relu"], "engine": "cudnn", "times": 1, "us": 3.0, "floor_us": 2.0,
                                 "measured": True})

    def test_weights_tell_equal_types_apart(self):
        [found] = steps.measured_steps([partition(FLOPS_1X1)], [entry(4.0), entry(5.0, kernel=1)])
        self.assertEqual(found["us"], 5.0)

    def test_another_format_is_not_the_same_step(self):
        other = partition(FLOPS_3X3, inputs=[{"value": "x", "type": "f32[1,64,56,56]", "format": "NCHW"}])
        [found] = steps.measured_steps([other], [entry(4.0)])
        self.assertEqual((found["measured"], found["us"], found["engine"]), (False, 9.0, "gemm"))

    def test_equal_steps_stand_once_and_views_not_at_all(self):
        found = steps.measured_steps([partition(FLOPS_3X3), partition(0, launches=False), partition(FLOPS_3X3, nodes=["c", "conv2", "r"])],
                                     [entry(4.0)])
        self.assertEqual([(s["node"], s["times"]) for s in found], [("conv1", 2)])


if __name__ == "__main__":
    unittest.main()
