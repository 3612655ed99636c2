"""PyTorch as a peer of peers.py: the networks of models/torch_networks.py and torchvision, timed by the device's clock. ResNets have BatchNorm folded;
images are channels-last.

"torch" is eager, "torch-graph" replays one CUDA graph of it, "torch-compile" is Inductor's max-autotune, "torch-reduce-overhead" its mode of that
name, which tunes less. Several callers (threads) run on a stream each, and wait for each of their runs: eager, or by a CUDA graph each, which for
torch-compile and torch-reduce-overhead is one of what Inductor compiled without its own graphs. With TORCHINDUCTOR_CACHE_DIR their records say whether that folder was empty. Needs torch and torchvision (not among this project's dependencies), and a GPU.
"""

import os
import pathlib
import sys
import time

from gpu_tests import device
from timing import device_ms, events_ms, measure, network_of, runs_per_s

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE / "models"), str(HERE.parents[1] / "models")]  # unpacked by tools/package.sh, or in the tree

AHEAD_CYCLES = 10_000_000  # five milliseconds and more: eager networks take the host two

DTYPES = {"fp16": "float16", "bf16": "bfloat16", "tf32": "float32", "strict": "float32"}


def about():
    """Fields that all its records share. ImportError: not installed; RuntimeError: no GPU."""
    import torch
    import torchvision  # noqa: F401

    if not torch.cuda.is_available():
        raise RuntimeError("torch sees no GPU")
    torch.manual_seed(0)
    torch.zeros(1, device="cuda")  # the context, which is not ours to measure
    cudnn = torch.backends.cudnn.version()
    return {**device(), "cuda": torch.version.cuda, "cudnn": f"{cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}",
            "commit": f"torch {torch.__version__}"}


def eager(torch, network, x):
    return lambda: network(x)


def graphed(torch, network, x):
    """A function that replays the network on x as one CUDA graph."""
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


def compiled_by(mode):
    """A function that compiles the network with a mode of torch.compile and calls it until Inductor has captured its CUDA graph."""

    def compiled(torch, network, x):
        import torch._inductor.config

        torch._dynamo.reset()
        torch._inductor.config.freezing = True
        call = torch.compile(network, mode=mode)
        for _ in range(3):
            call(x)
        return lambda: call(x)

    return compiled


WAYS = {"torch": eager, "torch-graph": graphed, "torch-compile": compiled_by("max-autotune"), "torch-reduce-overhead": compiled_by("reduce-overhead")}


# Modes without Inductor's own CUDA graphs, which belong to one thread.
WITHOUT_GRAPHS = {"torch-compile": "max-autotune-no-cudagraphs", "torch-reduce-overhead": "default"}


def callers(torch, who, network, x, count):
    """So many functions that do one run on their own stream and input, and wait for it."""
    if mode := WITHOUT_GRAPHS.get(who):
        import torch._inductor.config

        torch._dynamo.reset()
        torch._inductor.config.freezing = True
        network = torch.compile(network, mode=mode)
        network(x)

    def caller():
        stream, own_x = torch.cuda.Stream(), x.clone()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                network(own_x)
        stream.synchronize()
        graph = None
        if who != "torch":
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                network(own_x)

        def run():
            with torch.inference_mode(), torch.cuda.stream(stream):  # both belong to a thread
                graph.replay() if graph else network(own_x)
            stream.synchronize()

        return run

    return [caller() for _ in range(count)]


def inductor_cache():
    """{"inductor_cache": "empty" or "filled"} if a folder for it is set."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if not folder:
        return {}
    return {"inductor_cache": "filled" if os.path.isdir(folder) and os.listdir(folder) else "empty"}


def measure_one(configuration, seconds, model_folder):
    """The measurements of one configuration; model_folder is not used."""
    import torch
    import torch_networks
    from torch.fx.experimental.optimization import fuse

    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = configuration.precision == "tf32"
    torch.backends.cudnn.benchmark = True
    torch.cuda.reset_peak_memory_stats()
    dtype = getattr(torch, DTYPES[configuration.precision])
    cache = inductor_cache()
    start = time.perf_counter()
    name, size = network_of(configuration.model)
    network = torch_networks.network(name)
    if "resne" in name:  # and resnext
        network = fuse(network)
    network = network.to("cuda", dtype).to(memory_format=torch.channels_last)
    x = torch_networks.random_input(name, configuration.batch, size or 224).to("cuda")
    if x.is_floating_point():
        x = x.to(dtype).to(memory_format=torch.channels_last if x.dim() == 4 else torch.contiguous_format)
    with torch.inference_mode():
        call = WAYS[configuration.who](torch, network, x)
        torch.cuda.synchronize()
        setup_s = time.perf_counter() - start
        figures = measure(events_ms(call), configuration.batch, seconds)
        figures["device_ms"] = device_ms(events_ms(call, ahead=lambda: torch.cuda._sleep(AHEAD_CYCLES)))
        if configuration.threads > 1:
            several = callers(torch, configuration.who, network, x, configuration.threads)
            figures["images_per_s"] = configuration.batch * runs_per_s(several, seconds)
    return {**figures, **cache, "clock": "events", "setup_s": setup_s, "context_s": 0.0, "peak_bytes": torch.cuda.max_memory_allocated()}
