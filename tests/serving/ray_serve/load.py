"""load.py SECONDS QPS: requests at random times that do not wait for each other, half by a handle and half by HTTP, to a model on the CPU; every answer is
checked. Then the time of a call by each path beside a direct InferenceSession.run. Prints one line of JSON; exit code 1 if an answer is wrong or lost, or if
memory grows."""

import asyncio
import io
import json
import pathlib
import platform
import random
import statistics
import sys
import time

import aiohttp
import numpy as np
import ray
from onnx import TensorProto, helper
from ray import serve
from support import HTTP, PORT, SECONDS, cluster, models, processes, write

import onnx_cudnn as oc
from onnx_cudnn.serve import app

WIDTHS = (256, 512, 512, 64)  # of a network of products, the one of tests/triton/load.py
CALLS = 300
REPLICAS = 2
INPUTS = 16
# Memory of a replica after a tenth of the time and at the end: what Python's and Ray's own buffers may take meanwhile.
MOST_GROWTH_MB = 24


def network():
    """The model, and the same function by numpy."""
    rng, nodes, weights, last = np.random.default_rng(0), [], [], "x"
    for i, (inputs, outputs) in enumerate(zip(WIDTHS, WIDTHS[1:], strict=False)):
        weights.append((f"w{i}", (rng.standard_normal((inputs, outputs)) / inputs**0.5).astype(np.float32)))
        result = "y" if i == len(WIDTHS) - 2 else f"t{i}"
        nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"p{i}"]), helper.make_node("Tanh", [f"p{i}"], [result])]
        last = result

    def reference(x):
        for _, weight in weights:
            x = np.tanh(x.astype(np.float64) @ weight)
        return x.astype(np.float32)

    types = [[(name, TensorProto.FLOAT, ("N", width))] for name, width in (("x", WIDTHS[0]), ("y", WIDTHS[-1]))]
    return models.model(nodes, *types, weights), reference


def percentiles(seconds):
    """Milliseconds."""
    ordered = sorted(seconds)
    return {f"p{p}_ms": round(1000 * ordered[min(len(ordered) - 1, len(ordered) * p // 100)], 3) for p in (50, 99)}


def resident_mb(pid):
    words = pathlib.Path(f"/proc/{pid}/statm").read_text().split()
    return int(words[1]) * 4096 / 1e6


class Load:
    """The requests of one run and what became of them."""

    def __init__(self, handle, client, xs, ys):
        self.handle, self.client, self.xs, self.ys = handle, client, xs, ys
        self.bodies = [npy(x) for x in xs]
        self.seconds, self.wrong, self.lost = {"handle": [], "http": []}, [], []
        self.memory = []

    async def by_handle(self, i):
        return (await self.handle.remote({"x": self.xs[i]}))["y"]

    async def by_http(self, i):
        async with self.client.post(f"{HTTP}/load", data=self.bodies[i], headers={"content-type": "application/x-npy"}) as answer:
            body = await answer.read()
            if answer.status != 200:
                raise AssertionError(f"status {answer.status}: {body[:200]!r}")
            return np.load(io.BytesIO(body))

    async def one(self, path, i):
        begin = time.perf_counter()
        try:
            y = await asyncio.wait_for(self.by_handle(i) if path == "handle" else self.by_http(i), SECONDS)
        except Exception as error:
            self.lost.append(f"{path}: {type(error).__name__}: {error}"[:300])
            return
        self.seconds[path].append(time.perf_counter() - begin)
        if not np.allclose(y, self.ys[i], rtol=1e-4, atol=1e-5):
            self.wrong.append(f"{path}: input {i}")

    async def run(self, seconds, qps, pids):
        """Requests at the times of a Poisson process; the memory of the replicas each second."""
        times, tasks, begin, next_sample = random.Random(0), set(), time.perf_counter(), 0
        at = begin
        while at < begin + seconds:
            at += times.expovariate(qps)
            await asyncio.sleep(max(0, at - time.perf_counter()))
            task = asyncio.ensure_future(self.one("handle" if times.random() < 0.5 else "http", times.randrange(INPUTS)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            if time.perf_counter() - begin >= next_sample:
                next_sample += 1
                self.memory.append(sum(map(resident_mb, pids)))
        sent_in = time.perf_counter() - begin
        await asyncio.gather(*tasks)
        return sent_in


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


async def timed(call):
    """Percentiles of CALLS calls, one after the other, after a few."""
    seconds = []
    for i in range(CALLS + 20):
        begin = time.perf_counter()
        await call(i % INPUTS)
        seconds.append(time.perf_counter() - begin)
    return percentiles(seconds[20:])


async def measured(handle, session, reference, seconds, qps):
    rng = np.random.default_rng(1)
    xs = [rng.standard_normal((1, WIDTHS[0])).astype(np.float32) for _ in range(INPUTS)]
    ys = [reference(x) for x in xs]
    pids = list(await asyncio.to_thread(processes, handle, REPLICAS))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        load = Load(handle, client, xs, ys)
        await asyncio.gather(*(load.one(path, i) for path in ("handle", "http") for i in range(INPUTS)))
        load.seconds = {"handle": [], "http": []}
        before = await asyncio.to_thread(requests_of, handle)
        sent_in = await load.run(seconds, qps, pids)
        after = await asyncio.to_thread(requests_of, handle)

        async def direct(i):
            session.run(None, {"x": xs[i]})

        async def by_json(i):
            tensor = {"name": "x", "shape": [1, WIDTHS[0]], "datatype": "FP32", "data": xs[i].ravel().tolist()}
            async with client.post(f"{HTTP}/load", json={"inputs": [tensor]}) as answer:
                await answer.json()

        paths = {"session": direct, "handle": load.by_handle, "http_npy": load.by_http, "http_json": by_json}
        calls = {name: await timed(call) for name, call in paths.items()}
    for name in ("handle", "http_npy", "http_json"):
        calls[name]["overhead"] = {key: round(calls[name][key] - calls["session"][key], 3) for key in calls["session"]}
    tenth = max(1, len(load.memory) // 10)
    early, late = statistics.median(load.memory[tenth : 2 * tenth] or load.memory), statistics.median(load.memory[-tenth:])
    served = {name: after[name] - before[name] for name in ("requests", "batches")}
    return {
        "seconds": round(sent_in, 1), "qps": qps, "requests": sum(map(len, load.seconds.values())), "wrong": load.wrong[:20], "lost": load.lost[:20],
        "latency": {path: percentiles(times) for path, times in load.seconds.items() if times},
        "replicas": REPLICAS, "runs_per_request": round(served["batches"] / max(1, served["requests"]), 3),
        "replicas_mb": {"early": round(early, 1), "late": round(late, 1)}, "calls_one_after_the_other": calls, "calls": CALLS,
    }  # fmt: skip


def requests_of(handle):
    stats = [stats["batcher"] for stats in processes(handle, REPLICAS).values()]
    return {name: sum(replica[name] for replica in stats) for name in ("requests", "batches")}


def main():
    seconds, qps = float(sys.argv[1]), float(sys.argv[2])
    with cluster([{"num_cpus": 4}]):
        serve.start(http_options={"host": "127.0.0.1", "port": PORT})
        model, reference = network()
        path = write(model, "network.onnx")
        replicas = {"num_gpus": 0, "num_cpus": 0.1, "num_replicas": REPLICAS, "max_delay_s": 0, "options": {"threads": 1}}
        handle = serve.run(app(path, **replicas), name="load", route_prefix="/load")
        options = oc.SessionOptions()
        options.threads = 1
        session = oc.InferenceSession(path, options, ["CPUExecutionProvider"])
        facts = asyncio.run(measured(handle, session, reference, seconds, qps))
    facts = {**facts, "model": f"products {'-'.join(map(str, WIDTHS))}, f32", "ray": ray.__version__, "python": platform.python_version()}
    grown = facts["replicas_mb"]["late"] - facts["replicas_mb"]["early"]
    failed = [*facts["wrong"], *facts["lost"], *([f"memory of the replicas grew by {grown:.1f} MB"] if grown > MOST_GROWTH_MB else [])]
    print(json.dumps({**facts, "failed": failed}))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
