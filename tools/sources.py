"""Shared by the checks of the sources."""

import sys

FOLDERS = ("runtime", "passes", "python", "tools", "tests", "examples")
ENDINGS = (".h", ".c", ".cc", ".inc", ".cu", ".cuh")


def sources_of(root):
    """(path from `root`, text) of each C++ and CUDA source, sorted in each folder."""
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in ENDINGS:
                yield file.relative_to(root).as_posix(), file.read_text()


def end(breaches, holds):
    """Ends the process: prints each breach, or the text `holds` if there is none."""
    print("\n".join(breaches) or holds)
    sys.exit(bool(breaches))
