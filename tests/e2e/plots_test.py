"""The pictures in documents are the output of tools/bench/plots.py for the committed records; steps.py reads profiles."""

import json
import pathlib
import subprocess
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


def profiled(**fields):
    return {"index": 0, "stream": 0, "engine": "kernel", "variant": "tile 1", "nodes": ["cast", "conv1", "relu1"], "ops": ["Cast", "Conv", "Relu"],
            "us": 4.0, "share": 0.5, "floor_us": 2.0, "flops": 8, "bytes": 16, **fields}


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
    def test_steps_are_those_of_the_profile(self):
        report = {"model": "models/resnet50.onnx", "precision": "fp16", "inputs": [{"name": "x", "type": "float[8,3,224,224]"}],
                  "profile": {"run_us": 9.5, "steps": [profiled()]}}
        self.assertEqual(steps.plan_of(report), {"model": "resnet50", "precision": "fp16", "batch": 8, "run_us": 9.5, "steps": [
            {"node": "conv1", "ops": ["Cast", "Conv", "Relu"], "engine": "kernel", "times": 1, "us": 4.0, "floor_us": 2.0, "measured": True}]})

    def test_equal_steps_stand_once_with_their_mean(self):
        found = steps.steps_of({"steps": [profiled(), profiled(variant="tile 2", us=9.0), profiled(nodes=["c", "conv2", "r"], us=5.0)]})
        self.assertEqual([(s["node"], s["times"], s["us"]) for s in found], [("conv1", 2, 4.5), ("conv1", 1, 9.0)])

    def test_the_file_says_how_steps_were_timed(self):
        with tempfile.TemporaryDirectory() as folder:
            profile, output = pathlib.Path(folder, "profile.json"), pathlib.Path(folder, "steps.json")
            profile.write_text(json.dumps({"model": "a.onnx", "precision": "fp16", "inputs": [{"type": "float[1,3]"}],
                                           "profile": {"run_us": 1.0, "steps": [profiled()]}}))
            subprocess.run([sys.executable, steps.__file__, profile, "--run", "2026-12-01-abc", "--output", output], check=True, stdout=subprocess.DEVNULL)
            content = json.loads(output.read_text())
        self.assertEqual((content["run"], content["date"], content["timed"]), ("2026-12-01-abc", "2026-12-01", steps.TIMED))
        drawn = texts(plots.steps_plot(content))
        self.assertIn(steps.TIMED, drawn)
        self.assertNotIn("predicted, not measured", drawn)


if __name__ == "__main__":
    unittest.main()
