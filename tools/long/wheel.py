"""wheel.py [options] [SETTING...]: builds the wheel, asks auditwheel, installs it in an empty environment and runs it there without a compiler,
LD_LIBRARY_PATH and the build tree. SETTING: as pip's --config-settings takes it, e.g. cmake.define.ONNX_CUDNN_CUDA=OFF."""

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

from part import ROOT, Part, fingerprint, git, parser_of

PYTHON = ROOT / "build/python/bin/python"
SCRIPT = """
import logging, sys, numpy as np, onnx_cudnn as oc
session = oc.InferenceSession(sys.argv[1])
y, = session.run(None, {"x": np.zeros(2, np.float32)})
assert y.tolist() == [1, 1], y
assert not session.get_inputs()[0].name.startswith("_") and oc.__version__ == sys.argv[2], oc.__version__
import importlib.metadata, os
assert sorted(os.listdir(oc.get_include())) == ["onnx_cudnn_dlpack.h", "onnx_cudnn_op.h"]
assert [e.value for e in importlib.metadata.entry_points(group="torch_dynamo_backends", name="onnx_cudnn")] == ["onnx_cudnn.torch_backend:onnx_cudnn"]
"""
MODEL = """
import onnx, onnx.parser, sys
onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Cos(x) }'), sys.argv[1])
"""


def command(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words[:4]))} …: exit code {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def built(folder, settings):
    arguments = [f"--config-settings={setting}" for setting in settings]
    command(PYTHON, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, *arguments, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def policy_of(wheel):
    """The manylinux tag that the wheel is consistent with."""
    told = command(PYTHON, "-m", "auditwheel", "show", wheel)
    print(told, flush=True)
    found = re.search(r'tag:\s+"(manylinux_\d+_\d+_x86_64)"', told)
    if found is None:
        raise AssertionError("auditwheel finds no manylinux tag")
    return found[1]


def expect_one_copy_of_each(wheel):
    names = {}
    for file in zipfile.ZipFile(wheel).infolist():
        if file.file_size > 100_000 and names.setdefault((file.file_size, file.CRC), file.filename) != file.filename:
            raise AssertionError(f"{file.filename} is {names[file.file_size, file.CRC]} once more")


def tried(wheel, folder):
    """Runs what a user runs."""
    environment, model = folder / "environment", folder / "cos.onnx"
    command(PYTHON, "-c", MODEL, model)
    command(sys.executable, "-m", "venv", environment)
    pip = environment / "bin/pip"
    command(pip, "install", "--disable-pip-version-check", wheel)
    bare = {"PATH": "/nonexistent", "HOME": str(folder)}
    python = environment / "bin/python"
    version = wheel.name.split("-")[1]
    command(python, "-c", SCRIPT, model, version, cwd=folder, env=bare)
    if "y f32[2]" not in re.sub(" +", " ", command(python, "-m", "onnx_cudnn", "run", model, cwd=folder, env=bare)):
        raise AssertionError("python -m onnx_cudnn run does not show y")
    command(python, "-m", "onnx_cudnn", "opt", model, "-o", folder / "written.onnx", cwd=folder, env=bare)
    for program in ("run", "opt", "bench"):
        if version not in command(python, "-m", "onnx_cudnn", program, "--version", cwd=folder, env=bare):
            raise AssertionError(f"{program} --version does not say {version}")
    if version not in command(environment / "bin/onnx-cudnn-run", "--version", cwd=folder, env=bare):
        raise AssertionError("onnx-cudnn-run --version does not say the version")
    doctor = subprocess.run([python, "-m", "onnx_cudnn", "doctor"], cwd=folder, env=bare, capture_output=True, text=True, check=False)
    if not doctor.stdout.strip():
        raise AssertionError(f"doctor says nothing: {doctor.stderr}")
    for file in environment.rglob("site-packages/onnx_cudnn/**/*"):
        if file.is_file() and file.read_bytes()[:4] == b"\x7fELF" and b".debug_info" in subprocess.run(
                ["readelf", "-S", "-W", file], capture_output=True, check=True).stdout:
            raise AssertionError(f"{file.name} is not stripped")


def check(settings):
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            wheel = built(folder, settings)
            facts = {"wheel": wheel.name, "bytes": wheel.stat().st_size, "settings": settings, "auditwheel": policy_of(wheel)}
            expect_one_copy_of_each(wheel)
            tried(wheel, folder)
            return facts
    except AssertionError as error:
        return {"error": str(error)}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("settings", nargs="*")
    options = parser.parse_args()
    part = Part("wheel", options)
    key = f"{git('rev-parse', '--short=12', 'HEAD')}-{fingerprint(' '.join(options.settings), git('diff', 'HEAD'))}"
    answers = part.run([key], lambda _: check(options.settings))
    facts = answers.get(key, {})
    failed = [facts["error"]] if "error" in facts else []
    if failed:
        part.forget(key)
    print(facts, flush=True)
    sys.exit(part.finish(len(answers) - len(failed), failed, 1 - len(answers), facts))


if __name__ == "__main__":
    main()
