"""onnx_cudnn.serve in Ray Serve on one node without a GPU: handles, HTTP, batches, errors, changes and loss of replicas."""

import asyncio
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import types
import unittest
import urllib.error
import urllib.request

import aiohttp
import numpy as np
import ray
import tritonclient.http
import yaml
from onnx import TensorProto, helper
from PIL import Image
from ray import serve
from ray.serve.context import _get_global_client
from ray.serve.schema import ServeDeploySchema
from support import HTTP, PORT, SECONDS, Callers, check_application, cluster, models, plus, processes, replicas, rows, until, write

import onnx_cudnn as oc
from onnx_cudnn._served import Served
from onnx_cudnn.data import Images, Predictor
from onnx_cudnn.serve import Model, ModelConfig, app, build

try:
    import torch
except ImportError:
    torch = None

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/serve_ray.py"
WITHOUT_GPU = {"num_gpus": 0, "num_cpus": 0.1, "options": {"threads": 1}}


def setUpModule():
    unittest.enterModuleContext(cluster([{"num_cpus": 4}]))
    serve.start(http_options={"host": "127.0.0.1", "port": PORT})


def run(model, name, **settings):
    """The handle of an application of its own, with HTTP below /name."""
    return serve.run(app(model, name=name, **WITHOUT_GPU, **settings), name=name, route_prefix=f"/{name}")


def post(path, body, kind="application/json", **headers):
    """(status, body, headers) of an answer."""
    request = urllib.request.Request(HTTP + path, body, {"content-type": kind, **headers})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


class OneReplicaTest(unittest.TestCase):
    """Two inputs and two outputs: sum and difference."""

    @classmethod
    def setUpClass(cls):
        cls.handle = run(write(models.add(), "add.onnx"), "add", max_batch=8, max_delay_s=0.05, version="7", max_body_bytes=1 << 20)
        cls.addClassCleanup(serve.delete, "add")

    def test_it_is_warm_before_it_is_ready(self):
        stats = self.handle.stats.remote().result()
        self.assertEqual(stats["warmed"], [f"a[{n}, 3], b[{n}, 3]" for n in (1, 2, 4, 8)])
        self.assertEqual((stats["device"], stats["gpus"], stats["version"]), ("cpu", [], "7"))
        self.handle.remote({"a": rows(1, 5), "b": rows(2, 5)}).result()
        self.assertEqual(self.handle.stats.remote().result()["programs"], stats["programs"])

    def test_a_handle_takes_arrays_of_numpy(self):
        a = rows(1, 2)
        found = self.handle.remote({"a": a, "b": [[1, 2, 3], [4, 5, 6]]}).result()
        self.assertEqual(list(found), ["sum", "difference"])
        np.testing.assert_array_equal(found["sum"], a + np.arange(1, 7, dtype=np.float32).reshape(2, 3))
        self.assertEqual(list(self.handle.remote({"a": a, "b": a}, ["difference"]).result()), ["difference"])

    @unittest.skipIf(torch is None, "needs torch: tools/test.sh --long=torch makes its environment")
    def test_a_handle_takes_tensors_of_torch(self):
        a = torch.arange(6.0).reshape(3, 2).t()  # not contiguous
        found = self.handle.remote({"a": a, "b": torch.ones(2, 3, requires_grad=True)}).result()
        torch.testing.assert_close(found["difference"], a - 1)

    def test_requests_of_one_moment_are_few_runs(self):
        before = self.handle.stats.remote().result()["batcher"]
        responses = [self.handle.remote({"a": rows(i), "b": rows(0)}) for i in range(40)]
        for i, response in enumerate(responses):
            np.testing.assert_array_equal(response.result()["sum"], rows(i) + rows(0))
        after = self.handle.stats.remote().result()["batcher"]
        self.assertEqual(after["requests"] - before["requests"], 40)
        self.assertLessEqual(after["batches"] - before["batches"], 20)

    def test_errors_are_those_of_a_session_and_the_requests_own(self):
        good = {"a": rows(1), "b": rows(1)}
        wrong = (({"a": rows(1)}, {}, oc.InvalidArgument), ({**good, "c": 1}, {}, oc.InvalidArgument), ({**good, "a": rows(1, 2)}, {}, oc.InvalidArgument),
                 ({"a": rows(1, 9), "b": rows(1, 9)}, {}, oc.InvalidArgument), (good, {"outputs": ["z"]}, oc.InvalidArgument), (good, {"timeout_s": 0.001}, oc.Cancelled))  # fmt: skip
        responses = [(self.handle.remote(inputs, **more), kind) for inputs, more, kind in wrong]
        between = [self.handle.remote(good) for _ in range(8)]
        for response, kind in responses:
            with self.subTest(kind), self.assertRaises(kind):
                response.result()
        for response in between:
            np.testing.assert_array_equal(response.result()["sum"], 2 * rows(1))

    def test_json(self):
        def tensor(name):
            return {"name": name, "datatype": "FP32", "shape": [1, 3], "data": [[1, 2, 3]]}

        body = {"id": "9", "inputs": [tensor("a"), tensor("b")], "outputs": [{"name": "sum"}]}
        for path in ("/add", "/add/v2/models/add/infer", "/add/v2/models/add/versions/7/infer"):
            status, answer, _ = post(path, json.dumps(body).encode())
            self.assertEqual((status, json.loads(answer)), (200, {"model_name": "add", "model_version": "7", "id": "9", "outputs": [
                {"name": "sum", "datatype": "FP32", "shape": [1, 3], "data": [2, 4, 6]}]}))  # fmt: skip

    def test_files_of_numpy(self):
        file = io.BytesIO()
        np.savez(file, a=rows(1), b=rows(2))
        status, answer, headers = post("/add", file.getvalue(), "application/x-npz")
        self.assertEqual((status, headers["content-type"]), (200, "application/x-npz"))
        np.testing.assert_array_equal(np.load(io.BytesIO(answer))["difference"], rows(1) - rows(2))

    def test_a_client_of_the_protocol(self):
        client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{PORT}/add", network_timeout=SECONDS)
        self.assertTrue(client.is_server_live() and client.is_server_ready() and client.is_model_ready("add"))
        self.assertEqual(client.get_model_metadata("add")["outputs"][0], {"name": "sum", "datatype": "FP32", "shape": [-1, 3]})
        for binary in (True, False):
            inputs = [tritonclient.http.InferInput(name, [2, 3], "FP32") for name in "ab"]
            for tensor, seed in zip(inputs, (1, 2), strict=True):
                tensor.set_data_from_numpy(rows(seed, 2), binary_data=binary)
            outputs = [tritonclient.http.InferRequestedOutput("sum", binary_data=binary)]
            np.testing.assert_array_equal(client.infer("add", inputs, outputs=outputs).as_numpy("sum"), rows(1, 2) + rows(2, 2))
        np.testing.assert_array_equal(client.infer("add", inputs).as_numpy("difference"), rows(1, 2) - rows(2, 2))

    def test_statuses(self):
        good = {"inputs": [{"name": name, "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]} for name in "ab"]}
        for path, body, kind, status, text in (
            ("/add", b"{", "application/json", 400, "JSONDecodeError"), ("/add", json.dumps({"inputs": good["inputs"][:1]}).encode(), "application/json", 400, "b"),
            ("/add", b"x", "text/csv", 415, "expected application/json"), ("/add", bytes(2 << 20), "application/json", 413, "max_body_bytes = 1048576"),
            ("/add/v2/models/other/infer", b"{}", "application/json", 404, "expected 'add'"), ("/add/v2/models/add/ready", b"{}", "application/json", 405, "expected GET"),
            ("/add?timeout_s=0.001", json.dumps(good).encode(), "application/json", 504, "deadline"),
        ):  # fmt: skip
            with self.subTest(status=status):
                found, answer, _ = post(path, body, kind)
                self.assertEqual(found, status, answer)
                self.assertIn(text, json.loads(answer)["error"])


class SlowBodyTest(unittest.IsolatedAsyncioTestCase):
    """A replica without Ray, whose client stops within the body until `goes_on`."""

    def setUp(self):
        file = io.BytesIO()
        np.save(file, rows(5))
        self.body, self.goes_on = file.getvalue(), asyncio.Event()
        self.request = types.SimpleNamespace(method="POST", scope={"path": "/"}, headers={"content-type": "application/x-npy"}, query_params={}, stream=self.stream)

    async def stream(self):
        yield self.body[:9]
        await self.goes_on.wait()
        yield self.body[9:]

    def replica(self, **config):
        replica = Model.__new__(Model)
        replica._name, replica._served = "slow", self.served(1, **config)
        return replica

    def served(self, number, **config):
        return Served(ModelConfig(plus(number, f"slow{number}.onnx"), options={"threads": 1}, max_batch=1, **config), gpus=0)

    async def test_it_does_not_hold_the_model(self):
        replica = self.replica()
        answer = asyncio.ensure_future(replica._answer(self.request))
        await asyncio.sleep(0.01)
        old, replica._served = replica._served, self.served(10)
        await asyncio.wait_for(old.close(), SECONDS / 10)
        self.assertFalse(answer.done())
        self.goes_on.set()
        np.testing.assert_array_equal(np.load(io.BytesIO((await answer).body)), rows(5) + 10)

    async def test_it_has_as_long_as_a_request(self):
        answer = await asyncio.wait_for(self.replica(timeout_s=0.05)._answer(self.request), SECONDS / 10)
        self.assertEqual((answer.status_code, json.loads(answer.body)), (504, {"error": "the body had not arrived after timeout_s = 0.05"}))

    async def test_it_is_refused_when_it_is_too_long(self):
        self.assertEqual((await self.replica(max_body_bytes=8)._answer(self.request)).status_code, 413)


class OverloadTest(unittest.TestCase):
    def test_what_cannot_wait_is_refused_and_the_rest_is_answered(self):
        # A batch waits for half a second; a replica takes two requests of two rows, and four rows may wait.
        run(plus(1, "overload.onnx"), "overload", max_batch=4, max_queued=4, max_delay_s=0.5, max_ongoing_requests=64, batch_sizes=[4], runs_at_once=1)
        self.addCleanup(serve.delete, "overload")
        file = io.BytesIO()
        np.save(file, rows(5, 3))

        async def one(client):
            async with client.post(f"{HTTP}/overload", data=file.getvalue(), headers={"content-type": "application/x-npy"}) as answer:
                return answer.status, await answer.read()

        async def many():
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
                return await asyncio.gather(*(one(client) for _ in range(24)))

        answers = asyncio.run(many())
        self.assertEqual({status for status, _ in answers}, {200, 503})
        for status, body in answers:
            if status == 200:
                np.testing.assert_array_equal(np.load(io.BytesIO(body)), rows(5, 3) + 1)
            else:
                self.assertIn("max_queued = 4", json.loads(body)["error"])


class SingleRunsTest(unittest.TestCase):
    def test_a_model_of_fixed_shape_runs_request_by_request(self):
        gather = models.model([helper.make_node("Gather", ["t", "i"], ["y"])], [("i", TensorProto.INT64, [1])], [("y", TensorProto.STRING, [1])],
                              [("t", np.array(["a", "b"], object))])
        handle = run(write(gather, "gather.onnx"), "gather")
        self.addCleanup(serve.delete, "gather")
        responses = [handle.remote({"i": np.array([i])}) for i in (1, 0, 7, 1)]
        self.assertEqual([responses[i].result()["y"].tolist() for i in (0, 1, 3)], [["b"], ["a"], ["b"]])
        with self.assertRaises(oc.InvalidArgument):
            responses[2].result()
        stats = handle.stats.remote().result()
        self.assertIn("each request is a run of its own", stats["batching"])
        self.assertIsNone(stats["batcher"])


class ChangeTest(unittest.TestCase):
    """Two replicas under load."""

    def deployed(self, name, model, **settings):
        """Applies a configuration file, as `serve deploy` does."""
        replica = {"name": name, "num_replicas": 2, "user_config": {"model": model, "options": {"threads": 1}, **settings}}
        application = {"name": name, "route_prefix": f"/{name}", "import_path": "onnx_cudnn.serve:build",
                       "args": {"name": name, "num_gpus": 0, "num_cpus": 0.1, "max_constructor_retry_count": 1}, "deployments": [replica]}  # fmt: skip
        _get_global_client().deploy_apps(ServeDeploySchema(applications=[application]))

    def test_reconfigure_swaps_the_model_without_loss(self):
        one, ten = plus(1, "one.onnx"), plus(10, "ten.onnx")
        self.deployed("swap", one)
        self.addCleanup(serve.delete, "swap")
        until(lambda: replicas("swap") == 2, "two replicas")
        handle = serve.get_app_handle("swap")
        before = processes(handle, 2)
        with Callers(handle, (1, 10)) as callers:
            callers.wait_for(1, 50)
            self.deployed("swap", ten, max_batch=4)
            until(lambda: {stats["model"] for stats in processes(handle, 2).values()} == {ten}, "both replicas have the new model")
            old = callers.answers[1]
            callers.wait_for(10, 50)
            self.assertEqual(callers.answers[1], old)
        self.assertEqual((callers.errors, callers.retried), ([], []))
        self.assertEqual(set(processes(handle, 2)), set(before))  # the same processes
        self.expect_that_a_model_that_does_not_load_is_told(handle, ten)

    def expect_that_a_model_that_does_not_load_is_told(self, handle, good):
        self.deployed("swap", "/nowhere/model.onnx", max_batch=4)

        def told():
            return "/nowhere/model.onnx" in "".join(d.message for a in serve.status().applications.values() for d in a.deployments.values())

        until(told, "the status has the error")
        self.deployed("swap", good, max_batch=8)
        until(lambda: replicas("swap") == 2 and serve.status().applications["swap"].status == "RUNNING", "two replicas are there again")
        np.testing.assert_array_equal(handle.remote({"x": rows(3)}).result()["y"], rows(3) + 10)

    def test_rolling_update_under_load(self):
        handle = run(plus(1, "first.onnx"), "roll", num_replicas=2)
        self.addCleanup(serve.delete, "roll")
        before = processes(handle, 2)
        with Callers(handle, (1, 10)) as callers:
            callers.wait_for(1, 50)
            run(plus(10, "second.onnx"), "roll", num_replicas=2)
            after = processes(handle, 2, excluding=before)
            callers.wait_for(10, 50)
        self.assertEqual((callers.errors, callers.retried), ([], []))
        self.assertEqual(len(after), 2)

    def test_a_killed_replica_loses_no_answer(self):
        handle = run(plus(1, "kill.onnx"), "kill", num_replicas=2, health_check_period_s=1)
        self.addCleanup(serve.delete, "kill")
        before = processes(handle, 2)
        killed = min(before)
        with Callers(handle, (1,), threads=8) as callers:
            callers.wait_for(1, 50)
            os.kill(killed, signal.SIGKILL)
            callers.wait_for(1, 200)
            after = processes(handle, 2, excluding=[killed])
            callers.wait_for(1, 50)
        self.assertEqual(callers.errors, [])
        self.assertLessEqual(len(callers.retried), 8)  # what the replica had: at most one request of each caller
        self.assertEqual(len(set(after) - set(before)), 1)


class ApplicationTest(unittest.TestCase):
    def test_another_deployment_has_its_handle(self):
        @serve.deployment(ray_actor_options={"num_cpus": 0.1})
        class Twice:
            def __init__(self, model):
                self.model = model

            async def __call__(self, x):
                once = await self.model.remote({"x": x})
                return (await self.model.remote({"x": once["y"]}))["y"]

        handle = serve.run(Twice.bind(app(plus(1, "twice.onnx"), **WITHOUT_GPU)), name="twice", route_prefix=None)
        self.addCleanup(serve.delete, "twice")
        np.testing.assert_array_equal(handle.remote(rows(1)).result(), rows(1) + 2)

    def test_arguments_of_a_command_line_are_texts(self):
        handle = serve.run(build({"model": plus(1, "1.onnx"), "num_gpus": "0", "num_cpus": "0.1", "max_batch": "2", "options": '{"threads": 1}'}), name="line", route_prefix=None)
        self.addCleanup(serve.delete, "line")
        self.assertEqual(handle.stats.remote().result()["batching"], "up to 2 rows")

    def test_what_is_refused_before_anything_starts(self):
        for settings, kind in (({"max_batch": "8"}, oc.InvalidArgument), ({"user_config": {}}, oc.InvalidArgument), ({"no_such_option": 1}, oc.InvalidArgument), ({"num_gpus": "half"}, oc.InvalidArgument),
                               ({"options": {"precison": "fp16"}}, oc.InvalidArgument)):  # fmt: skip
            with self.subTest(settings), self.assertRaises(kind):
                app("model.onnx", **settings)
        with self.assertRaisesRegex(oc.InvalidArgument, 'unknown argument "modell" of onnx_cudnn.serve.app; did you mean model?'):
            build({"modell": "model.onnx", "num_gpus": "0"})

    def test_a_model_that_is_not_there_fails_with_its_name(self):
        with self.assertRaises(RuntimeError):
            run("/nowhere/model.onnx", "none", max_constructor_retry_count=1)
        self.addCleanup(serve.delete, "none")
        self.assertIn("/nowhere/model.onnx", serve.status().applications["none"].deployments["none"].message)


class ManifestTest(unittest.TestCase):
    def test_the_application_of_the_rayservice(self):
        text = yaml.safe_load((ROOT / "examples/deploy/rayservice.yaml").read_text())["spec"]["serveConfigV2"]
        check_application(text)
        for good, typo in (("route_prefix:", "route_prefx:"), ("serve:build", "serve:app"), ("request_timeout_s:", "timeout:"), ("num_gpus:", "num_gpu:"),
                           ("max_replicas: 4", "max_replicas: 0"), ("target_ongoing_requests:", "target_requests:"), ("max_batch:", "max_bach:"),
                           ("{name: resnet50,", "{name: resnet,"), ("precision:", "precison:")):  # fmt: skip
            self.assertIn(good, text)
            with self.subTest(typo), self.assertRaises((ValueError, TypeError, AssertionError, oc.InvalidArgument)):
                check_application(text.replace(good, typo))


class ExampleTest(unittest.TestCase):
    def test_the_example_serves_until_it_is_interrupted(self):
        self.addCleanup(serve.delete, "default")
        environment = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
        example = subprocess.Popen([sys.executable, EXAMPLE, plus(1, "example.onnx"), "0"], env=environment)
        try:
            file = io.BytesIO()
            np.save(file, rows(1))
            until(lambda: post("/", file.getvalue(), "application/x-npy")[0] == 200 or example.poll() is not None, "the example answers")
            np.testing.assert_array_equal(np.load(io.BytesIO(post("/", file.getvalue(), "application/x-npy")[1])), rows(1) + 1)
            example.send_signal(signal.SIGINT)
            self.assertEqual(example.wait(SECONDS), 0)
        finally:
            example.kill()


class DataTest(unittest.TestCase):
    def test_a_folder_of_pictures(self):
        folder = pathlib.Path(os.environ["RAY_TMPDIR"], "pictures")
        folder.mkdir()
        colors = np.random.default_rng(0).integers(0, 256, (30, 3), np.uint8)
        for i, color in enumerate(colors):
            Image.new("RGB", (20 + i, 30), tuple(map(int, color))).save(folder / f"{i:02}.png")
        pool = models.model([helper.make_node("GlobalAveragePool", ["x"], ["p"]), helper.make_node("Flatten", ["p"], ["y"])],
                            [("x", TensorProto.FLOAT, ("N", 3, 8, 8))], [("y", TensorProto.FLOAT, ("N", 3))])
        pictures = ray.data.read_images(str(folder), size=(8, 8), mode="RGB", include_paths=True)
        means = pictures.map_batches(
            Predictor,
            fn_constructor_kwargs={"model": write(pool, "pool.onnx"), "prepare": Images("x", mean=(0, 0, 0), std=(1, 1, 1)), "outputs": {"y": "mean"}},
            batch_size=8, num_cpus=0.5, compute=ray.data.ActorPoolStrategy(size=2))  # fmt: skip
        found = {pathlib.Path(row["path"]).stem: row["mean"] for row in means.take_all()}
        self.assertEqual(sorted(found), [f"{i:02}" for i in range(30)])
        for i, color in enumerate(colors):
            np.testing.assert_allclose(found[f"{i:02}"], color / 255, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
