"""wheel.py [options] [SETTING...]: builds a wheel with each of PYTHONS that this host has, asks auditwheel, gives it the manylinux tag, installs it in an empty
environment and runs it there without a compiler, LD_LIBRARY_PATH and the build tree. The wheels are left in the part's folder `dist`. SETTING: as pip's
--config-settings takes it, e.g. cmake.define.ONNX_CUDNN_CUDA=OFF."""

import base64
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from part import ROOT, Part, fingerprint, git, parser_of

PYTHON = ROOT / "build/python/bin/python"
# (Python that builds, Python that runs, the tags of the wheel); first the wheel that most users get
PYTHONS = (("3.12", "3.13", "cp312-abi3"), (PYTHON, PYTHON, None))
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


def python_of(version):
    """An interpreter: a path, or the first of a version on PATH or under pyenv that can make environments; None: there is none."""
    if isinstance(version, pathlib.Path):
        return version
    for candidate in (f"python{version}", *sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))):
        try:
            subprocess.run([candidate, "-c", "import ensurepip"], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return candidate
    return None


def built(python, folder, settings):
    """With the build's own environment as pip makes it (`pip install .`), or, by the development's Python, without one."""
    arguments = [f"--config-settings={setting}" for setting in settings]
    isolation = ["--no-build-isolation"] if python == PYTHON else []
    command(python, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-deps", *isolation, "--wheel-dir", folder, *arguments, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def retagged(wheel, tag):
    """The wheel with another platform's tag, in its name, its file WHEEL and that file's line of RECORD."""
    name = wheel.with_name(wheel.name.replace("linux_x86_64", tag))
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as new:
        contents = {file: old.read(file) for file in old.infolist()}
        (about,) = (file for file in contents if file.filename.endswith(".dist-info/WHEEL"))
        (record,) = (file for file in contents if file.filename.endswith(".dist-info/RECORD"))
        contents[about] = contents[about].replace(b"linux_x86_64", tag.encode())
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents[about]).digest()).rstrip(b"=").decode()
        line = f"{about.filename},sha256={digest},{len(contents[about])}"
        contents[record] = re.sub(rf"^{re.escape(about.filename)},.*$", line, contents[record].decode(), flags=re.MULTILINE).encode()
        for file, data in contents.items():
            new.writestr(file, data)
    return name


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


def tried(wheel, python, folder):
    """Runs what a user runs."""
    environment, model = folder / "environment", folder / "cos.onnx"
    command(PYTHON, "-c", MODEL, model)
    command(sys.executable if python == PYTHON else python, "-m", "venv", environment)
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


def check(builds, runs, tags, settings, dist):
    """Facts of the wheel that one Python builds and another runs, what is wrong with it, or which Pythons the host lacks. dist: where it is left, or None."""
    builder, runner = python_of(builds), python_of(runs)
    if builder is None or runner is None:
        return {"skipped": f"needs Python {builds} and {runs}"}
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            wheel = built(builder, folder, settings)
            if tags and tags not in wheel.name:
                raise AssertionError(f"{wheel.name} is not for {tags}")
            facts = {"wheel": wheel.name, "bytes": wheel.stat().st_size, "settings": settings, "auditwheel": policy_of(wheel)}
            expect_one_copy_of_each(wheel)
            wheel = retagged(wheel, facts["auditwheel"])
            if policy_of(wheel) != facts["auditwheel"]:
                raise AssertionError("auditwheel finds another tag in the wheel that has its tag")
            tried(wheel, runner, folder)
            if dist is not None:
                dist.mkdir(parents=True, exist_ok=True)
                shutil.copy(wheel, dist)
            return {**facts, "installed": wheel.name, "ran_on": command(runner, "--version").strip()}
    except AssertionError as error:
        return {"error": str(error)}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("settings", nargs="*")
    options = parser.parse_args()
    part = Part("wheel", options)
    head = f"{git('rev-parse', '--short=12', 'HEAD')}-{fingerprint(' '.join(options.settings), git('diff', 'HEAD'))}"
    pythons = {f"{head}-{tags or 'own'}": (builds, runs, tags) for builds, runs, tags in PYTHONS}
    answers = part.run(pythons, lambda key: check(*pythons[key], options.settings, options.folder and options.folder / "dist"))
    failed = [answer["error"] for answer in answers.values() if "error" in answer]
    for key, answer in answers.items():
        if "error" in answer:
            part.forget(key)
        print(answer, flush=True)
    skipped = [answer["skipped"] for answer in answers.values() if "skipped" in answer]
    passed = len(answers) - len(failed) - len(skipped)
    sys.exit(part.finish(passed, failed, len(pythons) - len(answers), {"wheels": list(answers.values())}, len(skipped)))


if __name__ == "__main__":
    main()
