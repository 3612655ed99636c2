"""Runs the judges in worker processes, because onnxruntime may crash or hang on an unusual case; both count as a refusal if they happen again in
a second process: a machine under load is no reason to decide a case without a judge."""

import multiprocessing
import threading
import traceback

import judges
from case import OPS, make_case

SECONDS = 20  # time limit of a judge for one case
JUDGES = {"onnxruntime": judges.by_onnxruntime, "reference": judges.by_reference}


def serve(pipe, finish, ops):
    """Takes (seed, index, answers known) until the pipe closes; says which judge is at work, then sends what finish(case, answers) is."""
    while True:
        try:
            seed, index, answers = pipe.recv()
        except EOFError:
            return
        try:
            case = make_case(seed, index, ops)
            for name, judge in JUDGES.items():
                if name not in answers:
                    pipe.send(("at", name))
                    answers[name] = judge(case)
            pipe.send(("done", finish(case, answers)))
        except Exception:  # noqa: BLE001: the parent raises it
            pipe.send(("error", f"case {index}: {traceback.format_exc()}"))


class Worker:
    def __init__(self, finish, ops):
        self.finish, self.ops = finish, ops
        self.start()

    def start(self):
        context = multiprocessing.get_context("fork")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, self.finish, self.ops), daemon=True)
        self.process.start()
        other.close()

    def stop(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def judge(self, seed, index):
        answers, failed = {}, set()
        while True:
            self.pipe.send((seed, index, answers))
            stage = "reference"
            try:
                while self.pipe.poll(SECONDS):
                    kind, what = self.pipe.recv()
                    if kind == "done":
                        return what
                    if kind == "error":
                        raise RuntimeError(what)
                    stage = what
                words = f"no answer in {SECONDS} s"
            except (EOFError, ConnectionResetError):
                words = "crashed"
            self.stop()
            self.start()
            if stage in failed:
                answers[stage] = judges.Answer(refusal=words)
            failed.add(stage)


def judge_all(seed, indices, finish, count=2, ops=OPS):
    """finish(case, answers) of each case, by index, over `count` processes."""
    results, pending, failures = {}, list(reversed(indices)), []

    def work():
        worker = Worker(finish, ops)
        try:
            while pending and not failures:
                index = pending.pop()
                results[index] = worker.judge(seed, index)
        except Exception as error:  # noqa: BLE001
            failures.append(error)
        worker.stop()

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results
