"""package.py [options] BUILD: the C++ package where users have it. The sources are built as a part of a user's project (add_subdirectory, FetchContent) and
run in both standards. The .deb and the .tar.gz of the build tree BUILD are installed in an empty Debian (tools/bare_root.sh; needs root and debootstrap):
first the programs alone run there, then g++, CMake and pkgconf come, and the documents' commands are typed."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from part import ROOT, Part, fingerprint, git, parser_of

sys.path.insert(0, str(ROOT / "tests/package"))

import documents  # noqa: E402

SOURCES = ("add_subdirectory", "FetchContent")  # into one folder: compiled once, configured and linked by each
STANDARDS = {17: 201703, 20: 202002}
# In /files of the empty root: the two archives, and a folder per document with what its reader has and commands.sh.
TYPED = """
set -eux
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq --yes --no-install-recommends install ./*.deb
! command -v c++
cd README.md
onnx-cudnn-run --version
onnx-cudnn-run --doctor || test $? = 5
onnx-cudnn-run model.onnx --shape N=2
onnx-cudnn-run model.onnx --check
onnx-cudnn-opt model.onnx -o written.onnx
onnx-cudnn-bench model.onnx --seconds 0.1
onnx-cudnn-run written.onnx
apt-get -qq --yes install g++ cmake pkgconf >/dev/null
c++ -std=c++17 app.cc $(pkg-config --cflags --libs onnx_cudnn) -o app
./app
apt-get -qq --yes remove onnx-cudnn
! ./app
! command -v onnx-cudnn-run
mkdir /opt/onnx-cudnn
tar -C /opt/onnx-cudnn --strip-components=1 -xzf ../*.tar.gz
for page in /files/*.md; do
  echo "== $page"
  (cd $page && bash -eux commands.sh)
done
"""


def command(*words, **options):
    done = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words[:4]))} …: exit code {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def built_from_sources(folder):
    """Builds tests/package/consumer with the sources, without a GPU, from each of SOURCES in each standard, and runs it."""
    documents.write_folder(ROOT / "README.md", folder)
    build = folder / "build"
    for how in SOURCES:
        for standard, cplusplus in STANDARDS.items():
            command("cmake", "-G", "Ninja", "-S", ROOT / "tests/package/consumer", "-B", build, f"-DHOW={how}", f"-DSTANDARD={standard}",
                    f"-DSOURCE={ROOT}", "-DCMAKE_BUILD_TYPE=Release", "-DONNX_CUDNN_CUDA=OFF")
            (build / "consumer").unlink(missing_ok=True)
            command("cmake", "--build", build, "--target", "consumer")
            told = command(build / "consumer", folder / "model.onnx", env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})
            if f" {cplusplus} y f32[batch,3] 0" not in told:
                raise AssertionError(f"consumer by {how} in C++{standard} prints {told}")
    return {"ways": SOURCES, "standards": list(STANDARDS)}


def in_an_empty_root(build, folder):
    if os.getuid() != 0 or shutil.which("debootstrap") is None:
        return {"skipped": "needs root and debootstrap"}
    files = folder / "files"
    packages = folder / "packages"
    command("cpack", "--config", build.resolve() / "CPackConfig.cmake", "-B", packages)
    archives = [next(packages.glob(pattern)) for pattern in ("*.deb", "*.tar.gz")]
    files.mkdir()
    for archive in archives:
        shutil.copy(archive, files)
    pages = [page for page in documents.pages() if documents.script_of(page, "")]
    for page in pages:
        place = files / ("examples.md" if page.parent.name == "examples" else page.name)
        place.mkdir()
        documents.write_folder(page, place)
        (place / "commands.sh").write_text(documents.script_of(page, "", lambda _: None))
    (files / "typed.sh").write_text(TYPED)
    told = command(ROOT / "tools/bare_root.sh", "--files", files, folder / "root", "bash typed.sh")
    print(told, flush=True)
    return {"bytes": {archive.name: archive.stat().st_size for archive in archives}, "documents": [str(page.relative_to(ROOT)) for page in pages]}


def check(unit, build):
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            return {"unit": unit} | (in_an_empty_root(build, folder) if unit == "empty root" else built_from_sources(folder))
    except AssertionError as error:
        return {"unit": unit, "error": str(error)}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    part = Part("package", options)
    head = f"{git('rev-parse', '--short=12', 'HEAD')}-{fingerprint(git('diff', 'HEAD'))}"
    keys = {f"{head}-{unit}": unit for unit in ("sources", "empty root")}
    answers = part.run(keys, lambda key: check(keys[key], options.build))
    failed = [f"{answer['unit']}: {answer['error']}" for answer in answers.values() if "error" in answer]
    for key, answer in answers.items():
        if "error" in answer:
            part.forget(key)
    skipped = sum("skipped" in answer for answer in answers.values())
    sys.exit(part.finish(len(answers) - len(failed) - skipped, failed, len(keys) - len(answers), {"units": list(answers.values())}, skipped))


if __name__ == "__main__":
    main()
