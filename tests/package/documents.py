"""What documents tell a reader to type. Before a block of code stands

<!-- run -->                       it is run: shell commands in order, Python in one process, per document
<!-- run, where there is nvcc -->  the same, on a host that has the program
<!-- file: NAME -->                it is written to NAME before that

A document's folder holds the examples, a model, a picture and labels. Commands that name PREFIX get the prefix of the test's own installation."""

import pathlib
import re
import shutil

import onnx
import onnx.parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "/opt/onnx-cudnn"
BLOCK = re.compile(r"<!-- (file: (?P<file>\S+)|run(, where there is (?P<needs>\w+))?) -->\n```(?P<language>\w*)\n(?P<text>.*?)\n```", re.DOTALL)
MODEL = """<ir_version: 8, opset_import: ["": 17]>
    g (float[N,3,224,224] x) => (float[N,3] y) { m = GlobalAveragePool(x) y = Flatten(m) }"""


def pages():
    """The documents that have blocks to run."""
    files = [ROOT / "README.md", ROOT / "examples/README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [file for file in files if any(not block["file"] for block in BLOCK.finditer(file.read_text(encoding="utf-8")))]


def write_folder(page, folder):
    """What a reader of the page has: the examples, a model of their own, and what the page says to write."""
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "examples/op_library", folder, dirs_exist_ok=True)
    (folder / "CMakeLists.txt").unlink()
    onnx.save(onnx.parser.parse_model(MODEL), folder / "model.onnx")
    (folder / "photo.ppm").write_bytes(b"P6\n2 1\n255\n\xff\x33\0\xff\x33\xff")
    (folder / "labels.txt").write_text("red\ngreen\nblue\n")
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["file"]:
            (folder / block["file"]).write_text(block["text"] + "\n")


def script_of(page, language, which=shutil.which):
    """The blocks to run of a language ("" is the shell's) as one text; which: where a program is, if it is there."""
    blocks = [block for block in BLOCK.finditer(page.read_text(encoding="utf-8")) if not block["file"] and block["language"] == language]
    return "\n".join(block["text"] for block in blocks if not block["needs"] or which(block["needs"]))
