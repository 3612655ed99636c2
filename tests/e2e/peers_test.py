"""tools/bench/peers.py: programs that are missing, fail, hang or succeed, and the contents of records."""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench"))

import peers  # noqa: E402
import timing  # noqa: E402

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

    def measure(self, who, batches, compile_seconds=60.0):
        arguments = argparse.Namespace(who=who, models=["resnet18"], precisions=["fp16"], batches=batches, commit="abc", bench_flags="--runs 7",
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

    def test_without_a_gpu_we_are_left_out(self):
        self.bench("#!/bin/sh\nexit 5\n")
        self.assertEqual(self.measure(["onnx-cudnn"], [1, 8]), [])

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
