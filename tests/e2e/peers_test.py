"""tools/bench/peers.py: programs that are missing, fail, hang or succeed, and the contents of records."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench"))

import onnxruntime_peer  # noqa: E402
import peers  # noqa: E402
import timing  # noqa: E402
import torch_peer  # noqa: E402

# Its behaviour depends on the batch.
PEER = """
import os, time
def about():
    return {"device": "a GPU", "commit": f"process {os.getpid()}"}
def measure_one(configuration, seconds, model_folder):
    if configuration.batch == 2:
        raise ValueError("no batch of two" + chr(10) + "at all")
    if configuration.batch == 3:
        time.sleep(60)
    if configuration.batch == 4:
        os._exit(7)
    return {"median_ms": configuration.batch * seconds}
"""
BENCH = """#!/bin/sh
echo "$@" >&2
case "$*" in
  *"--batches 2 "*) echo "onnx-cudnn-bench: out of memory" >&2; exit 6 ;;
esac
echo '[{"who": "onnx-cudnn", "median_ms": 0.25, "run": "its own"}]'
"""


class PeersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        sys.path.insert(0, folder.name)  # inherited by spawned processes
        self.addCleanup(sys.path.remove, folder.name)
        self.addCleanup(peers.MODULES.update, dict(peers.MODULES))

    def peer(self, who, source):
        (self.folder / f"{who.replace('-', '_')}_stand_in.py").write_text(source)
        peers.MODULES[who] = f"{who.replace('-', '_')}_stand_in"

    def bench(self, script):
        (self.folder / "onnx-cudnn-bench").write_text(script)
        os.chmod(self.folder / "onnx-cudnn-bench", 0o755)

    def measure(self, who, batches, compile_seconds=60.0, threads=(1,)):
        arguments = argparse.Namespace(who=who, models=["resnet18"], precisions=["fp16"], batches=batches, threads=threads, commit="abc", bench_flags="--runs 7",
                                       bin=self.folder, seconds=0.5, model_folder=self.folder, compile_seconds=compile_seconds)
        self.saved = []
        return peers.measure_all(arguments, {"date": "2026-11-22", "run": "r"}, lambda records: self.saved.append(json.dumps(records)))

    def test_what_fails_hangs_or_ends_is_noted_and_the_rest_goes_on(self):
        self.peer("torch-compile", PEER)
        records = self.measure(["torch-compile"], [1, 2, 3, 4, 5, 6], compile_seconds=3.0)
        self.assertEqual([r.get("error", r.get("median_ms")) for r in records],
                         [0.5, "ValueError: no batch of two", "took longer than 3 s", "its process ended with exit code 7", 2.5, 3.0])
        self.assertEqual(records[1], {"who": "torch-compile", "model": "resnet18", "precision": "fp16", "batch": 2, "run": "r",
                                      "error": "ValueError: no batch of two"})
        processes = [records[i]["commit"] for i in (0, 4, 5)]
        self.assertEqual(processes[1], processes[2])
        self.assertNotEqual(processes[0], processes[1])

    def test_a_program_that_is_not_there_is_left_out(self):
        self.peer("torch", "import no_such_module\n")
        self.peer("onnxruntime-cuda", 'def about():\n    raise RuntimeError("no CUDA")\n')
        self.peer("torch-graph", PEER)
        records = self.measure(["onnx-cudnn", "torch", "onnxruntime-cuda", "torch-graph"], [1])
        self.assertEqual([r["who"] for r in records], ["torch-graph"])

    def test_records_share_a_run_and_are_saved_one_by_one(self):
        self.peer("torch", PEER)
        self.bench(BENCH)
        records = self.measure(["onnx-cudnn", "torch"], [1, 2, 8])
        self.assertEqual({(r["run"], r["model"], r["precision"]) for r in records}, {("r", "resnet18", "fp16")})
        self.assertEqual([r.get("median_ms") for r in records], [0.25, None, 0.25, 0.5, None, 4.0])
        self.assertEqual(records[1]["error"], "onnx-cudnn-bench: out of memory")
        self.assertEqual([len(json.loads(text)) for text in self.saved], [1, 2, 3, 4, 5, 6])

    def test_the_bench_is_asked_for_one_configuration_on_the_gpu(self):
        self.bench('#!/bin/sh\necho "$@" >&2\nexit 1\n')
        [record] = self.measure(["onnx-cudnn"], [8])
        self.assertEqual(record["error"], f"{self.folder}/resnet18.onnx --device cuda --precisions fp16 --batches 8 "
                                          "--shapes 8x3x224x224 --seconds 0.5 --commit abc --runs 7")

    def test_several_callers_are_configurations_of_their_own(self):
        self.bench('#!/bin/sh\necho "$@" >&2\nexit 1\n')
        self.peer("torch", PEER)
        records = self.measure(["onnx-cudnn", "torch"], [8], threads=[1, 4])
        self.assertEqual([(r["who"], r.get("threads", 1)) for r in records], [("onnx-cudnn", 1), ("onnx-cudnn", 4), ("torch", 1), ("torch", 4)])
        self.assertNotIn("--threads", records[0]["error"])
        self.assertIn("--shapes 8x3x224x224 --threads 4 --seconds", records[1]["error"])

    def test_time_on_the_device_is_a_median(self):
        times = iter([9.0] + [2.0] * timing.DEVICE_RUNS)
        self.assertEqual(timing.device_ms(lambda runs: next(times) * runs), 2.0)

    def test_callers_run_at_once(self):
        meet = threading.Barrier(3)  # opens only to three at a time
        self.assertGreater(timing.runs_per_s([lambda: meet.wait(10)] * 3, 0), 0)
        with self.assertRaisesRegex(ValueError, "no run"):
            timing.runs_per_s([lambda: None, self.fail_to_run], 0.01)

    def fail_to_run(self):
        raise ValueError("no run")

    def test_a_program_on_a_given_stream_is_timed_by_events(self):
        calls, began = [], []

        class Cuda:
            def __getattr__(self, name):
                def call(*arguments):
                    calls.append(name)
                    if name == "cuEventElapsedTime":
                        arguments[0]._obj.value = 1.5 * len(began)
                    return 700 if name == "cuEventSynchronize" and len(began) > 3 else 0

                return call

        with unittest.mock.patch("ctypes.CDLL", lambda library: Cuda()):
            elapsed_ms = timing.DriverStream().events_ms(lambda: began.append(1))
        del calls[:]
        self.assertEqual(elapsed_ms(3), 4.5)
        self.assertEqual(calls, ["cuEventRecord", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime"])
        with self.assertRaisesRegex(RuntimeError, "cuEventSynchronize: CUDA error 700"):
            elapsed_ms(1)

    def test_onnxruntime_without_a_stream_or_a_graph_is_still_measured(self):
        tried = []

        def measure_layout(model, graph, stream):
            tried.append((graph, stream))
            if graph:
                raise ValueError("no graph")
            return {"cuda_graph": graph, "clock": stream}

        with unittest.mock.patch.multiple(onnxruntime_peer, measure_layout=measure_layout, DriverStream=lambda: "events"):
            self.assertEqual(onnxruntime_peer.measure_some_layout("model"), {"cuda_graph": False, "clock": "events"})
        self.assertEqual(tried, [(True, "events"), (True, None), (False, "events")])

    def test_a_models_name_may_end_with_the_size_of_its_images(self):
        self.assertEqual(timing.dims_of("resnet50-192", 3), (3, 3, 192, 192))
        self.assertEqual(timing.network_of("resnet50-192"), ("resnet50", 192))
        self.assertEqual(timing.network_of("resnext50_32x4d"), ("resnext50_32x4d", None))
        self.assertEqual((timing.dims_of("open-nsfw", 1), timing.dims_of("resnet18", 1)), ((1, 224, 224, 3), (1, 3, 224, 224)))

    def test_without_a_gpu_we_are_left_out(self):
        self.bench("#!/bin/sh\nexit 5\n")
        self.assertEqual(self.measure(["onnx-cudnn"], [1, 8]), [])

    def control(self, expected_ms):
        arguments = argparse.Namespace(commit="abc", bin=self.folder, seconds=0.5, model_folder=self.folder)
        record = peers.measure_control(arguments, {"run": "r"})
        return record, peers.why_void(record, expected_ms)

    def test_a_run_is_void_if_its_control_cell_differs(self):
        self.bench(BENCH)  # 0.25 ms
        for expected_ms in (0, 0.25, 0.2428, 0.2577):
            self.assertIsNone(self.control(expected_ms)[1], expected_ms)
        self.assertEqual(self.control(0.24)[1], "resnet50 at batch 1 takes 0.2500 ms, not within 3% of 0.24")
        self.assertIsNotNone(self.control(0.26)[1])
        self.assertEqual(self.control(0)[0], {"who": "onnx-cudnn", "model": "resnet50", "precision": "fp16", "batch": 1, "median_ms": 0.25, "run": "r", "control": True})

    def test_a_run_without_its_control_cell_is_void(self):
        self.bench("#!/bin/sh\necho no memory >&2\nexit 6\n")
        self.assertEqual(self.control(0)[1], "the control cell was not measured: no memory")
        self.bench("#!/bin/sh\necho no GPU >&2\nexit 5\n")
        self.assertEqual(self.control(0.25)[1], "the control cell was not measured: no GPU")

    def main(self, *arguments):
        output = self.folder / "out.json"
        command = [sys.executable, peers.__file__, "--output", output, "--bin", self.folder, "--model-folder", self.folder, "--batches", "8", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done, json.loads(output.read_text())

    def test_the_control_cell_is_the_first_record_and_may_end_the_run(self):
        self.bench(BENCH)
        done, records = self.main("--who", "onnx-cudnn", "--models", "resnet18", "--control", "0.25")
        self.assertEqual((done.returncode, [(r["model"], r["batch"]) for r in records]), (0, [("resnet50", 1), ("resnet18", 8)]))
        done, records = self.main("--who", "onnx-cudnn", "--models", "resnet18", "--control", "0.2")
        self.assertEqual((done.returncode, len(records)), (1, 1))
        self.assertIn("this run is void: resnet50 at batch 1 takes 0.2500 ms", done.stderr)

    def test_a_record_says_whether_inductors_cache_was_filled(self):
        cache = self.folder / "cache"
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)
            self.assertEqual(torch_peer.inductor_cache(), {})
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
            self.assertEqual(torch_peer.inductor_cache(), {"inductor_cache": "empty"})
            cache.mkdir()
            self.assertEqual(torch_peer.inductor_cache(), {"inductor_cache": "empty"})
            (cache / "a").touch()
            self.assertEqual(torch_peer.inductor_cache(), {"inductor_cache": "filled"})

    def test_onnxruntime_gets_inputs_of_each_type(self):
        class Input:
            def __init__(self, name, dtype):
                self.name, self.type = name, f"tensor({dtype})"

        class Session:
            def get_inputs(self):
                return [Input("ids", "int64"), Input("x", "float16")]

        inputs = onnxruntime_peer.random_inputs(Session(), (2, 128))
        self.assertEqual({name: (str(x.dtype), x.shape) for name, x in inputs.items()}, {"ids": ("int64", (2, 128)), "x": ("float16", (2, 128))})
        self.assertTrue(0 <= inputs["ids"].min() and 100 < inputs["ids"].max() < 1000)

    def test_figures_are_of_runs_alone_and_of_runs_back_to_back(self):
        asked = []

        def elapsed_ms(runs):
            asked.append(runs)
            return 2.0 * runs if runs > 1 else 8.0 if len(asked) in (7, 8, 9) else 4.0

        self.addCleanup(setattr, timing, "WARM_UP_S", timing.WARM_UP_S)
        timing.WARM_UP_S = 0
        self.assertEqual(timing.measure(elapsed_ms, 8, 1.0),
                         {"median_ms": 4.0, "mean_ms": 4.06, "p90_ms": 4.0, "p95_ms": 4.0, "p99_ms": 8.0, "images_per_s": 4000.0})
        self.assertEqual(asked, [1] * timing.ALONE_RUNS + [250])


if __name__ == "__main__":
    unittest.main()
