"""The package on a GPU: results next to the CPU device's, tensors of torch and CuPy in place, streams. Skipped where there is no GPU or no torch."""

import concurrent.futures
import os
import unittest

import numpy as np

import models
import onnx_cudnn as oc

try:
    import torch
except ImportError:
    torch = None
try:
    import cupy
except ImportError:
    cupy = None

SIZES = (64, 256, 32)
PROVIDERS = ["CUDAExecutionProvider"]


def mlp():
    return models.mlp(np.random.default_rng(0), SIZES)


def batch(rows, seed=1):
    return np.random.default_rng(seed).standard_normal((rows, SIZES[0])).astype(np.float32)


@unittest.skipUnless(torch is not None and torch.cuda.is_available(), "needs a GPU and torch")
class GpuTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        options = oc.SessionOptions()
        options.precision = "strict"
        options.device = "cuda"  # an error, not the CPU, if the libraries are not found
        cls.session = oc.InferenceSession(mlp(), options)
        cls.reference = oc.InferenceSession(mlp(), providers=["CPUExecutionProvider"])

    def expected(self, x):
        return self.reference.run(None, {"x": x})[0]

    def expect_close(self, found, x):
        np.testing.assert_allclose(found, self.expected(x), rtol=1e-4, atol=1e-6)

    def test_arrays_of_numpy(self):
        self.assertEqual(self.session.get_providers(), ["CUDAExecutionProvider", "CPUExecutionProvider"])
        for rows in (1, 7, 7):
            x = batch(rows, rows)
            self.expect_close(self.session.run(None, {"x": x})[0], x)

    def test_tensors_of_torch_are_read_and_written_in_place(self):
        x, y = torch.from_numpy(batch(8)).cuda(), torch.empty(8, SIZES[-1], device="cuda")
        address = y.data_ptr()
        binding = self.session.bind({"x": x}, {"y": y})
        for seed in (2, 3):
            x.copy_(torch.from_numpy(batch(8, seed)))
            torch.cuda.synchronize()
            binding.run()
            self.assertEqual(y.data_ptr(), address)
            self.expect_close(y.cpu().numpy(), batch(8, seed))

    def test_work_follows_the_stream_of_torch(self):
        x, y = torch.zeros(8, SIZES[0], device="cuda"), torch.empty(8, SIZES[-1], device="cuda")
        binding = self.session.bind({"x": x}, {"y": y})
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for seed in range(4, 8):
                torch.cuda._sleep(20_000_000)  # the input comes late  # noqa: SLF001
                x.copy_(torch.from_numpy(batch(8, seed)).pin_memory(), non_blocking=True)
                binding.run(stream=stream)
                z = y * 1
                stream.synchronize()
                self.expect_close(z.cpu().numpy(), batch(8, seed))

    @unittest.skipUnless("SCALED_SWISH" in os.environ, "needs the library of examples/op_library")
    def test_an_op_of_a_library_runs_on_the_stream_of_torch(self):
        options = oc.SessionOptions()
        options.device = "cuda"
        options.register_custom_ops_library(os.environ["SCALED_SWISH"])
        session = oc.InferenceSession(models.scaled_swish(2), options)
        x, y = torch.zeros(64, device="cuda"), torch.empty(64, device="cuda")
        binding = session.bind({"x": x}, {"y": y})
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for value in range(4):
                torch.cuda._sleep(20_000_000)  # the input comes late  # noqa: SLF001
                x.fill_(value)
                binding.run(stream=stream)
                z = y * 1
                stream.synchronize()
                torch.testing.assert_close(z, 2 * torch.nn.functional.silu(x))

    def test_inputs_of_a_stream_wait_for_it(self):
        with torch.cuda.stream(torch.cuda.Stream()) as _:
            stream = torch.cuda.current_stream()
            x = torch.zeros(8, SIZES[0], device="cuda")
            torch.cuda._sleep(20_000_000)  # noqa: SLF001
            x += torch.from_numpy(batch(8, 9)).cuda(non_blocking=True)
            self.expect_close(self.session.run(None, {"x": x}, stream=stream)[0], batch(8, 9))

    def test_ortvalues_keep_their_memory(self):
        value = oc.OrtValue.ortvalue_from_numpy(batch(4), "cuda", 0)
        self.assertEqual(value.device_name(), "cuda")
        np.testing.assert_array_equal(value.numpy(), batch(4))
        shared = torch.from_dlpack(value)
        self.assertEqual(shared.data_ptr(), value.data_ptr())
        shared *= 2
        torch.cuda.synchronize()
        np.testing.assert_array_equal(value.numpy(), batch(4) * 2)
        binding = self.session.io_binding()
        binding.bind_ortvalue_input("x", value)
        binding.bind_output("y", "cuda")
        self.session.run_with_iobinding(binding)
        self.assertEqual(binding.get_outputs()[0].device_name(), "cuda")
        self.expect_close(binding.copy_outputs_to_cpu()[0], batch(4) * 2)

    def test_addresses_of_torch_in_an_iobinding(self):
        x, y = torch.from_numpy(batch(4)).cuda(), torch.empty(4, SIZES[-1], device="cuda")
        binding = self.session.io_binding()
        binding.bind_input("x", "cuda", 0, np.float32, x.shape, x.data_ptr())
        binding.bind_output("y", "cuda", 0, np.float32, y.shape, y.data_ptr())
        self.session.run_with_iobinding(binding)
        self.expect_close(y.cpu().numpy(), batch(4))

    def test_threads_share_the_session(self):
        def one(seed):
            x = batch(1 + seed % 3, seed)
            return x, self.session.run(None, {"x": x})[0]

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for x, y in pool.map(one, range(32)):
                self.expect_close(y, x)

    @unittest.skipUnless(cupy is not None, "needs CuPy")
    def test_arrays_and_streams_of_cupy(self):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            x = cupy.asarray(batch(4))
            y = cupy.zeros((4, SIZES[-1]), cupy.float32)
            self.session.bind({"x": x}, {"y": y}).run(stream=stream)
            self.expect_close(cupy.asnumpy(y), batch(4))
        value = oc.OrtValue.ortvalue_from_numpy(batch(4), "cuda", 0)
        self.assertEqual(cupy.asarray(value).data.ptr, value.data_ptr())

    def test_after_torch_chose_another_state(self):
        """Products of torch and of this package alternate in one process."""
        weights = torch.randn(SIZES[0], SIZES[0], device="cuda")
        for seed in range(3):
            (weights @ weights).sum().item()
            self.expect_close(self.session.run(None, {"x": batch(5, seed)})[0], batch(5, seed))


if __name__ == "__main__":
    unittest.main()
