"""verify_vectors_test.py RUN VECTORS: `RUN MODEL --verify DATA-SET` over every data set of ONNX's vectors: it agrees (exit code 0), is refused
(exit code 3) if tests/onnx_backend/failing.txt or tests/onnx_backend/without_image_decoders.txt lists the vector, or has inputs or outputs that are
no tensors (exit code 3). Vectors with random outputs are left out."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import onnx

VECTORS = pathlib.Path(__file__).resolve().parents[1] / "onnx_backend"
LISTS = (VECTORS / "failing.txt", VECTORS / "without_image_decoders.txt")
RANDOM = set(re.findall(r'"(node/test_\w+)"', (VECTORS / "random_rules.cc").read_text()))
GROUPS = ("node", "simple", "pytorch-converted", "pytorch-operator")
USUAL = {onnx.TensorProto.DataType.Value(name) for name in ("FLOAT", "DOUBLE", "FLOAT16", "INT32", "INT64", "BOOL")}
REFUSED = {line.split()[0] for file in LISTS for line in file.read_text().splitlines()}
UNUSUAL_AT_LEAST = 107  # strings, 8-bit and sub-byte types, bf16, complex and unsigned numbers


def verified(program, folder):
    """(what is wrong with a vector, whether it agrees and has an unusual type)"""
    graph = onnx.load(folder / "model.onnx", load_external_data=False).graph
    has_tensors_alone = all(value.type.HasField("tensor_type") for value in [*graph.input, *graph.output])
    types = {value.type.tensor_type.elem_type for value in [*graph.input, *graph.output] if value.type.HasField("tensor_type")}
    sets = sorted(folder.glob("test_data_set_*"))
    wrong = [] if sets else ["no data set"]
    name = f"{folder.parent.name}/{folder.name}"
    for data in sets:
        done = subprocess.run([program, folder / "model.onnx", "--device", "cpu", "--verify", data], capture_output=True, text=True, check=False)
        has_outputs = any(data.glob("output_*.pb"))
        ended = (done.returncode, "\nverify  " in done.stdout)
        wanted = (3, False) if name in REFUSED else (0, has_outputs) if has_tensors_alone else (3, False)
        if ended != wanted:
            wrong.append(f"{name}/{data.name}: exit code {done.returncode}, expected {wanted[0]}\n{done.stdout[-500:]}{done.stderr[-500:]}")
    return wrong, bool(types - USUAL) and name not in REFUSED


def main():
    program, vectors = sys.argv[1], pathlib.Path(sys.argv[2])
    found = [folder for group in GROUPS for folder in sorted((vectors / group).iterdir()) if folder.is_dir()]
    folders = [folder for folder in found if f"{folder.parent.name}/{folder.name}" not in RANDOM]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda folder: verified(program, folder), folders))
    wrong = [line for lines, _ in answers for line in lines]
    unusual = sum(is_unusual for _, is_unusual in answers)
    print(f"{len(folders)} vectors, {unusual} of unusual types", *wrong, sep="\n")
    sys.exit(1 if wrong or unusual < UNUSUAL_AT_LEAST else 0)


if __name__ == "__main__":
    main()
