"""torch_peer.py [--models resnet18,resnet50] [--run ID]: PyTorch on the networks that onnx-cudnn-bench measures, as the same records.

BatchNorm is folded, weights and activations are channels-last, data stays on the device. "torch-graph" replays one CUDA graph of the eager
network, "torch-compile" is Inductor's max-autotune. median_ms and p99_ms are of runs one at a time, images_per_s of runs back to back.
Needs torch and torchvision (not among this project's dependencies), and a GPU.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import sys
import time
import uuid

WARM_UP_S = 0.5
ALONE_RUNS = 200
DTYPES = {"fp16": "float16", "bf16": "bfloat16", "tf32": "float32", "strict": "float32"}


def percentile(values, share):
    """By nearest rank, as our own tools."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def elapsed_ms(torch, call, runs):
    """Milliseconds of `runs` calls, by the device's clock."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(runs):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def measure(torch, call, batch, seconds):
    """median_ms, p99_ms and images_per_s of a call that is ready."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < WARM_UP_S:
        elapsed_ms(torch, call, 1)
    alone = [elapsed_ms(torch, call, 1) for _ in range(ALONE_RUNS)]
    median = statistics.median(alone)
    runs = max(1, int(1e3 * seconds / median))
    together = elapsed_ms(torch, call, runs)
    return {"median_ms": median, "p99_ms": percentile(alone, 99), "images_per_s": 1e3 * batch * runs / together}


def graphed(torch, network, x):
    """A replay of the network over x as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            network(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        network(x)
    return graph.replay


def compiled(torch, network, x):
    """Inductor's best, called until it has recorded its own graph."""
    import torch._inductor.config

    torch._dynamo.reset()
    torch._inductor.config.freezing = True
    call = torch.compile(network, mode="max-autotune")
    for _ in range(3):
        call(x)
    return lambda: call(x)


WAYS = {"torch-graph": graphed, "torch-compile": compiled}


def measure_one(torch, who, model, precision, batch, seconds):
    """The figures of one configuration, without what all records share."""
    import torchvision
    from torch.fx.experimental.optimization import fuse

    allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = allow_tf32
    torch.backends.cudnn.benchmark = True
    torch.cuda.reset_peak_memory_stats()
    dtype = getattr(torch, DTYPES[precision])
    start = time.perf_counter()
    network = fuse(torchvision.models.get_model(model, weights=None).eval())
    network = network.to("cuda", dtype).to(memory_format=torch.channels_last)
    x = torch.randn(batch, 3, 224, 224, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
    with torch.inference_mode():
        call = WAYS[who](torch, network, x)
        torch.cuda.synchronize()
        setup_s = time.perf_counter() - start
        figures = measure(torch, call, batch, seconds)
    return {"who": who, "model": model, "precision": precision, "batch": batch, **figures, "setup_s": setup_s,
            "context_s": 0.0, "peak_bytes": torch.cuda.max_memory_allocated()}


def driver_version():
    """Of the kernel's module, or "" where it says none."""
    path = pathlib.Path("/proc/driver/nvidia/version")
    words = path.read_text().split() if path.exists() else []
    return next((word for word in words if word[0].isdigit() and "." in word), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="resnet18,resnet50")
    parser.add_argument("--precisions", default="fp16,tf32")
    parser.add_argument("--batches", default="1,8,32,128,256")
    parser.add_argument("--ways", default="torch-graph", help=",".join(WAYS))
    parser.add_argument("--seconds", type=float, default=3, help="of runs back to back")
    parser.add_argument("--run", default=uuid.uuid4().hex[:8], help="the id that our own records of this run have")
    parser.add_argument("--output", type=pathlib.Path, help="the JSON file; standard output without it")
    parser.add_argument("--budget", type=float, default=540, help="seconds after which nothing more is begun")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("torch_peer.py: needs torch and torchvision: pip install torch torchvision")
    if not torch.cuda.is_available():
        sys.exit("torch_peer.py: torch sees no GPU")
    cudnn = torch.backends.cudnn.version()
    shared = {"device": torch.cuda.get_device_name(), "driver": driver_version(), "cuda": torch.version.cuda,
              "cudnn": f"{cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}", "commit": f"torch {torch.__version__}",
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "run": arguments.run}
    torch.manual_seed(0)
    torch.zeros(1, device="cuda")  # the context, which is not ours to measure
    records = []
    begin = time.perf_counter()
    for model in arguments.models.split(","):
        for precision in arguments.precisions.split(","):
            for batch in map(int, arguments.batches.split(",")):
                for who in arguments.ways.split(","):
                    if time.perf_counter() - begin > arguments.budget:
                        continue
                    records.append({**measure_one(torch, who, model, precision, batch, arguments.seconds), **shared})
                    print(json.dumps(records[-1]), file=sys.stderr, flush=True)
    text = json.dumps(records, indent=1) + "\n"
    arguments.output.write_text(text) if arguments.output else print(text, end="")


if __name__ == "__main__":
    main()
