"""The backend in a real tritonserver (server.py): what it does with one model after the other."""

import concurrent.futures
import http.client
import pathlib
import signal
import socket
import tempfile
import threading
import time
import unittest

import numpy as np
import tritonclient.grpc
import tritonclient.http
import tritonclient.utils.shared_memory as shared_memory
from server import Server, infer_input, parameter, write_config, write_model
from tritonclient.utils import InferenceServerException

ONE = 'instance_group [{ kind: KIND_CPU }]\n'
SUMS = "g (float[N,2] x) => (float[N,2] y, float[N] sum) <int64[1] one = {1}> { y = Add(x, x) sum = ReduceSum<keepdims = 0>(x, one) }"
PICK = "g (float[N,2] x, int64[N,1] i) => (float[N,1] y) { y = GatherElements<axis = 1>(x, i) }"
# Four products of 512 × 512 matrices for each row: 0.05 s and more.
SLOW = """slow (float[N,512] x) => (float[N,512] y) <int64[2] shape = {512, 512}, float[1] step = {0.001}, int64[1] one = {1}, int64[1] two = {2}> {
  w = Expand(step, shape) a = Unsqueeze(x, two) b = Unsqueeze(x, one) t0 = Mul(a, b)
""" + "\n".join(f"  t{i + 1} = MatMul(t{i}, w)" for i in range(4)) + " y = ReduceMean<axes = [2], keepdims = 0>(t4) }"
EXPLICIT = ("--model-control-mode=explicit",)
ROWS = np.array([[1, 2], [3, 4]], np.float32)


class ServerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.repository = pathlib.Path(folder.name)

    def served(self, *options, **variables):
        return self.enterContext(Server(self.repository, *options, **variables))

    def infer(self, client, model, rows=ROWS, outputs=("y", "sum"), **options):
        wanted = [client.InferRequestedOutput(name) for name in outputs]
        server = self.server.http if client is tritonclient.http else self.server.grpc
        return server.infer(model, [infer_input(client, "x", rows, "FP32")], outputs=wanted, **options)

    def picked(self, index, rows=ROWS[:1]):
        inputs = [infer_input(tritonclient.grpc, "x", rows, "FP32"),
                  infer_input(tritonclient.grpc, "i", np.array([[index]], np.int64), "INT64")]
        return self.server.grpc.infer("pick", inputs).as_numpy("y")


class ModelsTest(ServerTest):
    def test_a_configuration_is_completed_and_both_protocols_answer(self):
        write_model(self.repository, "sums", SUMS)
        self.server = self.served()
        config = self.server.http.get_model_config("sums")
        self.assertEqual(config["max_batch_size"], 4)
        self.assertEqual([(i["name"], i["data_type"], i["dims"]) for i in config["input"]], [("x", "TYPE_FP32", [2])])
        self.assertEqual([(o["name"], o["dims"]) for o in config["output"]], [("y", [2]), ("sum", [1])])
        self.assertIn("dynamic_batching", config)
        self.assertEqual([(g["kind"], g["count"]) for g in config["instance_group"]], [("KIND_CPU", 1)])
        for client in (tritonclient.http, tritonclient.grpc):
            answer = self.infer(client, "sums")
            np.testing.assert_array_equal(answer.as_numpy("y"), 2 * ROWS)
            np.testing.assert_array_equal(answer.as_numpy("sum"), [[3], [7]])

    def test_scalars_strings_and_fixed_shapes(self):
        write_model(self.repository, "text", "g (string[N,1] x) => (string[N,1] y) { y = Identity(x) }")
        write_model(self.repository, "fixed", "g (float[2] x, float k) => (float[2] y) { y = Mul(x, k) }")
        self.server = self.served()
        words = np.array([["a"], ["Ωmega"]], dtype=np.object_)
        answer = self.server.http.infer("text", [infer_input(tritonclient.http, "x", words, "BYTES")]).as_numpy("y")
        self.assertEqual([word.decode() for word in answer[:, 0]], ["a", "Ωmega"])
        self.assertEqual(self.server.http.get_model_config("fixed")["max_batch_size"], 0)
        inputs = [infer_input(tritonclient.grpc, "x", np.array([1, 2], np.float32), "FP32"),
                  infer_input(tritonclient.grpc, "k", np.array([3], np.float32), "FP32")]
        np.testing.assert_array_equal(self.server.grpc.infer("fixed", inputs).as_numpy("y"), [3, 6])

    def test_versions_are_served_beside_each_other_and_polled(self):
        write_model(self.repository, "m", "g (float[N,2] x) => (float[N,2] y) { y = Add(x, x) }", "version_policy { all {} }\n")
        self.server = self.served("--model-control-mode=poll", "--repository-poll-secs=1")
        self.assertFalse(self.server.http.is_model_ready("m", "2"))
        write_model(self.repository, "m", "g (float[N,2] x) => (float[N,2] y) { y = Mul(x, x) }", "version_policy { all {} }\n", version=2)
        self.server.wait(lambda: self.server.http.is_model_ready("m", "2"))
        for version, expected in (("1", 2 * ROWS), ("2", ROWS * ROWS)):
            np.testing.assert_array_equal(self.infer(tritonclient.http, "m", outputs=("y",), model_version=version).as_numpy("y"), expected)

    def test_parameters_reach_the_session_and_unknown_ones_are_listed(self):
        write_model(self.repository, "good", SUMS, ONE + parameter("warm_up", "3") + parameter("batch_sizes", "3") + parameter("max_memory", "1G"))
        write_model(self.repository, "small", SLOW, ONE + parameter("max_memory", "10"))
        write_model(self.repository, "wrong", SUMS, parameter("precison", "fp16"))
        self.server = self.served(*EXPLICIT)
        self.server.http.load_model("good")
        self.assertEqual(self.server.metric("onnx_cudnn_programs_built", "good"), 1)
        with self.assertRaisesRegex(InferenceServerException, 'unknown parameter "precison", known are allow_nondeterministic, batch_sizes'):
            self.server.http.load_model("wrong")
        with self.assertRaisesRegex(InferenceServerException, "the limit is 10"):
            self.server.http.load_model("small")  # warming up fails, and each request says why
            self.infer(tritonclient.http, "small", np.ones((1, 512), np.float32), ("y",))

    def test_a_file_that_is_missing_or_no_model_is_an_error_of_the_load(self):
        write_model(self.repository, "gone", SUMS)
        (self.repository / "gone/1/model.onnxtxt").unlink()
        write_model(self.repository, "broken", "this is no graph")
        write_model(self.repository, "unsupported", "g (float[2] x) => (float[2] y) { y = Secret(x) }")
        self.server = self.served(*EXPLICIT)
        for model, reason in (("gone", "model.onnxtxt"), ("broken", "model.onnxtxt"), ("unsupported", "Secret")):
            with self.assertRaisesRegex(InferenceServerException, reason):
                self.server.http.load_model(model)
                self.infer(tritonclient.http, model)

    def test_instances_share_a_session(self):
        write_model(self.repository, "two", SUMS, "instance_group [{ kind: KIND_CPU count: 3 }]\n")
        write_model(self.repository, "all", SUMS, "instance_group [{ kind: KIND_MODEL count: 2 }]\n")
        self.server = self.served()
        self.assertEqual(self.server.metric("onnx_cudnn_programs_built", "two"), 3)  # of 1, 2 and 4 rows, once
        self.assertGreater(self.server.metric("onnx_cudnn_program_build_seconds", "two"), 0)
        self.assertEqual(self.server.metric("onnx_cudnn_graph_captures", "two"), 0)
        self.assertGreaterEqual(self.server.metric("onnx_cudnn_arena_bytes", "two"), 0)
        np.testing.assert_array_equal(self.infer(tritonclient.http, "all").as_numpy("y"), 2 * ROWS)

    def test_warm_up_of_the_server_and_of_the_backend(self):
        warm = ('max_batch_size: 8\nmodel_warmup [{ name: "w" batch_size: 5 inputs { key: "x" value '
                "{ data_type: TYPE_FP32 dims: [2] zero_data: true } } }]\n")
        write_model(self.repository, "warm", SUMS, warm + ONE + parameter("warm_up", "none") + parameter("batch_sizes", "any"))
        self.server = self.served()
        self.server.wait(lambda: self.server.metric("onnx_cudnn_runs", "warm") == 1)
        self.assertEqual(self.server.metric("onnx_cudnn_programs_built", "warm"), 1)

    def test_fifty_loads_and_unloads_keep_the_memory_bounded(self):
        write_model(self.repository, "slow", SLOW, ONE)
        self.server = self.served(*EXPLICIT, MALLOC_ARENA_MAX="1")  # an arena for each thread that there was would take long to fill
        rows = np.ones((1, 512), np.float32)
        sizes = []
        for _ in range(50):
            self.server.http.load_model("slow")
            self.infer(tritonclient.http, "slow", rows, ("y",))
            self.server.http.unload_model("slow")
            self.server.wait(lambda: not self.server.http.is_model_ready("slow") and self.server.metric("onnx_cudnn_runs", "slow") is None)
            sizes.append(self.server.resident_bytes())
        self.assertLess(sizes[-1] - sizes[9], 8 << 20, [size >> 10 for size in sizes])


class RequestsTest(ServerTest):
    def test_a_wrong_request_leaves_its_batch_mates_alone(self):
        write_model(self.repository, "pick", PICK, ONE + "max_batch_size: 16\ndynamic_batching { max_queue_delay_microseconds: 300000 }\n")
        self.server = self.served()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(self.picked, index) for index in (0, 1, 9, 0, 1, 1, 0, 1)]
        with self.assertRaisesRegex(InferenceServerException, "9"):
            answers[2].result()
        for answer, expected in zip(answers, (1, 2, None, 1, 2, 2, 1, 2), strict=True):
            if expected is not None:
                np.testing.assert_array_equal(answer.result(), [[expected]])
        with self.assertRaisesRegex(InferenceServerException, "unexpected shape|expected"):
            self.picked(0, np.ones((1, 3), np.float32))

    def test_requests_are_joined(self):
        write_model(self.repository, "sums", SUMS, ONE + "max_batch_size: 16\ndynamic_batching { max_queue_delay_microseconds: 20000 }\n")
        self.server = self.served()

        def ask(number):
            row = np.array([[number, 1]], np.float32)
            np.testing.assert_array_equal(self.infer(tritonclient.grpc, "sums", row).as_numpy("sum"), [[number + 1]])

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(200)))
        stats = self.server.statistics("sums")
        self.assertEqual(stats["inference_count"], 200)
        self.assertLess(stats["execution_count"], 150)
        self.assertGreater(max(batch["batch_size"] for batch in stats["batch_stats"]), 1)
        self.assertEqual(stats["inference_stats"]["success"]["count"], 200)
        for part in ("compute_input", "compute_infer", "compute_output"):
            self.assertGreater(stats["inference_stats"][part]["ns"], 0)

    def test_system_shared_memory_is_used_in_place(self):
        write_model(self.repository, "sums", SUMS)
        self.server = self.served()
        for name, key in (("in", "/oc_triton_in"), ("out", "/oc_triton_out")):
            region = shared_memory.create_shared_memory_region(name, key, 64)
            self.addCleanup(shared_memory.destroy_shared_memory_region, region)
            self.server.http.register_system_shared_memory(name, key, 64)
            if name == "in":
                shared_memory.set_shared_memory_region(region, [ROWS], offset=4)
        given = tritonclient.http.InferInput("x", [2, 2], "FP32")
        given.set_shared_memory("in", 16, offset=4)
        wanted = tritonclient.http.InferRequestedOutput("y")
        wanted.set_shared_memory("out", 16, offset=8)
        self.server.http.infer("sums", [given], outputs=[wanted])
        np.testing.assert_array_equal(shared_memory.get_contents_as_numpy(region, np.float32, [2, 2], offset=8), 2 * ROWS)

    def test_overload_is_a_clear_error_and_nothing_is_lost(self):
        queue = "default_queue_policy { max_queue_size: 4 }"
        write_model(self.repository, "slow", SLOW, ONE + f"max_batch_size: 1\ndynamic_batching {{ {queue} }}\n" + parameter("threads", "1"))
        self.server = self.served()
        rows = np.ones((1, 512), np.float32)

        def ask(_):
            made = infer_input(tritonclient.http, "x", rows, "FP32")
            body, header = tritonclient.http.InferenceServerClient.generate_request_body([made])
            connection = http.client.HTTPConnection("127.0.0.1", self.server.http_port, timeout=60)
            connection.request("POST", "/v2/models/slow/infer", body, {"Inference-Header-Content-Length": str(header)})
            answer = connection.getresponse()
            status, text = answer.status, answer.read()
            connection.close()
            return status, text

        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(ask, range(64)))
        statuses = {status for status, _ in answers}
        served = sum(status == 200 for status, _ in answers)
        self.assertEqual(statuses, {200, 503})
        self.assertTrue(all(b"maximum queue size" in text for status, text in answers if status == 503))
        self.assertEqual(self.server.statistics("slow")["inference_stats"]["success"]["count"], served)
        pending = [value for key, value in self.server.metrics().items() if key.startswith("nv_inference_pending_request_count")]
        self.assertEqual(pending, [0])
        self.assertGreaterEqual(served, 5)

    def test_a_client_that_leaves_takes_nothing_with_it(self):
        write_model(self.repository, "slow", SLOW, ONE + "max_batch_size: 4\ndynamic_batching {}\n")
        self.server = self.served()
        rows = np.ones((1, 512), np.float32)
        body, header = tritonclient.http.InferenceServerClient.generate_request_body([infer_input(tritonclient.http, "x", rows, "FP32")])
        head = (f"POST /v2/models/slow/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: {header}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")
        for part in (body, body[: len(body) // 2]):  # after the request, and in the middle of it
            with socket.create_connection(("127.0.0.1", self.server.http_port)) as connection:
                connection.sendall(head.encode() + part)
                time.sleep(0.05)
        cancelled = threading.Event()
        call = self.server.grpc.async_infer("slow", [infer_input(tritonclient.grpc, "x", rows, "FP32")],
                                            callback=lambda result, error: cancelled.set())
        call.cancel()
        self.assertTrue(cancelled.wait(30))
        self.assertEqual(self.infer(tritonclient.http, "slow", rows, ("y",)).as_numpy("y").shape, (1, 512))
        self.server.wait(lambda: self.server.statistics("slow")["inference_stats"]["success"]["count"] >= 2)

    def test_requests_end_before_the_server_does(self):
        write_model(self.repository, "slow", SLOW, ONE + "max_batch_size: 1\n" + parameter("threads", "1"))
        self.server = self.served()
        rows = np.ones((1, 512), np.float32)
        clients = [tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{self.server.grpc_port}") for _ in range(4)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(client.infer, "slow", [infer_input(tritonclient.grpc, "x", rows, "FP32")]) for client in clients]
            self.server.wait(lambda: self.server.statistics("slow")["inference_stats"]["success"]["count"] >= 1)
            self.server.http.close()  # the server waits for connections that are kept
            self.server.process.send_signal(signal.SIGTERM)
            for answer in answers:
                self.assertEqual(answer.result().as_numpy("y").shape, (1, 512))
        self.assertEqual(self.server.process.wait(60), 0, self.server.output()[-2500:])

    def test_an_instance_group_changes_while_the_model_serves(self):
        write_model(self.repository, "sums", SUMS, ONE)
        self.server = self.served(*EXPLICIT)
        self.server.http.load_model("sums")
        write_config(self.repository, "sums", "instance_group [{ kind: KIND_CPU count: 2 }]\n")
        self.server.http.load_model("sums")
        np.testing.assert_array_equal(self.infer(tritonclient.http, "sums").as_numpy("y"), 2 * ROWS)
        self.assertEqual(self.server.metric("onnx_cudnn_programs_built", "sums"), 3)


if __name__ == "__main__":
    unittest.main()
