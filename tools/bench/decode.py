"""decode.py --output FILE: one decoding step of the network of models/make_decoder.py, by onnx-cudnn (genai: as models/make_genai_decoder.py writes it)
and by torch.compile with a static cache.

Each configuration runs in a process of its own. The caches hold all but a few tokens and are updated in place; every program gets the same weights,
caches and ids. A record has the times of single and of back-to-back steps (tokens_per_s), the bytes of weights and caches that a step reads at least,
gb_per_s, these over the median, and difference, the largest one of the logits of a few steps from those of the first program, relative to its
largest. "copy" is a device copy of 1 GiB, read and write. Needs the Python package onnx_cudnn, onnx and numpy; on a GPU also torch.
"""

import argparse
import concurrent.futures
import datetime
import importlib.util
import itertools
import json
import math
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile
import time
import uuid

import numpy as np
from gpu_tests import device
from timing import events_ms, measure

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE / "models"), str(HERE.parents[1] / "models")]  # unpacked by tools/package.sh, or in the tree

import make_decoder as decoder  # noqa: E402
import make_genai_decoder as genai_decoder  # noqa: E402

OURS, GENAI, TORCH_SDPA, TORCH_WRITTEN, COPY = "onnx-cudnn", "onnx-cudnn-genai", "torch-compile-sdpa", "torch-compile-written", "copy"
STEPS = 4  # whose logits are compared
LIMIT_S = 400


def caches_of(batch, cache):
    """Keys and values of every layer, f16 [batch, KEY_HEADS, cache, CHANNELS]."""
    random = np.random.default_rng(1)
    return [random.standard_normal((batch, decoder.KEY_HEADS, cache, decoder.CHANNELS), np.float32).astype(np.float16) for _ in range(2)]


def ids_of(batch):
    """The ids of the steps that are compared, i64 [STEPS, batch, 1]."""
    return np.random.default_rng(2).integers(0, decoder.WORDS, (STEPS, batch, 1))


def first_length(cache):
    return cache - STEPS


def bytes_read(layers, int4, batch, cache):
    """Of weights and caches, by a step with the caches' first `first_length` tokens; of the table of words only the rows of the tokens."""
    weights = sum(w.bytes() for w in decoder.weights_of(layers, int4) if w.name != "words")
    return weights + 2 * 2 * layers * batch * decoder.KEY_HEADS * first_length(cache) * decoder.CHANNELS


def clock_ms(call):
    """What events_ms gives, for calls that return when they have ended."""

    def elapsed_ms(runs):
        start = time.perf_counter()
        for _ in range(runs):
            call()
        return 1e3 * (time.perf_counter() - start)

    return elapsed_ms


def feed_of(who, batch, step, arguments):
    """The inputs of a step but for the caches."""
    ids, length = ids_of(batch)[step], first_length(arguments.cache) + step
    if who == OURS:
        return {"ids": ids, "lengths": np.full(batch, length)}
    mask = np.zeros((batch, arguments.cache), np.int64)
    mask[:, :length] = 1
    return {"input_ids": ids, "attention_mask": mask}


def cache_names(who, kind, layer):
    """(input, output)"""
    return (f"{kind}_{layer}", f"present_{kind}_{layer}") if who == OURS else (f"past_key_values.{layer}.{kind}", f"present.{layer}.{kind}")


def measure_ours(arguments, folder, batch, who):
    import onnx_cudnn as oc

    start = time.perf_counter()
    options = oc.SessionOptions()
    options.device, options.precision = arguments.device, "fp16"
    options.partitioner, options.tune_budget_s = arguments.partitioner, arguments.tune_budget
    if arguments.plan_cache:
        options.plan_cache = str(arguments.plan_cache)
    session = oc.InferenceSession(folder / f"{'decoder' if who == OURS else 'genai'}.onnx", options)
    place = "cuda" if arguments.device == "cuda" else "cpu"

    def value(array):
        return oc.OrtValue.ortvalue_from_numpy(np.array(array), place)

    memory, outputs = {}, {}
    for kind, data in zip(("key", "value"), caches_of(batch, arguments.cache)):
        for layer in range(arguments.layers):
            past, present = cache_names(who, kind, layer)
            memory[past] = outputs[present] = value(data)
    outputs["logits"] = oc.OrtValue.ortvalue_from_shape_and_type((batch, 1, decoder.WORDS), np.float16, place)

    def bound(step):
        return session.bind({**{name: value(array) for name, array in feed_of(who, batch, step, arguments).items()}, **memory}, outputs)

    logits = []
    for step in range(STEPS):
        binding = bound(step)
        binding.run()
        logits.append(outputs["logits"].numpy().astype(np.float32))
    setup_s = time.perf_counter() - start
    binding = bound(0)
    if place == "cuda":
        import torch

        with torch.cuda.stream(torch.cuda.Stream()):
            stream = torch.cuda.current_stream()
            figures = measure(events_ms(lambda: binding.run(stream=stream)), batch, arguments.seconds)
    else:
        figures = measure(clock_ms(binding.run), batch, arguments.seconds)
    return {**figures, "setup_s": setup_s, "graph_note": binding.graph_note, "graph_captures": session.stats().graph_captures, "commit": arguments.commit, "partitioner": arguments.partitioner}, logits


def torch_weights(arguments, folder):
    """{name: weight on the GPU} of the model's file."""
    import torch

    data = np.memmap(folder / "decoder.data", np.uint8, "r")
    weights = {}
    for weight, offset in decoder.placed(arguments.layers, False):
        flat = data[offset:offset + weight.bytes()].view(np.float16)
        weights[weight.name] = torch.from_numpy(np.array(flat)).reshape(weight.shape).cuda()
    return weights


def torch_network(arguments, folder, batch, attend):
    """An nn.Module of (ids, lengths) → logits on the GPU. attend(q, keys, values, mask) is its attention."""
    import torch
    from torch.nn import functional

    d, weights = decoder, torch_weights(arguments, folder)

    def rows(*names):
        """Weights of functional.linear: those of several products, one below the other."""
        return torch.cat([weights.pop(name).T for name in names]).contiguous()

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            keep = self.register_buffer
            keep("words", weights["words"])
            keep("head", rows("head"))
            keep("norm", weights["norm"])
            angles = torch.arange(arguments.cache)[:, None] * 500000.0 ** (-torch.arange(0, d.CHANNELS, 2) / d.CHANNELS)
            angles = torch.cat([angles, angles], 1)
            keep("cosines", angles.cos().half().cuda())
            keep("sines", angles.sin().half().cuda())
            keep("places", torch.arange(arguments.cache, device="cuda"))
            keep("sequences", torch.arange(batch, device="cuda"))
            key, value = (torch.from_numpy(c) for c in caches_of(batch, arguments.cache))
            for layer in range(arguments.layers):
                keep(f"qkv{layer}", rows(f"{layer}.query", f"{layer}.key", f"{layer}.value"))
                for name in ("out", "gate", "up", "down"):
                    keep(f"{name}{layer}", rows(f"{layer}.{name}"))
                for i in range(2):
                    keep(f"norm{i}_{layer}", weights[f"{layer}.norm{i}"])
                keep(f"key{layer}", key.cuda())
                keep(f"value{layer}", value.cuda())

        def normed(self, x, weight):
            return functional.rms_norm(x.float(), (d.WIDTH,), eps=1e-5).half() * weight

        def rotated(self, x, cosines, sines):
            first, second = x.chunk(2, -1)
            return x * cosines + torch.cat([-second, first], -1) * sines

        def forward(self, ids, lengths):
            position = lengths - 1
            cosines, sines = self.cosines[position][:, None], self.sines[position][:, None]
            mask, x = (self.places < lengths[:, None])[:, None, None], self.words[ids[:, 0]]
            for layer in range(arguments.layers):
                part = lambda name: getattr(self, f"{name}{layer}")  # noqa: B023, E731
                h = self.normed(x, part("norm0_"))
                heads = functional.linear(h, part("qkv")).unflatten(1, (-1, d.CHANNELS))
                q, k, v = heads.split([d.HEADS, d.KEY_HEADS, d.KEY_HEADS], 1)
                q, k = self.rotated(q, cosines, sines), self.rotated(k, cosines, sines)
                keys, values = part("key"), part("value")
                keys[self.sequences, :, position] = k
                values[self.sequences, :, position] = v
                x = x + functional.linear(attend(q, keys, values, mask), part("out"))
                h = self.normed(x, part("norm1_"))
                x = x + functional.linear(functional.silu(functional.linear(h, part("gate"))) * functional.linear(h, part("up")), part("down"))
            return functional.linear(self.normed(x, self.norm), self.head)

    return Decoder()


def attend_sdpa(q, keys, values, mask):
    """q [N, HEADS, CHANNELS] → [N, HEADS · CHANNELS], by the function of that name."""
    from torch.nn import functional

    return functional.scaled_dot_product_attention(q[:, :, None], keys, values, attn_mask=mask, enable_gqa=True).flatten(1)


def attend_written(q, keys, values, mask):
    """The same as products and a softmax, which read the keys and values of a group once."""
    grouped = q.unflatten(1, (decoder.KEY_HEADS, -1))
    scores = (grouped @ keys.mT).float() * (1 / math.sqrt(decoder.CHANNELS))
    return (scores.masked_fill(~mask, -math.inf).softmax(-1).half() @ values).flatten(1)


def measure_torch(arguments, folder, batch, attend):
    import torch
    import torch._inductor.config

    torch._inductor.config.coordinate_descent_tuning = True
    start = time.perf_counter()
    network = torch_network(arguments, folder, batch, attend)
    call = torch.compile(network, mode="reduce-overhead", fullgraph=True)
    ids, length = torch.from_numpy(ids_of(batch)).cuda(), first_length(arguments.cache)
    with torch.inference_mode():
        for _ in range(3):  # as often as Inductor needs to capture its CUDA graph; writes what the first step writes
            call(ids[0], torch.full((batch,), length, device="cuda"))
        logits = [call(ids[step], torch.full((batch,), length + step, device="cuda")).float().cpu().numpy() for step in range(STEPS)]
        setup_s = time.perf_counter() - start
        first, lengths = ids[0].clone(), torch.full((batch,), length, device="cuda")
        figures = measure(events_ms(lambda: call(first, lengths)), batch, arguments.seconds)
    return {**figures, "setup_s": setup_s, "commit": f"torch {torch.__version__}"}, logits


def measure_copy(arguments):
    import torch

    source = torch.ones(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return {**measure(events_ms(lambda: target.copy_(source)), 1, arguments.seconds), "commit": f"torch {torch.__version__}"}, []


def measure_one(arguments, folder, who, batch):
    """A record without what all share, and the logits of STEPS steps."""
    attention = {TORCH_SDPA: attend_sdpa, TORCH_WRITTEN: attend_written}
    if who == COPY:
        figures, logits = measure_copy(arguments)
        read = 2 << 30
    else:
        measured = measure_torch(arguments, folder, batch, attention[who]) if who in attention else measure_ours(arguments, folder, batch, who)
        figures, logits = measured
        read = bytes_read(arguments.layers, arguments.int4, batch, arguments.cache)
    figures["tokens_per_s"] = figures.pop("images_per_s")
    return {**figures, "bytes_read": read, "gb_per_s": read / figures["median_ms"] / 1e6}, logits


def difference(found, expected):
    """The largest difference of the logits over their largest."""
    found, expected = np.concatenate(found).ravel(), np.concatenate(expected).ravel()
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def measure_all(arguments, folder, shared, records, save):
    """Adds the records for caches of arguments.cache tokens."""
    expected = {}
    for who, batch in itertools.product(arguments.who, arguments.batches):
        if who == COPY and batch != arguments.batches[0]:
            continue
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            try:
                record, logits = pool.submit(measure_one, arguments, folder, who, batch).result(LIMIT_S)
                if logits:
                    record["difference"] = difference(logits, expected.setdefault(batch, logits))
            except Exception as error:  # a program may raise anything
                record = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
                for process in pool._processes.values():
                    process.kill()
        records.append({"who": who, "model": "decoder", "precision": "int4" if arguments.int4 else "fp16", "batch": batch, "cache": arguments.cache,
                        "layers": arguments.layers, **record, **shared})
        print(json.dumps(records[-1]), file=sys.stderr, flush=True)
        save(records)


def make_model(arguments, folder):
    """The graph for caches of arguments.cache tokens; the weights, which serve all of them, unless they are there."""
    options = ["--layers", str(arguments.layers), "--cache", str(arguments.cache), *(["--int4"] if arguments.int4 else [])]
    for what, file in (("graph", "decoder.onnx"), ("weights", "decoder.data")):
        if what == "graph" or not (folder / file).exists():
            subprocess.run([sys.executable, decoder.__file__, what, folder / file, *options], check=True, stdout=subprocess.DEVNULL)
    genai_decoder.write_graph(folder / "genai.onnx", arguments.layers, arguments.int4, "decoder.data")


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the JSON file")
    parser.add_argument("--who", type=lambda text: text.split(","), default=[OURS, GENAI, TORCH_SDPA, TORCH_WRITTEN, COPY])
    parser.add_argument("--batches", type=numbers, default=[1, 16])
    parser.add_argument("--cache", type=numbers, default=[2048], help="tokens that a cache has room for; several are measured one after the other")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--int4", action="store_true", help="weights of layers in four bits, by onnx-cudnn alone")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--partitioner", choices=["greedy", "cost"], default="cost")
    parser.add_argument("--tune-budget", type=float, default=20)
    parser.add_argument("--plan-cache", type=pathlib.Path, help="for onnx-cudnn: what is tuned once serves all caches")
    parser.add_argument("--seconds", type=float, default=1, help="duration of the back-to-back steps")
    parser.add_argument("--folder", type=pathlib.Path, help="where the model is, or is made; default: a temporary one")
    parser.add_argument("--commit", default="unknown", help="for our records: the commit that was built")
    parser.add_argument("--run", default=uuid.uuid4().hex[:8], help="id of all records")
    arguments = parser.parse_args()
    if unknown := set(arguments.who) - {OURS, GENAI, TORCH_SDPA, TORCH_WRITTEN, COPY}:
        parser.error(f"--who: no program is called {', '.join(sorted(unknown))}")
    if arguments.int4 and {TORCH_SDPA, TORCH_WRITTEN} & set(arguments.who):
        parser.error("--int4: torch does not run it here")
    if {OURS, GENAI} & set(arguments.who) and importlib.util.find_spec("onnx_cudnn") is None:
        parser.error("no Python package onnx_cudnn is found (PYTHONPATH)")
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = device() if arguments.device == "cuda" else {"device": "cpu"}
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        records = []
        for cache in arguments.cache:
            one = argparse.Namespace(**{**vars(arguments), "cache": cache})
            make_model(one, folder)
            measure_all(one, folder, {**about, "date": date, "run": arguments.run}, records,
                        lambda records: arguments.output.write_text(json.dumps(records, indent=1) + "\n"))
    if all("error" in record for record in records):
        sys.exit("decode.py: nothing was measured")


if __name__ == "__main__":
    main()
