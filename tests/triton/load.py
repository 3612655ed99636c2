"""load.py --bench BENCH [--seconds S] [--qps Q] [--output FILE]: what Triton adds to a Run, and whether it loses or mixes up requests under load.

Requests one at a time, by HTTP and gRPC: the backend, and onnxruntime in Triton's Python backend, serving the same model in the same server. Then requests at
random times that do not wait for each other (open loop, Poisson) to the backend, where every reply is compared with onnxruntime's. Prints JSON; exit code 1: a
reply was wrong or missing, or the memory grew."""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import onnx
import onnxruntime
import tritonclient.grpc
import tritonclient.http
from onnx import TensorProto, helper, numpy_helper
from server import Server, infer_input

WIDTHS = (256, 512, 512, 64)  # of a network of products
KINDS = 64  # different inputs
WARM_UP = 50
GROWTH_BYTES = 16 << 20
PEER = """
import sys
sys.path.extend({paths!r})
import numpy as np
import onnxruntime
import triton_python_backend_utils as pb

class TritonPythonModel:
    def initialize(self, args):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = {threads}
        self.session = onnxruntime.InferenceSession({model!r}, options, providers=["CPUExecutionProvider"])

    def execute(self, requests):
        rows = [pb.get_input_tensor_by_name(request, "x").as_numpy() for request in requests]
        y, = self.session.run(["y"], {{"x": np.concatenate(rows)}})
        parts = np.split(y, np.cumsum([len(row) for row in rows])[:-1])
        return [pb.InferenceResponse([pb.Tensor("y", part)]) for part in parts]
"""
CONFIG = """
max_batch_size: 16
input {{ name: "x" data_type: TYPE_FP32 dims: {first} }}
output {{ name: "y" data_type: TYPE_FP32 dims: {last} }}
instance_group {{ kind: KIND_CPU count: 1 }}
dynamic_batching {{ }}
"""


def write_network(path):
    random_numbers = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    for i, (inputs, outputs) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        weights.append(numpy_helper.from_array((random_numbers.standard_normal((inputs, outputs)) / inputs**0.5).astype(np.float32), f"w{i}"))
        nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"p{i}"]), helper.make_node("Tanh", [f"p{i}"], ["y" if i == len(WIDTHS) - 2 else f"t{i}"])]
        last = f"t{i}"
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", width]) for name, width in (("x", WIDTHS[0]), ("y", WIDTHS[-1]))]
    graph = helper.make_graph(nodes, "network", types[:1], types[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_repository(repository, threads):
    for name, backend, extra in (("ours", "onnx_cudnn", f'parameters {{ key: "threads" value {{ string_value: "{threads}" }} }}\n'), ("peer", "python", "")):
        (repository / name / "1").mkdir(parents=True)
        (repository / name / "config.pbtxt").write_text(f'backend: "{backend}"\n' + CONFIG.format(first=WIDTHS[0], last=WIDTHS[-1]) + extra)
    network = repository / "ours/1/model.onnx"
    write_network(network)
    paths = [path for path in sys.path if "site-packages" in path]
    (repository / "peer/1/model.py").write_text(PEER.format(paths=paths, threads=threads, model=str(network)))
    return network


def percentiles(times_ms):
    ordered = sorted(times_ms)
    return {f"p{share}_ms": round(ordered[max(0, -(-len(ordered) * share // 100) - 1)], 4) for share in (50, 99)}


def one_at_a_time(seconds, call):
    for _ in range(WARM_UP):
        call()
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1000)
    return {"requests": len(times), **percentiles(times)}


def alone(server, network, bench, seconds, threads):
    """Times of requests of one row, and of the Run itself."""
    row = np.ones((1, WIDTHS[0]), np.float32)
    records = {}
    for model in ("ours", "peer"):
        for protocol, client, module in (("http", server.http, tritonclient.http), ("grpc", server.grpc, tritonclient.grpc)):
            records[f"{model}-{protocol}"] = one_at_a_time(seconds, lambda c=client, m=module, n=model: c.infer(n, [infer_input(m, "x", row, "FP32")]))
    output = network.parent / "bench.json"
    subprocess.run([bench, network, "--device", "cpu", "--batches", "1", "--seconds", str(seconds), "--host-threads", str(threads), "--output", output],
                   check=True, capture_output=True)
    record = json.loads(output.read_text())
    record = record[0] if isinstance(record, list) else record
    record = record.get("records", [record])[0]
    records["run"] = {"p50_ms": record["median_ms"], "p99_ms": record["p99_ms"]}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(network), options, providers=["CPUExecutionProvider"])
    records["onnxruntime-run"] = one_at_a_time(seconds, lambda: session.run(None, {"x": row}))
    for name, run in (("ours-http", "run"), ("ours-grpc", "run"), ("peer-http", "onnxruntime-run"), ("peer-grpc", "onnxruntime-run")):
        records[name]["overhead"] = {key: round(records[name][key] - records[run][key], 4) for key in ("p50_ms", "p99_ms")}
    return records


class OpenLoop:
    """Requests at random times; each reply is checked."""

    def __init__(self, server, network):
        self.server = server
        numbers = np.random.default_rng(1)
        self.inputs = [numbers.standard_normal((1 + i % 3, WIDTHS[0])).astype(np.float32) for i in range(KINDS)]
        session = onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"])
        self.expected = [session.run(None, {"x": x})[0] for x in self.inputs]
        self.given = [[infer_input(tritonclient.grpc, "x", x, "FP32")] for x in self.inputs]
        self.lock = threading.Lock()
        self.times_ms, self.wrong, self.errors = [], 0, []

    def _ended(self, kind, due, result, error):
        now = time.monotonic()
        is_right = error is None and np.allclose(result.as_numpy("y"), self.expected[kind], rtol=1e-4, atol=1e-5)
        with self.lock:
            self.times_ms.append((now - due) * 1000)
            if error is not None:
                self.errors.append(str(error))
            elif not is_right:
                self.wrong += 1

    def run(self, qps, seconds):
        chance = random.Random(2)
        before = self.server.statistics("ours")
        begin = due = time.monotonic()
        sent, sizes = 0, []
        while (due := due + chance.expovariate(qps)) < begin + seconds:
            if (wait := due - time.monotonic()) > 0:
                time.sleep(wait)
            kind = sent % KINDS
            self.server.grpc.async_infer("ours", self.given[kind], callback=lambda result, error, k=kind, d=due: self._ended(k, d, result, error))
            sent += 1
            if len(sizes) < 21 * (time.monotonic() - begin) / seconds:
                sizes.append(self.server.resident_bytes())
        end = time.monotonic() + 60
        while len(self.times_ms) < sent and time.monotonic() < end:
            time.sleep(0.05)
        sizes.append(self.server.resident_bytes())
        stats = self.server.statistics("ours")
        rows, executions = (stats[count] - before[count] for count in ("inference_count", "execution_count"))
        return {"offered_qps": qps, "seconds": seconds, "sent": sent, "answered": len(self.times_ms), "lost": sent - len(self.times_ms), "wrong": self.wrong,
                "errors": len(self.errors), "first_error": self.errors[:1], **percentiles(self.times_ms), "rows": rows, "executions": executions,
                "resident_bytes": sizes, "grown_bytes": sizes[-1] - sizes[len(sizes) // 5]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="onnx-cudnn-bench")
    parser.add_argument("--seconds", type=float, default=60, help="of the open loop")
    parser.add_argument("--alone-seconds", type=float, default=10, help="of requests one at a time, by each protocol")
    parser.add_argument("--qps", type=float, default=150)
    parser.add_argument("--threads", type=int, default=1, help="of a Run")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        repository = pathlib.Path(folder) / "models"
        network = write_repository(repository, options.threads)
        with Server(repository) as server:
            server.wait(lambda: server.http.is_model_ready("ours") and server.http.is_model_ready("peer"))
            record = {"network": list(WIDTHS), "threads": options.threads, "alone": alone(server, network, options.bench, options.alone_seconds, options.threads)}
            record["open_loop"] = OpenLoop(server, network).run(options.qps, options.seconds)
    text = json.dumps(record, indent=1)
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n")
    loop = record["open_loop"]
    sys.exit(bool(loop["lost"] or loop["wrong"] or loop["errors"] or loop["grown_bytes"] > GROWTH_BYTES))


if __name__ == "__main__":
    main()
