"""Decoders with key/value cache, as PyTorch exports them (decoders/export.py) and as onnxruntime-genai writes them (decoders/grouped.py): 200 steps, each compared
with onnxruntime's. With ONNX_CUDNN_DEVICE=cuda on a GPU; where onnxruntime is missing there, compared with the CPU device. With ONNX_CUDNN_RECORD=FILE
the figures of those of 200 steps are written there, as JSON."""

import datetime
import json
import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np

import onnx_cudnn
from decoders import grouped

DEVICE = os.environ.get("ONNX_CUDNN_DEVICE", "cpu")
try:
    import onnxruntime
except ImportError:
    if DEVICE == "cpu":
        raise
    onnxruntime = None
FOLDER = pathlib.Path(__file__).with_name("decoders")
PROMPT = [3, 41, 7, 19, 28]
STEPS = 200
# Programs of lengths up to STEPS + len(PROMPT): the prompt's, and those of past lengths of 16, 24, 32, 48, 64, 96, 128, 192 and 256.
PROGRAMS = 10
MAX_PROGRAMS = 8
rows, about = [], {"device": DEVICE}  # of the record


def tearDownModule():
    if file := os.environ.get("ONNX_CUDNN_RECORD"):
        version = subprocess.run([sys.executable, "-m", "onnx_cudnn", "--version"], capture_output=True, text=True, check=True).stdout.split()
        head = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": version[version.index("commit") + 1][:7]}
        about["reference"] = "onnxruntime" if onnxruntime else "the CPU device"
        pathlib.Path(file).write_text(json.dumps({**head, **about, "decoders": rows}, indent=1) + "\n")


def reference_of(model):
    if onnxruntime:
        return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    options = onnx_cudnn.SessionOptions()
    options.device = "cpu"
    return onnx_cudnn.InferenceSession(model, options)


class Decoder:
    """Keeps the cache between steps, from outputs to inputs. It has `room` elements from the start, or grows."""

    def __init__(self, run, inputs, room=0):
        self.run = run
        sizes = {i.name: [1 if dim == "batch_size" else room if isinstance(dim, str) else dim for dim in i.shape] for i in inputs if "past" in i.name}
        self.cache = {name: np.zeros(shape, np.float32) for name, shape in sizes.items()}
        self.names = {i.name for i in inputs}
        self.length = 0

    def step(self, tokens):
        """logits of the last token"""
        self.length += len(tokens)
        feeds = {
            "input_ids": np.array([tokens], np.int64),
            "attention_mask": np.ones([1, self.length], np.int64),
            "position_ids": np.arange(self.length - len(tokens), self.length, dtype=np.int64)[None],
            **self.cache,
        }
        logits, *present = self.run({name: array for name, array in feeds.items() if name in self.names})
        self.cache = dict(zip(self.cache, present))
        return logits[0, -1]


def memory_mb():
    """Resident memory of this process."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


class StepsTest(unittest.TestCase):
    def decode(self, name, model, options, steps=STEPS, room=0):
        """Runs steps greedily, both runtimes with caches of their own. Returns our session and the memory after each step, and adds a row of
        `name` to the record."""
        options.device = DEVICE
        options.precision = "strict"
        ours, theirs = onnx_cudnn.InferenceSession(model, options), reference_of(model)
        if DEVICE == "cuda":
            about["device"] = ours._session.device_facts.product
        session = Decoder(lambda feeds: ours.run(None, feeds), theirs.get_inputs(), room)
        reference = Decoder(lambda feeds: theirs.run(None, feeds), theirs.get_inputs(), room)
        tokens, memory, largest_error = PROMPT, [], 0
        for step in range(steps + 1):
            with self.subTest(step=step):
                found, expected = session.step(tokens), reference.step(tokens)
                np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
                largest_error = max(largest_error, float(np.abs(found - expected).max() / np.abs(expected).max()))
                self.assertEqual([c.shape for c in session.cache.values()], [c.shape for c in reference.cache.values()])
            tokens = [int(expected.argmax())]
            memory.append(memory_mb())
        for key, cache in reference.cache.items():
            np.testing.assert_allclose(session.cache[key], cache, rtol=1e-3, atol=1e-4 * np.abs(cache).max())
        if steps == STEPS:
            stats = ours.stats()
            rows.append({"model": name, "buckets": options.shape_buckets, "runs": steps + 1, "padded_runs": stats.padded_runs, "programs_built": stats.programs_built,
                         "programs_held": stats.programs_held, "largest_error": largest_error})  # fmt: skip
        return ours, memory


class DecoderTest(StepsTest):
    def decode_in_buckets(self, file):
        options = onnx_cudnn.SessionOptions()
        options.shape_buckets = ["all"]
        stats = self.decode(file.removesuffix(".onnx"), str(FOLDER / file), options)[0].stats()
        self.assertEqual(stats.bucket_note, "")
        self.assertEqual(stats.padded_runs, STEPS + 1)
        self.assertEqual(stats.programs_built, PROGRAMS)
        self.assertEqual(stats.programs_held, MAX_PROGRAMS)

    def test_gpt2_of_the_script_exporter(self):
        self.decode_in_buckets("gpt2-script.onnx")

    def test_gpt2_of_the_dynamo_exporter(self):
        self.decode_in_buckets("gpt2-dynamo.onnx")

    def test_llama_of_the_script_exporter(self):
        self.decode_in_buckets("llama-script.onnx")

    def test_llama_of_the_dynamo_exporter(self):
        self.decode_in_buckets("llama-dynamo.onnx")

    @unittest.skipUnless(DEVICE == "cpu", "on a GPU each of its 201 Programs is compiled")
    def test_without_buckets_memory_is_flat(self):
        session, memory = self.decode("llama-dynamo", str(FOLDER / "llama-dynamo.onnx"), onnx_cudnn.SessionOptions())
        self.assertEqual(session.stats().programs_built, STEPS + 1)
        self.assertEqual(session.stats().programs_held, MAX_PROGRAMS)
        self.assertLess(memory[-1] - memory[50], 20)  # the heap's own growth; a Program and its arena are 1 MB


class GroupedDecoderTest(StepsTest):
    def decode_in_buckets(self, name, room):
        options = onnx_cudnn.SessionOptions()
        options.shape_buckets = ["all"]
        stats = self.decode(name, grouped.model().SerializeToString(), options, room=room)[0].stats()
        self.assertEqual((stats.padded_runs, stats.bucket_note), (STEPS + 1, ""))
        self.assertEqual(stats.programs_built, PROGRAMS)

    def test_a_cache_that_grows(self):
        self.decode_in_buckets("genai, the cache grows", room=0)

    def test_a_cache_that_has_room_for_all_keys(self):
        self.decode_in_buckets("genai, the cache has room", room=2 * len(PROMPT) + STEPS)

    def test_other_forms(self):
        forms = {"packed": True}, {"local_window_size": 6}, {"softcap": 3.0}, {"rotary_interleaved": 1}
        for form in forms:
            with self.subTest(form=form):
                options = onnx_cudnn.SessionOptions()
                options.shape_buckets = ["all"]
                stats = self.decode("genai", grouped.model(**form).SerializeToString(), options, steps=12)[0].stats()
                self.assertEqual((stats.padded_runs, stats.bucket_note), (13, ""))


if __name__ == "__main__":
    unittest.main()
