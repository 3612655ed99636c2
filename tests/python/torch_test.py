"""torch.compile(backend="onnx_cudnn") next to eager torch, and the package beside torch, onnx and onnxruntime in one process. In an environment with torch:
tools/test.sh --long=torch."""

import importlib.metadata
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import torch
import torchvision

import models
from onnx_cudnn.torch_backend import onnx_cudnn

ORDERS = (("torch", "onnx", "onnxruntime", "onnx_cudnn"), ("onnx_cudnn", "onnxruntime", "onnx", "torch"))
TOGETHER = """
import sys
for name in sys.argv[2:]:
    __import__(name)
import numpy as np, onnx, onnxruntime, torch, onnx_cudnn
x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
ours, = onnx_cudnn.InferenceSession(sys.argv[1]).run(None, {"x": x})
theirs, = onnxruntime.InferenceSession(sys.argv[1]).run(None, {"x": x})
onnx.checker.check_model(onnx.load(sys.argv[1]))
np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)
layer = torch.nn.Linear(8, 4)
torch.testing.assert_close(layer(torch.from_numpy(x)), torch.from_numpy(x) @ layer.weight.T + layer.bias)
"""


class TorchTestCase(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)

    def compiled(self, function, **options):
        return torch.compile(function, backend=onnx_cudnn, **options)

    def expect_ours(self, function, *inputs, tolerance=1e-4, **options):
        """Runs as eager torch does, and in our sessions."""
        compiled = self.compiled(function, **options)
        with torch.inference_mode(), self.assertNoLogs("onnx_cudnn", "WARNING"):
            found = compiled(*inputs)
            again = compiled(*inputs)
        with torch.inference_mode():
            wanted = function(*inputs)
        torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(again, wanted, rtol=tolerance, atol=tolerance)
        return compiled

    def expect_eager(self, reason, function, *inputs):
        with self.assertLogs("onnx_cudnn", "WARNING") as logs:
            found = self.compiled(function)(*inputs)
        self.assertIn("runs in eager mode", logs.output[0])
        self.assertIn(reason, logs.output[0])
        return found


class TorchTest(TorchTestCase):
    def test_a_model_of_torchvision(self):
        model = torchvision.models.resnet18().eval()
        compiled = self.expect_ours(model, torch.randn(1, 3, 64, 64))
        with torch.inference_mode():
            x = torch.randn(2, 3, 64, 64)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)  # another shape

    def test_several_outputs_and_numbers(self):
        self.expect_ours(lambda x, n: (x * n, x.shape[0], None, (x + 1).t()), torch.randn(3, 4), 2)

    def test_inputs_that_are_not_contiguous(self):
        self.expect_ours(lambda x: torch.softmax(x, -1), torch.randn(5, 4).t())

    def test_changed_parameters_count(self):
        layer = torch.nn.Linear(4, 2)
        x = torch.randn(3, 4)
        compiled = self.compiled(layer)
        with torch.no_grad():
            before = compiled(x)
            torch.testing.assert_close(before, layer(x))
            layer.weight.mul_(3)
            after = compiled(x)
            torch.testing.assert_close(after, layer(x))
        self.assertFalse(torch.allclose(before, after))

    def test_options_are_those_of_a_session(self):
        self.expect_ours(lambda x: torch.relu(x) - 1, torch.randn(8), options={"threads": 1})
        for wrong in ({"no_such_option": 1}, {"precision": "fp8"}):
            with self.assertRaisesRegex(Exception, "no_such_option|fp8"), torch.inference_mode():
                self.compiled(lambda x: x * 5, options=wrong)(torch.randn(2))

    def test_gradients_are_eager(self):
        layer = torch.nn.Linear(4, 2)
        x = torch.randn(3, 4)
        found = self.expect_eager("gradients", layer, x)
        found.sum().backward()
        self.assertIsNotNone(layer.weight.grad)

    def test_writes_to_inputs_are_eager(self):
        def function(x):
            x.add_(1)
            return x * 2

        with torch.inference_mode():
            x = torch.zeros(3)
            found = self.expect_eager("it writes to its inputs", function, x)
        self.assertEqual((found.tolist(), x.tolist()), ([2, 2, 2], [1, 1, 1]))

    def test_parameters_that_count_no_changes_are_eager(self):
        with torch.inference_mode():
            layer, x = torch.nn.Linear(4, 2), torch.randn(3, 4)
            found = self.expect_eager("its parameters were made under", layer, x)
            torch.testing.assert_close(found, layer(x))

    def test_what_cannot_be_exported_is_eager(self):
        with torch.inference_mode():
            found = self.expect_eager("_linalg_eigh", lambda x: torch.linalg.eigvalsh(x), torch.eye(3))
        self.assertEqual(found.tolist(), [1, 1, 1])

    def test_random_numbers_are_torchs(self):
        with torch.inference_mode():
            torch.manual_seed(3)
            found = self.expect_eager("aten.rand", lambda x: x + torch.rand(4), torch.ones(4))
            torch.manual_seed(3)
            torch.testing.assert_close(found, torch.ones(4) + torch.rand(4))


@unittest.skipUnless(torch.cuda.is_available(), "needs a GPU")
class TorchGpuTest(TorchTestCase):
    def test_a_model_of_torchvision(self):
        model = torchvision.models.resnet18().eval().cuda()
        with torch.backends.cudnn.flags(allow_tf32=False):  # which is torch's default for convolutions
            self.expect_ours(model, torch.randn(2, 3, 224, 224, device="cuda"), options={"precision": "strict"})

    def test_fp16(self):
        model = torchvision.models.resnet18().eval().half().cuda()
        self.expect_ours(model, torch.randn(2, 3, 224, 224, device="cuda", dtype=torch.float16), tolerance=2e-2)

    def test_work_follows_the_stream_of_torch(self):
        x = torch.zeros(64, 64, device="cuda")
        compiled = self.expect_ours(lambda x: torch.relu(x) + 1, x)
        with torch.inference_mode(), torch.cuda.stream(torch.cuda.Stream()):
            for value in range(4):
                torch.cuda._sleep(20_000_000)  # the input comes late
                x.fill_(value)
                y = compiled(x) * 2
                x.fill_(100)
                torch.cuda.current_stream().synchronize()
                self.assertEqual((y.min().item(), y.max().item()), (2 * value + 2,) * 2)

    def test_tensors_of_two_devices_are_eager(self):
        with torch.inference_mode():
            found = self.expect_eager("its tensors are on cpu, cuda:0", lambda x, scale: x * scale, torch.ones(3, device="cuda"), torch.tensor(2.0))
        self.assertEqual(found.tolist(), [2, 2, 2])


class NameTest(unittest.TestCase):
    @unittest.skipUnless(importlib.metadata.entry_points(group="torch_dynamo_backends", name="onnx_cudnn"), "needs the installed wheel")
    def test_the_backend_has_a_name(self):
        with torch.inference_mode(), self.assertNoLogs("onnx_cudnn", "WARNING"):
            found = torch.compile(lambda x: x * 2, backend="onnx_cudnn")(torch.ones(2))
        self.assertEqual(found.tolist(), [2, 2])


class OneProcessTest(unittest.TestCase):
    def test_beside_torch_onnx_and_onnxruntime(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder, "mlp.onnx")
            model.write_bytes(models.mlp(np.random.default_rng(0)))
            for order in ORDERS:
                done = subprocess.run([sys.executable, "-c", TOGETHER, model, *order], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, f"{order}: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
