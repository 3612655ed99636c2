"""Runs folders of cases with the program run_cases. If it crashes or hangs, the case is recorded as such and the program is started for the rest."""

import concurrent.futures
import os
import pathlib
import select
import subprocess
import tempfile

SECONDS = 60  # time limit of one case in one mode
EMULATOR = "emulator"


def modes_of(program):
    return subprocess.run([program, "--modes"], capture_output=True, text=True, check=True).stdout.split()


def lines_of(process):
    """Yields lines as they arrive, until the program ends or none arrives for SECONDS."""
    buffer = b""
    while select.select([process.stdout], [], [], SECONDS)[0]:
        read = os.read(process.stdout.fileno(), 1 << 16)
        if not read:
            return
        *lines, buffer = (buffer + read).split(b"\n")
        yield from (line.decode(errors="replace").split("\t") for line in lines)


def run_part(program, folder, names, first, step, modes):
    """{(name, mode): (word, message)} of the cases first, first + step, first + 2 step, …"""
    results = {}
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    while first < len(names):
        with tempfile.TemporaryFile() as errors:
            command = [program, folder, str(first), str(step), *modes]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment) as process:
                for name, mode, word, message in lines_of(process):
                    results[name, mode] = word, message
                hung = process.poll() is None and not select.select([process.stdout], [], [], 1)[0]
                if hung:
                    process.kill()
            code = process.returncode
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - 300))
            last_words = errors.read().decode(errors="replace")
        failure = ("hung", f"no answer in {SECONDS} s") if hung else ("crashed", f"exit code {code}: {last_words}")
        indices = range(first, len(names), step)
        left = [i for i in indices if (names[i], modes[-1]) not in results]
        if not left:
            if code:  # as it ended
                results[names[indices[-1]], modes[-1]] = failure
            return results
        if code == 1:
            raise RuntimeError(f"{' '.join(map(str, command))}: {last_words}")
        mode = next(m for m in modes if (names[left[0]], m) not in results)
        results[names[left[0]], mode] = failure
        first = left[0] + step
    return results


def run_all(program, folder, names, modes, jobs=2):
    """The same for all cases. The emulator replaces the CUDA libraries of its process, so it gets a process of its own."""
    apart = [[m for m in modes if m != EMULATOR], [m for m in modes if m == EMULATOR]]
    parts = [(part, group) for group in apart if group for part in range(jobs)]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda p: run_part(program, pathlib.Path(folder), names, p[0], jobs, p[1]), parts):
            results.update(found)
    return results
