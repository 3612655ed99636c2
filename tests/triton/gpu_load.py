"""gpu_load.py --bin BIN --backend BACKEND MODEL [options]: runs of a model on a GPU through Triton next to onnx-cudnn-bench, both with data in the GPU's memory
and the same number of Runs at once. Clients are processes of their own, whose inputs and outputs are in CUDA shared memory, so that a request carries names alone.
Each first compares an output with that of a request in the plain body. Unloading a model gives its memory back. Prints a JSON list, one record for each batch size.
Runs in the environment of server.py."""

import argparse
import base64
import ctypes
import json
import multiprocessing
import os
import pathlib
import subprocess
import tempfile
import threading
import time

import numpy as np
import tritonclient.grpc
from server import Server

CONFIG = """
backend: "onnx_cudnn"
max_batch_size: {batch}
input {{ name: "{input}" data_type: TYPE_FP32 dims: [3, 224, 224] }}
output {{ name: "{output}" data_type: TYPE_FP32 dims: [1000] }}
instance_group {{ kind: KIND_GPU count: {threads} gpus: 0 }}
parameters {{ key: "precision" value {{ string_value: "{precision}" }} }}
parameters {{ key: "batch_sizes" value {{ string_value: "{batch}" }} }}
"""
INPUT_BYTES, OUTPUT_BYTES = 3 * 224 * 224 * 4, 1000 * 4  # of a row
READY_S = 60  # for all clients to have compared their outputs
MOST_LEFT_MB = 256  # of GPU memory after the first and after the last model: kernels that only later ones load


def succeed(*codes):
    for code in codes:
        if code != 0:
            raise OSError(f"CUDA's driver returns {code}")


class DeviceMemory:
    """Zeros in memory of GPU 0 that another process can open."""

    def __init__(self, size):
        self.cuda = cuda = ctypes.CDLL("libcuda.so.1")
        context, self.address, self.handle = ctypes.c_void_p(), ctypes.c_uint64(), (ctypes.c_char * 64)()
        succeed(
            cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
            cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(size)), cuda.cuMemsetD8_v2(self.address, 0, ctypes.c_size_t(size)),
            cuda.cuIpcGetMemHandle(ctypes.byref(self.handle), self.address),
        )  # fmt: skip
        self.size = size

    def write(self, array):
        """Copies an array to the begin."""
        succeed(self.cuda.cuMemcpyHtoD_v2(self.address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)), self.cuda.cuCtxSynchronize())

    def read(self, offset, shape):
        """The f32 of this shape at an offset in bytes."""
        array = np.empty(shape, np.float32)
        succeed(self.cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(self.address.value + offset), ctypes.c_size_t(array.nbytes)))
        return array

    def register(self, client, name):
        client.register_cuda_shared_memory(name, base64.b64encode(bytes(self.handle)), 0, self.size)


def check_values(client, model, given, wanted, memory, batch):
    """The output of a request in the GPU's memory is that of the same request in the plain body."""
    brightness = np.linspace(1, 3, batch, dtype=np.float32).reshape(batch, 1, 1, 1)  # so that outputs of rows differ
    pixels = brightness * np.random.default_rng(batch).standard_normal((batch, 3, 224, 224), np.float32)
    memory.write(pixels)
    client.infer(model, [given], outputs=[wanted])
    found = memory.read(batch * INPUT_BYTES, (batch, 1000))
    plain = tritonclient.grpc.InferInput(given.name(), list(pixels.shape), "FP32")
    plain.set_data_from_numpy(pixels)
    expected = client.infer(model, [plain]).as_numpy(wanted.name())
    if not expected.any() or not np.allclose(found, expected, rtol=0, atol=0.01 * np.abs(expected).max()):
        raise AssertionError(f"outputs in the GPU's memory differ from those in the body by {np.abs(found - expected).max()} of {np.abs(expected).max()}")


def serve(port, model, names, batch, window, seconds, index, counts, ready):
    """A client that keeps `window` requests in flight; counts[index] = answers within `seconds` after a second of warm-up, or -1. The seconds of all clients are the
    same, from the barrier `ready` on: a client that is alone for a while would count more than its share."""
    client = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{port}")
    memory = DeviceMemory(batch * (INPUT_BYTES + OUTPUT_BYTES))
    region = f"{model}-{index}"
    memory.register(client, region)
    given = tritonclient.grpc.InferInput(names[0], [batch, 3, 224, 224], "FP32")
    given.set_shared_memory(region, batch * INPUT_BYTES)
    wanted = tritonclient.grpc.InferRequestedOutput(names[1])
    wanted.set_shared_memory(region, batch * OUTPUT_BYTES, offset=batch * INPUT_BYTES)
    check_values(client, model, given, wanted, memory, batch)
    ready.wait(READY_S)
    room, answered, failed = threading.Semaphore(window), [], []

    def ended(result, error):
        (answered if error is None else failed).append(time.monotonic())
        room.release()

    begin = time.monotonic() + 1
    while time.monotonic() < begin + seconds and not failed:
        room.acquire()
        client.async_infer(model, [given], callback=ended, outputs=[wanted])
    for _ in range(window):
        room.acquire()
    counts[index] = -1 if failed else sum(begin <= at < begin + seconds for at in answered)
    client.unregister_cuda_shared_memory(region)


def through_triton(server, model, names, batch, options):
    fresh = multiprocessing.get_context("spawn")  # gRPC and CUDA do not survive a fork
    counts, ready = fresh.Array("q", options.clients), fresh.Barrier(options.clients)
    clients = [fresh.Process(target=serve, args=(server.grpc_port, model, names, batch, options.window, options.seconds, i, counts, ready))
               for i in range(options.clients)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    if min(counts) < 0 or any(client.exitcode for client in clients):
        raise AssertionError(f"a request failed\n{server.output()[-3000:]}")
    return sum(counts) * batch / options.seconds


def by_bench(batch, options, folder):
    output = folder / f"bench-{batch}.json"
    subprocess.run([options.bin / "onnx-cudnn-bench", options.model, "--device", "cuda", "--precisions", options.precision, "--batches", str(batch), "--threads",
                    str(options.threads), "--seconds", str(options.seconds), "--output", output], check=True)
    return json.loads(output.read_text())[0]["images_per_s"]


def used_mb():
    """Memory of GPU 0 that all processes hold."""
    query = ["nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return int(subprocess.run(query, check=True, capture_output=True, text=True).stdout)


def check_given_back(records):
    for record in records:
        if record["unloaded_mb"] >= record["loaded_mb"]:
            raise AssertionError(f"unloading gave nothing back: {record}")
    if records[-1]["unloaded_mb"] > records[0]["unloaded_mb"] + MOST_LEFT_MB:
        raise AssertionError(f"memory is left after models were unloaded: {[record['unloaded_mb'] for record in records]} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--names", default="input,logits", help="of input and output")
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--precision", default="fp16")
    parser.add_argument("--threads", type=int, default=4, help="Runs at once")
    parser.add_argument("--clients", type=int, default=4, help="processes")
    parser.add_argument("--window", type=int, default=4, help="requests in flight of each")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--commit", default="")
    parser.add_argument("--run", default="")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    names, records = options.names.split(","), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for batch in map(int, options.batches.split(",")):
            place = folder / "models" / f"b{batch}" / "1"
            place.mkdir(parents=True)
            os.symlink(options.model.resolve(), place / "model.onnx")
            (place.parent / "config.pbtxt").write_text(
                CONFIG.format(batch=batch, input=names[0], output=names[1], threads=options.threads, precision=options.precision))
        with Server(folder / "models", "--model-control-mode=explicit") as server:
            for batch in map(int, options.batches.split(",")):
                model = f"b{batch}"
                server.http.load_model(model)
                triton = through_triton(server, model, names, batch, options)
                loaded = used_mb()
                server.http.unload_model(model)
                server.wait(lambda m=model: server.metric("onnx_cudnn_runs", m, device="cuda:0") is None)
                unloaded = used_mb()
                bench = by_bench(batch, options, folder)
                records.append({"who": "triton", "model": options.model.stem, "precision": options.precision, "batch": batch, "threads": options.threads,
                                "triton_images_per_s": round(triton, 1), "bench_images_per_s": round(bench, 1), "share": round(triton / bench, 3),
                                "loaded_mb": loaded, "unloaded_mb": unloaded,
                                "commit": options.commit, "run": options.run, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    text = json.dumps(records, indent=1)
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n")
    check_given_back(records)


if __name__ == "__main__":
    main()
