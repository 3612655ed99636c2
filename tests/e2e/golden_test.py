"""golden_test.py ONNX-CUDNN-OPT [CASE …] [--write]: compares the whole output of --explain with tests/golden; of other ResNets only the number of launches.

A case is MODEL (on h200) or MODEL@TARGET; default: every case. DenseNets and other ResNets are made by models/make.py, transformers by models/make_transformer.py, decoders, two layers
of them without numbers, by models/make_decoder.py and models/make_genai_decoder.py; the encoder is a part of one of models/small. On a GPU no
partition may be on the host. --write replaces the golden files."""

import argparse
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "models"))

import make  # noqa: E402
import make_decoder  # noqa: E402
import make_genai_decoder  # noqa: E402
import make_transformer  # noqa: E402
import onnx  # noqa: E402
import small  # noqa: E402

COLUMNS, LINES = 120, 120  # of output: two screens

# {stem of the model's file: flags}
FLAGS = {
    "open-nsfw": [],
    "PP-OCRv6_det_small": ["--shape", "1x3x448x512"],
    "resnet50": ["--shape", "1x3x224x224"],
}
# {name of models/make_transformer.py: the most launches}
TRANSFORMERS = {"bert": 16, "convnext": 80, "llama": 19, "maxvit": 72, "swin": 120, "vit": 90}
DECODERS = {"decoder": 27, "genai-decoder": 27}
ENCODERS = {"whisper-encoder": 4 + 2 * 7}  # two layers behind the convolutions
DENSENETS = {"densenet121": 2 * 58 + 14 + 43}  # two convolutions a layer; of 58 Concats the readers of 15 are as fast by their prices where these are in place
FAMILY = {"resnet34": 34, "resnet101": 101, "resnext50_32x4d": 50}  # a launch a convolution or two; without golden files
MOST_LAUNCHES = {**TRANSFORMERS, **DECODERS, **ENCODERS, **DENSENETS, **FAMILY}
CACHE = 2048  # positions for keys in a decoder
DECODER_DIMS = {
    "decoder": ["N=1"],
    "genai-decoder": ["batch_size=1", "sequence_length=1", f"total_sequence_length={CACHE}", f"past_sequence_length={CACHE}"],
}
# GPUs whose prices are rooflines of published peaks.
TARGETS = ["h100", "a100", "a10", "l4", "rtx4090", "b200"]


def decoder(name, folder):
    """The path of two layers of a decoder; every weight is 0 and takes no room on the disk."""
    path = pathlib.Path(folder, f"{name}.onnx")
    if name == "decoder":
        make_decoder.write_graph(path, 2, CACHE, int4=False)
    else:
        make_genai_decoder.write_graph(path, 2, int4=False)
    with path.with_suffix(".data").open("wb") as data:
        data.truncate(max(offset + weight.bytes() for weight, offset in make_decoder.placed(2, int4=False)))
    return path


def encoder(folder):
    """The path of a Whisper that ends where its decoder begins."""
    path, _ = small.fill("whisper.dynamo", pathlib.Path(folder))
    model = onnx.load(path, load_external_data=False)
    del model.graph.output[:]
    model.graph.output.append(onnx.helper.make_tensor_value_info("layer_norm_4", onnx.TensorProto.FLOAT, None))
    onnx.save(model, path)
    return path


def path_of(model, folder):
    if model in ENCODERS:
        return encoder(folder)
    if model in DECODERS:
        return decoder(model, folder)
    if model in DENSENETS or model in FAMILY:
        return make.write(model, batch=1, output=pathlib.Path(folder, f"{model}.onnx"))
    return make_transformer.write(model, folder) if model in TRANSFORMERS else ROOT / "models" / f"{model}.onnx"


def explain(tool, case):
    model, _, target = case.partition("@")
    with tempfile.TemporaryDirectory() as folder:
        path = path_of(model, folder)
        flags = ["--precision", "fp16"] if model in MOST_LAUNCHES else ["--precision", "strict", *FLAGS[model]]
        if model in DECODERS:
            flags += [flag for dim in DECODER_DIMS[model] for flag in ("--shape", dim)]
        command = [tool, path, "--explain", "--target", target or "h200", *flags]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check(tool, case, golden):
    """An error in one line, or None."""
    found = explain(tool, case).splitlines()
    expected = found if case in FAMILY else golden.read_text().splitlines()
    if found != expected:
        return "\n".join(difflib.unified_diff(expected, found, str(golden), "found", lineterm=""))
    if on_host := [line for line in found if re.match(r" *\d+( +x\d+)? +host ", line)]:
        return "\n".join([f"{golden}: on the host", *on_host])
    if any(len(line) > COLUMNS for line in found):
        return f"{golden}: a line has more than {COLUMNS} columns"
    launches = int(re.search(r"(\d+) launches", "\n".join(found)).group(1))
    if launches > MOST_LAUNCHES.get(case, launches):
        return f"{golden}: {launches} launches, expected at most {MOST_LAUNCHES[case]}"
    if case.startswith("resnet50") and len(found) > LINES:
        return f"{golden}: {len(found)} lines, expected at most {LINES}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    complaints = []
    for case in arguments.cases or [*FLAGS, *MOST_LAUNCHES, *(f"resnet50@{target}" for target in TARGETS)]:
        golden = ROOT / "tests" / "golden" / f"explain-{case.replace('@', '-')}.txt"
        if arguments.write and case not in FAMILY:
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(explain(arguments.tool, case))
        elif not arguments.write:
            complaints.append(check(arguments.tool, case, golden))
    complaints = [complaint for complaint in complaints if complaint]
    print("\n".join(complaints))
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
