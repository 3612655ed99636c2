"""Scores a model: whether it runs, in how many launches and how much of it on a GPU, and how far its outputs are from onnxruntime's."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from part import ROOT

sys.path.append(str(ROOT / "tests/e2e"))
from agreement_test import TOLERANCES  # noqa: E402

TARGET = "h200"
SECONDS = 120  # for a program
# By how much a count may grow, or the share on the GPU shrink, before it counts as a drop: prices decide between close choices.
GROWTH, SHRINKAGE = 0.02, 0.005
# Of ops that round to 8 bits: a sum between two of their numbers goes either way, in onnxruntime too (its threads and this host's vector instructions
# decide). 0.3 % of the largest in lstm_quantized; 1.4 % in resnet_qdq, from one of 131,072 elements behind its first convolution.
OF_OPS = {"DynamicQuantizeLSTM": (0, 2e-2), "QuantizeLinear": (0, 2e-2)}
COUNTS = ("launches", "segments", "size_reads", "nodes_between")


class Failed(Exception):
    """A program or onnxruntime failed, in words."""


def call(*command):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {SECONDS} s") from None
    if done.returncode:
        words = (done.stderr.strip().splitlines() or ["no message"])[0]
        for word in command[:2]:  # the program and the model's file, whose folders vary
            words = words.replace(f"{word}: ", "").replace(f"{pathlib.Path(word).name}: ", "")
        raise Failed(f"exit code {done.returncode}: {words[:300]}")
    return done.stdout


def expected_outputs(path, inputs):
    """onnxruntime's, without its own rewrites: those of quantized models change results."""
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def expected_or_failed(path, inputs):
    """expected_outputs; Failed with onnxruntime's words where it raises, whose kinds of exceptions have no common base."""
    try:
        expected = expected_outputs(path, inputs)
    except Exception as error:  # noqa: BLE001
        raise Failed(f"onnxruntime: {' '.join(str(error).split())[:300]}") from error
    if any(array.size == 0 for array in expected.values()):
        raise Failed("an output is empty, so that agreement says nothing")
    return expected


def tolerance_of(path):
    """(of the element, of the largest) that outputs of a model may differ by."""
    ops = {node.op_type for node in onnx.load(path, load_external_data=False).graph.node}
    return max((OF_OPS[op] for op in ops & OF_OPS.keys()), default=TOLERANCES["strict"])


def share_of_tolerance(found, expected, tolerance=TOLERANCES["strict"]):
    """The largest difference as a share of what is allowed; above 1, and infinite for another type or shape: wrong."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return float("inf")
    if expected.dtype.kind not in "fc":
        return 0.0 if np.array_equal(found, expected) else float("inf")
    if expected.size == 0:
        return 0.0
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    relative, of_largest = tolerance
    finite = np.where(np.isfinite(expected), np.abs(expected), 0)
    allowed = relative * finite + of_largest * finite.max() + np.finfo(np.float32).tiny
    with np.errstate(invalid="ignore"):
        shares = np.where(same, 0, np.abs(found - expected) / allowed)
    return float(np.nan_to_num(shares, nan=np.inf, posinf=np.inf).max())


def input_flags(inputs, folder):
    """--input for each input, from files in `folder`."""
    flags = []
    for index, (name, array) in enumerate(inputs.items()):
        file = pathlib.Path(folder, f"input-{index}.npy")
        np.save(file, array)
        flags += ["--input", f"{name}={file}"]
    return flags


def run(programs, path, inputs, expected, *flags):
    """(what onnx-cudnn-run says, the largest share of the tolerance that an output used, in words which output is wrong)"""
    with tempfile.TemporaryDirectory() as folder:
        command = [programs / "onnx-cudnn-run", path, "--json", "--runs", 0, "--precision", "strict", "--output-dir", folder, *flags]
        said = json.loads(call(*command, *input_flags(inputs, folder)))
        found = {name: np.load(pathlib.Path(folder, re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".npy")) for name in expected}
    tolerance = tolerance_of(path)
    shares = {name: share_of_tolerance(found[name], expected[name], tolerance) for name in expected}
    wrong = [f"output {name!r} uses {share:.3g} of the tolerance" if np.isfinite(share) else
             f"output {name!r} is {found[name].dtype}{list(found[name].shape)}, expected {expected[name].dtype}{list(expected[name].shape)}, or differs as a whole"
             for name, share in shares.items() if share > 1]
    return said, max(shares.values()), "; ".join(wrong)


def explanation(programs, path, inputs):
    """Partitions and launches of a Run on the target, over all of its Programs, each as often as it runs; or why not, in "not_explained"."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "why.json")
        try:
            call(programs / "onnx-cudnn-opt", path, "--explain", "--target", TARGET, "--json", file, *input_flags(inputs, folder))
        except Failed as failed:
            return {"not_explained": str(failed)}
        why = json.loads(file.read_text())
    parts = why.get("segments", [{"runs": 1, "program": why}])
    ran = [(part["runs"], part["program"]) for part in parts if part["program"]]
    return {"partitions": sum(runs * len(program["partitions"]) for runs, program in ran),
            "launches": sum(runs * program["totals"]["launches"] for runs, program in ran),
            "predicted_us": round(sum(runs * program["totals"]["us"] for runs, program in ran), 1)}  # fmt: skip


def score(programs, path, inputs_file):
    """The row of a model: "runs" and "agrees" on the CPU device, "agrees_as_partitioned" for the target, counts, or why not in "reason"."""
    with np.load(inputs_file) as file:
        inputs = dict(file)
    row = {"runs": False, "agrees": False, "agrees_as_partitioned": False}
    try:
        expected = expected_or_failed(path, inputs)
        said, share, wrong = run(programs, path, inputs, expected)
        row.update(runs=True, agrees=not wrong, of_tolerance=round(share, 4) if np.isfinite(share) else None)
        parts = said.get("segments", {"programs": 1, "size_reads": 0, "nodes_between": 0})
        row.update(segments=parts["programs"], size_reads=parts["size_reads"], nodes_between=parts["nodes_between"])
        if wrong:
            raise Failed(f"wrong: {wrong}")
        said, share, wrong = run(programs, path, inputs, expected, "--target", TARGET)
        row.update(agrees_as_partitioned=not wrong, rewritten_nodes=said["nodes"])
        row["share_on_gpu"] = round(1 - said["host_nodes"] / said["nodes"], 4) if said["nodes"] else 0.0
        if wrong:
            raise Failed(f"wrong as partitioned for {TARGET}: {wrong}")
        row.update(explanation(programs, path, inputs))
    except Failed as failed:
        row["reason"] = str(failed)
    return row


def most_allowed(key, found, expected):
    """Of a count; above it counts as a drop."""
    most = expected[key] * (1 + GROWTH)
    if key == "size_reads":  # behind a node that ran on the host between Programs and now runs in one, its count is read
        most += max(0, expected.get("nodes_between", 0) - found.get("nodes_between", 0))
    return most


def drops(found, expected):
    """In words what is worse than expected; empty: nothing."""
    if expected is None:
        return "has no expected score: tools/long/score_zoo.py --update"
    words = [f"{key} no longer: {found.get('reason', '')}" for key in ("runs", "agrees", "agrees_as_partitioned") if expected.get(key) and not found.get(key)]
    if words:
        return words[0]
    if "launches" in expected and "launches" not in found:
        return f"explained no longer: {found.get('not_explained', found.get('reason', ''))}"
    for key in COUNTS:
        if key in expected and found.get(key, 0) > most_allowed(key, found, expected):
            words.append(f"{key} {expected[key]} > {found[key]}")
    if found.get("share_on_gpu", 0) < expected.get("share_on_gpu", 0) - SHRINKAGE:
        words.append(f"share on the GPU {expected['share_on_gpu']} > {found.get('share_on_gpu', 0)}")
    return ", ".join(words)
