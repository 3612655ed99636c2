"""Shared by the parts of tools/test.sh --long=PART: units of work whose answers are stored, so that a part that was stopped can be resumed; the
time limit of a call; a record in tools/bench/results; the counts that tools/test.sh reads."""

import argparse
import concurrent.futures
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def add_options(parser):
    parser.add_argument("--folder", type=pathlib.Path, help="where answers are stored: build/PART; default: nowhere")
    parser.add_argument("--deadline", type=float, default=float("inf"), help="time after which no unit is started, in seconds since 1970")
    parser.add_argument("--results", type=pathlib.Path, help="folder for the record of a complete part")


def parser_of(text):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    return parser


def fingerprint(*contents):
    """Hash of texts, and of files given by path."""
    digest = hashlib.sha1()
    for content in contents:
        digest.update(content.encode() if isinstance(content, str) else content.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()[:12]


def with_library(binary):
    """A program or library, and the libonnx_cudnn.so that it loads, if it loads one."""
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
    return [binary, *(pathlib.Path(path).resolve() for path in re.findall(r"libonnx_cudnn\.so\S* => (/\S+)", listed))]


def git(*arguments, root=ROOT):
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def record_head():
    """The first fields of every record."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": git("rev-parse", "--short=7", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")), "device": "cpu",
    }  # fmt: skip


class Part:
    """One part. A unit is identified by a key; its answer is any JSON value."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        self.began = time.time()

    def seconds_left(self):
        return self.options.deadline - time.time()

    def _file(self, key):
        return self.options.folder / "state" / (re.sub(r"[^\w.=-]", "_", key) + ".json")

    def known(self, key):
        """The stored answer, or None."""
        if self.options.folder is None or not self._file(key).exists():
            return None
        return json.loads(self._file(key).read_text())

    def keep(self, key, answer):
        if self.options.folder is None:
            return
        file = self._file(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = file.with_suffix(".new")
        whole.write_text(json.dumps(answer))
        whole.rename(file)

    def forget(self, key):
        if self.options.folder is not None:
            self._file(key).unlink(missing_ok=True)

    def run(self, keys, work, jobs=1):
        """{key: answer} of the finished units: stored ones, and those that work(key) finished before the deadline, `jobs` at a time.
        work returns None for a unit that did not finish."""
        answers = {key: known for key in keys if (known := self.known(key)) is not None}
        if answers:
            print(f"{len(answers)} of {len(keys)} were done before", flush=True)

        def one(key):
            if self.seconds_left() <= 0:
                return None
            answer = work(key)
            if answer is not None:
                self.keep(key, answer)
            return answer

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            missing = [key for key in keys if key not in answers]
            for key, answer in zip(missing, pool.map(one, missing), strict=True):
                if answer is not None:
                    answers[key] = answer
        return answers

    def write_record(self, fields):
        head = record_head()
        file = self.options.results / f"{self.name}-{head['date'][:10]}-{head['commit']}.json"
        file.write_text(json.dumps({**head, **fields}, indent=1) + "\n")
        print(f"written: {file}")

    def finish(self, passed, failed, left, fields, skipped=0, refused=0):
        """Writes the counts and, if no unit is left, the record; returns the exit code.
        failed: names; left: units that were not reached, which count as skipped; refused: expected refusals among the skipped."""
        for name in failed:
            print(f"failed: {self.name}: {name}", flush=True)
        if left:
            print(f"{self.name}: {left} left: the same command goes on there", flush=True)
        elif self.options.results is not None:
            counts = {"passed": passed, "failed": failed, "skipped": skipped, "seconds": round(time.time() - self.began, 1)}
            self.write_record({**counts, **fields})
        if self.options.folder is not None:
            self.options.folder.mkdir(parents=True, exist_ok=True)
            (self.options.folder / "counts").write_text(f"{passed} {len(failed)} {skipped + left} {refused}\n")
        return 1 if failed else 0
