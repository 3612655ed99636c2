"""Compiled models, from files and from bytes."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import models
import numpy as np

import onnx_cudnn as oc

A = np.arange(6, dtype=np.float32).reshape(2, 3)


@unittest.skipUnless("ONNX_CUDNN_OPT" in os.environ, "onnx-cudnn-opt is not built here")
class CompiledTest(unittest.TestCase):
    def test_run_as_the_model_does(self):
        options = oc.SessionOptions()
        options.device = "cpu"
        with tempfile.TemporaryDirectory() as folder:
            path, compiled = pathlib.Path(folder, "add.onnx"), pathlib.Path(folder, "add.ocp")
            path.write_bytes(models.add())
            subprocess.run([os.environ["ONNX_CUDNN_OPT"], path, "-o", compiled], check=True, capture_output=True)
            expected = oc.InferenceSession(path, options)
            for model in (compiled, compiled.read_bytes()):
                session = oc.InferenceSession(model, options)
                for found, right in zip(session.run(None, {"a": A, "b": A}), expected.run(None, {"a": A, "b": A}), strict=True):
                    np.testing.assert_array_equal(found, right)
                self.assertEqual(session.get_modelmeta().graph_name, expected.get_modelmeta().graph_name)


if __name__ == "__main__":
    unittest.main()
