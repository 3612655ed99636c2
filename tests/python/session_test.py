"""InferenceSession: loading, running, arguments, errors, threads, messages."""

import asyncio
import gc
import importlib.machinery
import importlib.util
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock
import weakref

import models
import numpy as np
from onnx import TensorProto, helper

import onnx_cudnn as oc

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.full((2, 3), 10, np.float32)


def cpu_options():
    options = oc.SessionOptions()
    options.device = "cpu"
    return options


def session(model=None, options=None):
    return oc.InferenceSession(model or models.add(), options or cpu_options())


class LoadTest(unittest.TestCase):
    def test_from_a_path_and_from_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "add.onnx")
            path.write_bytes(models.add())
            for model in (path, str(path), models.add(), bytearray(models.add())):
                found = oc.InferenceSession(model).run(None, {"a": A, "b": B})
                np.testing.assert_array_equal(found[0], A + B)

    def test_inputs_and_outputs_have_onnxruntimes_shapes(self):
        s = session()
        self.assertEqual([(i.name, i.type, i.shape) for i in s.get_inputs()], [("a", "tensor(float)", ["N", 3]), ("b", "tensor(float)", ["N", 3])])
        self.assertEqual([o.name for o in s.get_outputs()], ["sum", "difference"])

    def test_providers_choose_the_device(self):
        s = oc.InferenceSession(models.add(), providers=["CPUExecutionProvider"])
        self.assertEqual((s.device, s.get_providers()), ("cpu", ["CPUExecutionProvider"]))
        self.assertEqual(oc.InferenceSession(models.add(), providers="CPUExecutionProvider").device, "cpu")
        with self.assertRaisesRegex(oc.InvalidArgument, "NoSuchProvider"):
            oc.InferenceSession(models.add(), providers=["NoSuchProvider"])

    def test_a_gpu_that_is_not_there_is_replaced_with_a_warning(self):
        if oc.get_device() == "GPU":
            self.skipTest("there is a GPU")
        with self.assertLogs("onnx_cudnn", "WARNING") as log:
            s = oc.InferenceSession(models.add(), providers=[("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"])
        self.assertEqual(s.get_providers(), ["CPUExecutionProvider"])
        self.assertRegex(log.output[0], "NVIDIA driver|no CUDA half")

    def test_options_of_the_caller_are_not_changed_by_providers(self):
        options = oc.SessionOptions()
        oc.InferenceSession(models.add(), options, providers=["CPUExecutionProvider"])
        self.assertEqual(options.device, "auto")


class RunTest(unittest.TestCase):
    def test_outputs_in_the_order_that_is_asked_for(self):
        found = session().run(["difference", "sum"], {"a": A, "b": B})
        np.testing.assert_array_equal(found[0], A - B)
        np.testing.assert_array_equal(found[1], A + B)
        self.assertEqual(len(session().run(["sum"], {"a": A, "b": B})), 1)

    def test_arrays_that_are_not_contiguous_are_copied(self):
        whole = np.arange(24, dtype=np.float32).reshape(4, 6)
        found = session().run(["sum"], {"a": whole[:2, ::2], "b": whole.T[:2, :3]})[0]
        np.testing.assert_array_equal(found, whole[:2, ::2] + whole.T[:2, :3])

    def test_lists_and_numbers_become_arrays_of_the_inputs_type(self):
        found = session().run(["sum"], {"a": [[1, 2, 3]], "b": [[0.5, 0.5, 0.5]]})[0]
        np.testing.assert_array_equal(found, np.array([[1.5, 2.5, 3.5]], np.float32))

    def test_a_scalar_keeps_its_rank(self):
        found = session(models.identity(TensorProto.FLOAT, ())).run(None, {"x": np.float32(3)})[0]
        self.assertEqual((found.shape, found.dtype, found.item()), ((), np.float32, 3))

    def test_no_elements(self):
        found = session().run(["sum"], {"a": np.zeros((0, 3), np.float32), "b": np.zeros((0, 3), np.float32)})[0]
        self.assertEqual((found.shape, found.dtype), ((0, 3), np.float32))

    def test_strings(self):
        words = np.array(["a", "größe", ""], dtype=object)
        found = session(models.identity(TensorProto.STRING)).run(None, {"x": words})[0]
        self.assertEqual((found.dtype, found.tolist()), (np.dtype(object), words.tolist()))
        found = session(models.identity(TensorProto.STRING)).run(None, {"x": np.array(["one", "three"])})[0]
        self.assertEqual(found.tolist(), ["one", "three"])

    def test_every_type_comes_back_as_it_was(self):
        import ml_dtypes

        values = [0, 1, 1, 0, 1]
        names = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
        types = [np.dtype(name) for name in names] + [
            np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float4_e2m1fn")
        ]
        for dtype in types:
            with self.subTest(dtype=dtype):
                x = np.array(values).astype(dtype)
                found = session(models.identity(helper.np_dtype_to_tensor_dtype(dtype))).run(None, {"x": x})[0]
                self.assertEqual(found.dtype, dtype)
                np.testing.assert_array_equal(found.astype(np.float32), x.astype(np.float32))

    def test_negative_values_of_four_bits(self):
        import ml_dtypes

        x = np.array([-8, -1, 7], ml_dtypes.int4)
        found = session(models.identity(TensorProto.INT4)).run(None, {"x": x})[0]
        self.assertEqual(found.astype(int).tolist(), [-8, -1, 7])

    def test_outputs_own_their_memory(self):
        s = session()
        first = s.run(["sum"], {"a": A, "b": B})[0]
        kept = first.copy()
        s.run(["sum"], {"a": B, "b": B})
        del s
        gc.collect()
        np.testing.assert_array_equal(first, kept)
        first[0, 0] = 5  # writable

    def test_memory_of_outputs_is_given_back(self):
        output = session().run(["sum"], {"a": A, "b": B})[0]
        owner = weakref.ref(output.base)
        del output
        gc.collect()
        self.assertIsNone(owner())


class ErrorTest(unittest.TestCase):
    def expect(self, error, builtin, pattern, call):
        with self.assertRaisesRegex(error, pattern) as caught:
            call()
        self.assertIsInstance(caught.exception, builtin)
        self.assertIsInstance(caught.exception, oc.Error)
        return caught.exception

    def test_no_such_file(self):
        error = self.expect(oc.NotFound, FileNotFoundError, "no-such.onnx", lambda: oc.InferenceSession("no-such.onnx"))
        self.assertEqual(error.code, oc.ErrorCode.NOT_FOUND)

    def test_no_model(self):
        self.expect(oc.Error, Exception, ".", lambda: oc.InferenceSession(b"no model"))
        self.expect(oc.InvalidArgument, ValueError, "expected a path or bytes, found int", lambda: oc.InferenceSession(3))

    def test_types_are_not_converted(self):
        self.expect(oc.InvalidArgument, ValueError, '"a".*f32.*f64', lambda: session().run(None, {"a": A.astype(np.float64), "b": B}))

    def test_another_byte_order(self):
        self.expect(oc.InvalidArgument, ValueError, "byte order", lambda: session().run(None, {"a": A.astype(">f4"), "b": B}))

    def test_wrong_names_and_shapes(self):
        self.expect(oc.InvalidArgument, ValueError, "'c'", lambda: session().run(None, {"a": A, "c": B}))
        self.expect(oc.InvalidArgument, ValueError, r"2 inputs \(a, b\), found 1", lambda: session().run(None, {"a": A}))
        self.expect(oc.InvalidArgument, ValueError, '"a"', lambda: session().run(None, {"a": A[:, :2], "b": B}))
        self.expect(oc.InvalidArgument, ValueError, "product.*expected of 'sum', 'difference'", lambda: session().run(["product"], {"a": A, "b": B}))
        self.expect(oc.InvalidArgument, ValueError, "expected a list of names, found 'sum'", lambda: session().run("sum", {"a": A, "b": B}))
        self.expect(oc.InvalidArgument, ValueError, "expected a dict .* found list", lambda: session().run(None, [A, B]))
        self.expect(oc.InvalidArgument, ValueError, "unknown input 'q'", lambda: session().run(None, {"a": A, "b": B, "q": B}))

    def test_what_onnxruntime_has_and_this_package_has_not(self):
        with self.assertRaisesRegex(AttributeError, "end_profiling: session.profile"):
            session().end_profiling()

    def test_an_op_that_is_not_implemented(self):
        model = models.model([helper.make_node("ImageDecoder", ["x"], ["y"])], [("x", TensorProto.UINT8, [2])], [("y", TensorProto.UINT8, [1, 1, 3])], opset=20)
        self.expect(oc.Unimplemented, NotImplementedError, "ImageDecoder", lambda: session(model).run(None, {"x": np.zeros(2, np.uint8)}))

    def test_terminate(self):
        options = oc.RunOptions()
        options.terminate = True
        self.expect(oc.Cancelled, RuntimeError, ".", lambda: session().run(None, {"a": A, "b": B}, options))
        options.terminate = False
        session().run(None, {"a": A, "b": B}, options)

    def test_a_stream_on_the_cpu(self):
        self.expect(oc.InvalidArgument, ValueError, "stream", lambda: session().run(None, {"a": A, "b": B}, stream=1))
        self.expect(oc.InvalidArgument, ValueError, "found str", lambda: session().run(None, {"a": A, "b": B}, stream="main"))


class OptionsTest(unittest.TestCase):
    def test_names_of_onnxruntime(self):
        options = cpu_options()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = oc.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.execution_mode = oc.ExecutionMode.ORT_SEQUENTIAL
        options.enable_mem_pattern = False
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.assertEqual((options.threads, options.optimization_level), (1, 0))
        self.assertEqual(options.get_session_config_entry("session.intra_op.allow_spinning"), "0")
        np.testing.assert_array_equal(session(options=options).run(["sum"], {"a": A, "b": B})[0], A + B)

    def test_lists_are_assigned(self):
        options = cpu_options()
        options.disabled_passes = ["fold-constants"]
        self.assertEqual(options.disabled_passes, ("fold-constants",))  # append to it is an error
        with self.assertRaisesRegex(oc.InvalidArgument, "expected a list"):
            options.disabled_passes = "fold-constants"

    def test_names_of_enums(self):
        options = cpu_options()
        options.precision = "strict"
        options.partitioner = "cost"
        self.assertEqual((options.precision, options.partitioner, options.tune), ("strict", "cost", "foreground"))
        with self.assertRaisesRegex(oc.InvalidArgument, 'strict, tf32, fp16, bf16, found "fp8"'):
            options.precision = "fp8"

    def test_a_misspelled_option_is_an_error(self):
        with self.assertRaisesRegex(AttributeError, "tune_buget_s"):
            oc.SessionOptions().tune_buget_s = 3
        with self.assertRaisesRegex(AttributeError, "terminated"):
            oc.RunOptions().terminated = True

    def test_options_that_are_checked_by_the_library(self):
        options = cpu_options()
        options.max_programs = 0
        with self.assertRaisesRegex(oc.InvalidArgument, "max_programs"):
            session(options=options)

    def test_a_library_of_ops(self):
        x = np.array([-1, 0, 2], np.float32)
        options = cpu_options()
        options.register_custom_ops_library(pathlib.Path(os.environ["SCALED_SWISH"]))
        found = session(models.scaled_swish(3), options).run(None, {"x": x})[0]
        np.testing.assert_allclose(found, 3 * x / (1 + np.exp(-x)), rtol=1e-6)
        options = cpu_options()
        options.register_custom_ops_library("/nowhere/libops.so")
        with self.assertRaisesRegex(oc.Error, "/nowhere/libops.so"):
            session(options=options)


class ThreadsTest(unittest.TestCase):
    def test_the_gil_is_released_while_a_model_runs(self):
        s = session(models.mlp(np.random.default_rng(0), (2048, 2048, 2048)))
        x = np.ones((256, 2048), np.float32)
        s.run(None, {"x": x})
        counted, ended = 0, threading.Event()

        def run():
            for _ in range(3):
                s.run(None, {"x": x})
            ended.set()

        thread = threading.Thread(target=run)
        thread.start()
        while not ended.is_set():
            counted += 1
        thread.join()
        self.assertGreater(counted, 1000)  # with the GIL held it is a handful: one a switch

    def test_threads_share_a_session(self):
        s = session()
        wrong = []

        def run(i):
            a = np.full((2, 3), i, np.float32)
            for _ in range(50):
                if not (s.run(["sum"], {"a": a, "b": B})[0] == i + 10).all():
                    wrong.append(i)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_run_async_gives_a_future(self):
        future = session().run_async(["sum"], {"a": A, "b": B})
        np.testing.assert_array_equal(future.result(10)[0], A + B)
        with self.assertRaises(oc.InvalidArgument):
            session().run_async(None, {"a": A}).result(10)

    def test_run_async_calls_back(self):
        told, ended = [], threading.Event()

        def callback(results, user_data, error):
            told.append((results, user_data, error))
            ended.set()

        session().run_async(["sum"], {"a": A, "b": B}, callback, "mine")
        self.assertTrue(ended.wait(10))
        np.testing.assert_array_equal(told[0][0][0], A + B)
        self.assertEqual(told[0][1:], ("mine", ""))

    def test_run_async_can_be_awaited(self):
        async def both():
            s = session()
            return await asyncio.gather(s.run_async(["sum"], {"a": A, "b": B}), s.run_async(["sum"], {"a": A, "b": A}))

        first, second = asyncio.run(both())
        np.testing.assert_array_equal(first[0], A + B)
        np.testing.assert_array_equal(second[0], A + A)


class ProgressTest(unittest.TestCase):
    def run_with(self, progress):
        options = cpu_options()
        options.progress = progress
        return session(options=options).run(None, {"a": A, "b": B})

    def test_stages_end_with_done_equal_to_total(self):
        told = {}
        self.run_with(lambda stage, done, total, text: told.update({stage: (done, total, text)}))
        self.assertLessEqual({"loading", "optimizing", "building"}, set(told))
        for stage, (done, total, text) in told.items():
            self.assertEqual((done, type(text)), (total, str), stage)

    def test_false_and_exceptions_cancel(self):
        with self.assertRaises(oc.Cancelled):
            self.run_with(lambda stage, done, total, text: stage != "building")

        def fail(stage, done, total, text):
            raise KeyError(stage)

        unraised = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda raised: unraised.append(raised.exc_type)
        with self.assertRaises(oc.Cancelled):
            self.run_with(fail)
        self.assertEqual(unraised, [KeyError])

    def test_without_tqdm_each_tenth_is_logged(self):
        with unittest.mock.patch("importlib.util.find_spec", return_value=None), self.assertLogs("onnx_cudnn", "INFO") as log:
            self.run_with(True)
        self.assertTrue(any("building" in line for line in log.output), log.output)

    def test_with_tqdm_each_stage_is_a_bar(self):
        bars = []

        class Bar:
            def __init__(self, desc, total, leave):
                self.desc, self.total, self.n, self.closed = desc, total, 0, False
                bars.append(self)

            def set_postfix_str(self, text, refresh):
                pass

            def update(self, n):
                self.n += n

            def close(self):
                self.closed = True

        tqdm = types.ModuleType("tqdm")
        tqdm.tqdm, tqdm.__spec__ = Bar, importlib.machinery.ModuleSpec("tqdm", None)
        with unittest.mock.patch.dict(sys.modules, tqdm=tqdm):
            self.run_with(True)
        self.assertIn("onnx_cudnn: building", [bar.desc for bar in bars])
        self.assertTrue(all(bar.closed and bar.n == bar.total for bar in bars))


class MessagesTest(unittest.TestCase):
    def test_messages_of_the_library_are_log_records(self):
        with tempfile.TemporaryDirectory() as folder:
            options = cpu_options()
            options.plan_cache = str(pathlib.Path(folder, "plans"))
            oc.set_default_logger_severity(0)
            self.addCleanup(logging.getLogger("onnx_cudnn").setLevel, logging.NOTSET)
            from onnx_cudnn import _core, _messages

            with self.assertLogs("onnx_cudnn", "DEBUG") as log:
                logging.getLogger("onnx_cudnn").debug("begin")
                session(options=options)
                _messages.drain()
            self.assertEqual(_core.take_messages(), [])
            self.assertGreaterEqual(len(log.output), 1)

    def test_the_interpreter_ends_with_sessions_and_calls_alive(self):
        script = (
            "import sys; sys.path[:0] = %r\n"
            "import models, numpy as np, onnx_cudnn as oc, threading\n"
            "s = oc.InferenceSession(models.add())\n"
            "x = np.ones((2, 3), np.float32)\n"
            "def run():\n"
            "    while True: s.run(None, {'a': x, 'b': x})\n"
            "threading.Thread(target=run, daemon=True).start()\n"
            "s.run_async(None, {'a': x, 'b': x}).result()\n"
        ) % (sys.path,)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
