"""What onnx_cudnn.serve does without Ray: configurations, loading, warming, batches, time limits and replacement of a model."""

import asyncio
import functools
import pathlib
import tempfile
import types
import unittest
import weakref
from unittest import mock

import ml_dtypes
import models
import numpy as np
from onnx import TensorProto, helper

import onnx_cudnn as oc
from onnx_cudnn._served import ModelConfig, Served, as_torch, check_arguments, powers_of_two

ADD_ONE = helper.make_node("Add", ["x", "one"], ["y"])
ONE = ("one", np.ones(1, np.float32))


def in_loop(test):
    @functools.wraps(test)
    def run(self):
        asyncio.run(test(self))

    return run


class ServedTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, model):
        path = self.folder / "model.onnx"
        path.write_bytes(model)
        return str(path)

    def served(self, model, **config):
        return Served(ModelConfig(model=self.file(model), **config), gpus=0)

    def plus_one(self, shape, **config):
        """y = x + 1"""
        return self.served(models.model([ADD_ONE], [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)], [ONE]), **config)


class ConfigTest(ServedTestCase):
    def test_what_cannot_be_meant(self):
        for wrong, text in (({"max_batch": "8"}, "max_batch: expected a number ≥ 0, found '8'"), ({"max_queued": -1}, "max_queued"),
                            ({"timeout_s": float("nan")}, "timeout_s: expected seconds"), ({"model": 3}, "model: expected a text"),
                            ({"batch_sizes": 8}, "batch_sizes: expected a list"), ({"warm_up": ["x"]}, "warm_up: expected a list of sizes"),
                            ({"options": []}, "options: expected fields"), ({"options": {"precison": "fp16"}}, "no option precison"),
                            ({"options": {"precision": "fp8"}}, 'expected .*, found "fp8"'), ({"options": {"threads": "2"}}, "option threads: found '2'"),
                            ({"batch": 3}, "batch: expected of model, version")):  # fmt: skip
            with self.subTest(wrong), self.assertRaisesRegex(oc.InvalidArgument, text):
                ModelConfig.of(wrong)

    def test_arguments_of_an_application_are_known(self):
        known = ("model", "name", "num_gpus", "num_cpus", "max_batch")
        check_arguments({"num_gpus": 0.5, "num_cpus": 2, "max_batch": "checked elsewhere"}, known)
        for wrong, text in (({"modell": "m.onnx"}, 'unknown argument "modell" of onnx_cudnn.serve.app; did you mean model?'),
                            ({"xyz": 1}, 'unknown argument "xyz" of onnx_cudnn.serve.app; known are model, name, num_gpus, num_cpus, max_batch'),
                            ({"num_gpus": "half"}, "num_gpus: expected a number ≥ 0, found 'half'"), ({"num_gpus": True}, "found True"),
                            ({"num_cpus": -1}, "num_cpus: expected a number ≥ 0, found -1"), ({"num_gpus": float("nan")}, "found nan")):  # fmt: skip
            with self.subTest(wrong), self.assertRaises(oc.InvalidArgument) as refused:
                check_arguments(wrong, known)
            self.assertIn(text, str(refused.exception))

    def test_json_and_back(self):
        config = ModelConfig(model="m.onnx", max_batch=8, batch_sizes=(2, 4), warm_up=[{"s": 3}], options={"threads": 1})
        self.assertEqual(config.json(), {"model": "m.onnx", "max_batch": 8, "batch_sizes": [2, 4], "warm_up": [{"s": 3}], "options": {"threads": 1}})
        self.assertEqual(ModelConfig.of(config.json()).json(), config.json())

    def test_the_device_is_what_the_replica_was_given(self):
        with mock.patch("onnx_cudnn._served.InferenceSession") as session:
            found = {}
            for gpus, config in ((0, {}), (1, {}), (2, {}), (None, {}), (1, {"options": {"device": "cpu"}}), (1, {"providers": ["CPUExecutionProvider"]})):
                ModelConfig(**config).session(gpus, 3)
                options = session.call_args.args[1]
                found[gpus, str(config)] = options.device, options.devices, options.threads
        self.assertEqual(list(found.values()), [("cpu", (), 3), ("cuda", (), 0), ("cuda", (0, 1), 0), ("auto", (), 3), ("cpu", (), 0), ("auto", (), 0)])

    def test_options_are_those_of_a_session(self):
        config = ModelConfig(model=self.file(models.add()), options={"plan_cache": str(self.folder / "plans.json"), "precision": "bf16", "shape_buckets": ["N"]})
        options = ModelConfig.of(config.json()).session(0).get_session_options()
        self.assertEqual((options.plan_cache, options.precision, options.shape_buckets), (str(self.folder / "plans.json"), "bf16", ("N",)))

    def test_as_many_programs_are_kept_as_are_warmed(self):
        self.assertEqual(ModelConfig(model=self.file(models.add()), max_batch=1024).session(0).get_session_options().max_programs, 11)
        self.assertEqual(ModelConfig(model=self.file(models.add()), options={"max_programs": 2}).session(0).get_session_options().max_programs, 2)
        self.assertEqual(powers_of_two(24), [1, 2, 4, 8, 16, 24])


class LoadTest(ServedTestCase):
    def test_each_batch_size_is_warm(self):
        served = self.plus_one(("N", 3), max_batch=6)
        self.assertEqual(served.warmed, ["x[1, 3]", "x[2, 3]", "x[4, 3]", "x[6, 3]"])
        self.assertEqual((served.stats()["programs"], served.stats()["runs"]), (4, 0))
        self.assertEqual(self.plus_one(("N", 3), max_batch=6, batch_sizes=[3]).warmed, ["x[3, 3]", "x[6, 3]"])

    def test_sizes_of_other_dims_are_said(self):
        with self.assertLogs("onnx_cudnn", "WARNING") as logs:
            self.assertEqual(self.plus_one(("N", "length"), max_batch=2).warmed, [])
        self.assertIn("the sizes of length are not known", logs.output[0])
        both = [{"length": 5}, {"x": [1, 7]}]
        self.assertEqual(self.plus_one(("N", "length"), max_batch=2, warm_up=both).warmed, ["x[1, 5]", "x[2, 5]", "x[1, 7]", "x[2, 7]"])
        self.assertEqual(self.plus_one(("N", 3), warm_up=[]).warmed, [])
        for wrong in ({"long": 5}, {"x": [1, 2, 3]}, {"length": -1}):
            with self.subTest(wrong), self.assertRaisesRegex(oc.InvalidArgument, r"warm_up: x is \['N', 'length'\]"):
                self.plus_one(("N", "length"), warm_up=[wrong])
        with self.assertRaisesRegex(oc.InvalidArgument, "more than 256 runs"):
            self.plus_one(("N", "length"), warm_up=[{"length": i} for i in range(100)])

    def test_a_model_that_does_not_run_is_not_ready(self):
        with self.assertRaises(oc.NotFound):
            Served(ModelConfig(model=str(self.folder / "none.onnx")))
        with self.assertRaisesRegex(oc.InvalidArgument, "expected the path of a model, found none"):
            Served(ModelConfig())
        reshape = models.model([helper.make_node("Reshape", ["x", "shape"], ["y"])], [("x", TensorProto.FLOAT, (4,))],
                               [("y", TensorProto.FLOAT, ("a", "b"))], [("shape", np.array([3, -1]))])
        with self.assertRaises(oc.InvalidArgument):
            self.served(reshape)

    def test_why_requests_are_not_joined(self):
        self.assertIn("x is tensor(float) [2, 3]: expected a tensor whose first dim is a symbol", self.plus_one((2, 3)).batching)
        self.assertIn("max_batch is 0", self.plus_one(("N", 3), max_batch=0).batching)
        self.assertEqual(self.plus_one(("N", 3)).batching, "up to 32 rows")

    def test_a_lost_gpu_is_bad_health(self):
        served = self.plus_one(("N", 3))
        served.check_health()
        lost = types.SimpleNamespace(devices=[types.SimpleNamespace(device_id=0, is_lost=False), types.SimpleNamespace(device_id=1, is_lost=True)])
        with mock.patch.object(served.session, "stats", return_value=lost), self.assertRaisesRegex(oc.FailedPrecondition, "the GPU 1 is lost"):
            served.check_health()


class RunTest(ServedTestCase):
    @in_loop
    async def test_requests_of_one_moment_are_one_run(self):
        served = self.plus_one(("N", 3), max_batch=4, max_delay_s=3600)
        xs = [np.full((rows, 3), i, np.float32) for i, rows in enumerate((1, 2, 1))]
        for x, outputs in zip(xs, await asyncio.gather(*(served.run({"x": x}) for x in xs)), strict=True):
            np.testing.assert_array_equal(outputs["y"], x + 1)
        stats = served.stats()["batcher"]
        self.assertEqual((stats["requests"], stats["batches"], stats["rows"]), (3, 1, 4))

    @in_loop
    async def test_a_wrong_request_fails_alone(self):
        served = self.served(models.model([helper.make_node("Gather", ["t", "i"], ["y"])], [("i", TensorProto.INT64, ["N"])],
                                          [("y", TensorProto.FLOAT, ["N"])], [("t", np.array([5, 6], np.float32))]), max_batch=2, max_delay_s=3600)  # fmt: skip
        good, bad = await asyncio.gather(served.run({"i": np.array([1])}), served.run({"i": np.array([9])}), return_exceptions=True)
        self.assertEqual(good["y"].tolist(), [6])
        self.assertIsInstance(bad, oc.InvalidArgument)
        for inputs, text in (({"j": np.array([1])}, "unknown input 'j'"), ({}, "i"), ({"i": np.zeros(1, np.float32)}, "i"), ([1], "expected a dict")):
            with self.subTest(text), self.assertRaisesRegex(oc.InvalidArgument, text):
                await served.run(inputs)

    @in_loop
    async def test_outputs_are_chosen(self):
        served, a = self.served(models.add()), np.ones((1, 3), np.float32)
        self.assertEqual(list(await served.run({"a": a, "b": a}, ["difference"])), ["difference"])
        with self.assertRaisesRegex(oc.InvalidArgument, "none"):
            await served.run({"a": a, "b": a}, ["none"])

    @in_loop
    async def test_time_limits(self):
        batched, x = self.plus_one(("N", 3), max_delay_s=3600, timeout_s=0.02), np.zeros((1, 3), np.float32)
        with self.assertRaises(oc.Cancelled):
            await batched.run({"x": x})
        with self.assertRaises(oc.Cancelled):
            await self.plus_one(("N", 3), max_delay_s=3600).run({"x": x}, timeout_s=0.01)
        with self.assertRaisesRegex(oc.InvalidArgument, "timeout_s: expected seconds"):
            await batched.run({"x": x}, timeout_s=-1)

    @in_loop
    async def test_a_run_of_its_own_ends_at_its_time_limit(self):
        served = self.plus_one((2, 3), runs_at_once=1)
        with mock.patch.object(served.session, "run", side_effect=self.until_terminated) as run:
            with self.assertRaisesRegex(oc.Cancelled, "had not ended after timeout_s = 0.05"):
                await served.run({"x": np.zeros((2, 3), np.float32)}, timeout_s=0.05)
            await served.close()  # which returns when the run has seen that it is terminated
        run.assert_called_once()

    def until_terminated(self, _outputs, _feed, options):
        while not options.terminate:
            pass
        raise oc.Cancelled("terminated")

    @in_loop
    async def test_overload_is_an_error_at_once(self):
        batched, x = self.plus_one(("N", 3), max_batch=2, max_queued=2, max_delay_s=3600), np.zeros((1, 3), np.float32)
        waits = asyncio.ensure_future(batched.run({"x": x}))
        await asyncio.sleep(0)
        with self.assertRaises(oc.ResourceExhausted):
            await batched.run({"x": np.zeros((2, 3), np.float32)})
        await batched.run({"x": x})
        await waits
        alone = self.plus_one((1, 3), max_queued=1, runs_at_once=1)
        results = await asyncio.gather(*(alone.run({"x": x}) for _ in range(3)), return_exceptions=True)
        self.assertEqual([type(result) for result in results], [dict, dict, oc.ResourceExhausted])
        await asyncio.sleep(0)
        await alone.run({"x": x})  # those have ended

    @in_loop
    async def test_a_request_that_is_given_up_does_not_run(self):
        served, x = self.plus_one(("N", 3), max_batch=2, max_delay_s=3600), np.zeros((1, 3), np.float32)
        given_up = asyncio.ensure_future(served.run({"x": x}))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        await served.run({"x": np.zeros((2, 3), np.float32)})
        self.assertEqual((served.stats()["batcher"]["cancelled"], served.stats()["batcher"]["rows"]), (1, 2))

    @in_loop
    async def test_close_waits_for_requests_and_frees_the_model(self):
        served, x = self.plus_one(("N", 3), max_batch=2, max_delay_s=0.05), np.zeros((1, 3), np.float32)
        watched = weakref.ref(served.session)
        request = asyncio.ensure_future(served.run({"x": x}))
        await asyncio.sleep(0)
        await served.close()
        self.assertTrue(request.done())
        self.assertEqual(request.result()["y"].tolist(), [[1, 1, 1]])
        del served, request
        for _ in range(1000):  # the thread in which the batcher ended may hold it for a moment
            if watched() is not None:
                await asyncio.sleep(0.01)
        self.assertIsNone(watched())


class TorchTypesTest(unittest.TestCase):
    def test_types_of_which_numpy_knows_the_bits(self):  # values in torch: tests/serving/ray_serve
        class Tensor:
            def __init__(self, array, dtype=None):
                self.array, self.dtype = array, dtype

            def view(self, dtype):
                return Tensor(self.array, dtype)

        torch = types.SimpleNamespace(from_numpy=Tensor, bfloat16="bf16", int4="int4")
        x = np.array([1.5, -2], ml_dtypes.bfloat16)
        for array in (x, x.view(np.uint16)):  # with and without ml_dtypes
            self.assertEqual((as_torch(array, 16, torch).dtype, as_torch(array, 16, torch).array.tolist()), ("bf16", [0x3FC0, 0xC000]))
        self.assertIs(as_torch(np.zeros(1, np.int8), 22, torch).__class__, np.ndarray)
        self.assertEqual(as_torch(np.array(["a"], object), 8, torch).tolist(), ["a"])
        self.assertEqual(as_torch([x], 16, torch), [x])


if __name__ == "__main__":
    unittest.main()
