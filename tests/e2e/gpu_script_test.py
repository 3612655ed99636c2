"""tools/gpu.sh with stand-ins for the programs that it runs: each part whose figures are compared with others' has a control cell."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEASURED = ("networks", "peers", "compiled", "callers", "family", "transformers", "real")
# Writes its arguments to the folder's log; fails for any other control cell than 0.187.
PROGRAM = """
import os, pathlib, sys
arguments = sys.argv[1:]
with open("calls.log", "a") as log:
    print(pathlib.Path(sys.argv[0]).name, *arguments, file=log)
if "--control" in arguments:
    sys.exit(arguments[arguments.index("--control") + 1] != "0.187")
"""


class GpuScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copy(ROOT / "tools/gpu.sh", self.folder)
        for name in ("bin", "models"):
            (self.folder / name).mkdir()
        for name in ("peers.py", "models/make.py", "models/torch_networks.py"):
            (self.folder / name).write_text(PROGRAM)
        for name in ("onnx-cudnn-bench", "onnx-cudnn-run"):
            (self.folder / "bin" / name).write_text(f"#!/usr/bin/env python3\n{PROGRAM}")
            (self.folder / "bin" / name).chmod(0o755)

    def calls(self, part, **environment):
        """What was run, a line each."""
        done = subprocess.run(["bash", self.folder / "gpu.sh", self.folder / "out", "abc", part], env={**os.environ, **environment},
                              capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
        self.assertIn("steps failed; output:", done.stdout, done.stderr)
        log = self.folder / "calls.log"
        lines = log.read_text().splitlines()
        log.unlink()
        return lines

    def test_each_measured_part_has_a_control_cell(self):
        for part in MEASURED:
            with self.subTest(part):
                calls = self.calls(part, ONNX_CUDNN_CONTROL_MS="0.187")
                self.assertTrue(any(call.startswith("make.py resnet50 ") for call in calls), calls)
                self.assertEqual(sum(" --control 0.187 " in call for call in calls), 1, calls)
                self.assertTrue(any(" --control 0 " in call for call in self.calls(part)), part)  # recorded where there is nothing to compare with

    def test_networks_are_not_timed_where_the_control_cell_differs(self):
        good = self.calls("networks", ONNX_CUDNN_CONTROL_MS="0.187")
        self.assertTrue(any(call.startswith("onnx-cudnn-bench ") for call in good), good)
        void = self.calls("networks", ONNX_CUDNN_CONTROL_MS="0.25")
        self.assertFalse(any(call.startswith("onnx-cudnn-bench ") for call in void), void)

    def test_the_family_is_made_and_timed_beside_a_peer(self):
        calls = self.calls("family", ONNX_CUDNN_FAMILY="resnet34,resnet50-192", ONNX_CUDNN_FAMILY_BATCHES="3,17,64")
        self.assertIn("make.py resnet50 --size 192 --output models/resnet50-192.onnx", calls)
        [timed] = [call for call in calls if call.startswith("peers.py ")]
        for words in ("--who onnx-cudnn,torch-graph", "--models resnet34,resnet50-192", "--batches 3,17,64", "--tune-budget 8"):
            self.assertIn(words, timed)


if __name__ == "__main__":
    unittest.main()
