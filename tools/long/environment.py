"""Python environments that long parts make once: exactly the pinned packages of a file in build/python."""

import pathlib
import subprocess
import sys

from part import fingerprint


def environment(folder, pins, below=None):
    """The Python of an environment in `folder`. The packages of the environment `below` (its Python) are found too, behind its own."""
    stamp = folder / f"made-of-{fingerprint(pins)}"
    python = folder / "bin/python"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--require-hashes", "--only-binary", ":all:",
                        "--requirement", pins], check=True)
        if below is not None:
            packages_of(python).joinpath("below.pth").write_text(f"{packages_of(below)}\n")
        stamp.touch()
    return python


def packages_of(python):
    """The folder of an environment's packages."""
    text = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return pathlib.Path(subprocess.run([python, "-c", text], capture_output=True, text=True, check=True).stdout.strip())
