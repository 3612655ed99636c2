"""Ray for tests: a cluster of this host's own, small models, callers that check every answer, and a check of configuration files."""

import asyncio
import contextlib
import os
import pathlib
import sys
import tempfile
import threading
import time

import numpy as np
import ray
import yaml
from onnx import TensorProto, helper
from ray import serve
from ray.cluster_utils import Cluster
from ray.serve.config import AutoscalingConfig
from ray.serve.schema import DeploymentSchema, HTTPOptionsSchema, ServeApplicationSchema, ServeDeploySchema

from onnx_cudnn.serve import ModelConfig, build

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import models  # noqa: E402

STORE_BYTES = 100 << 20
PORT = 8123
HTTP = f"http://127.0.0.1:{PORT}"
SECONDS = 120  # for what takes a few seconds on an idle host


def write(model, name):
    """The path of a model's file in this process's folder."""
    path = pathlib.Path(os.environ["RAY_TMPDIR"], name)
    path.write_bytes(model)
    return str(path)


def plus(number, name):
    """y = x + number, of rows of three."""
    rows = ("N", 3)
    return write(
        models.model([helper.make_node("Add", ["x", "c"], ["y"])], [("x", TensorProto.FLOAT, rows)], [("y", TensorProto.FLOAT, rows)],
                     [("c", np.array([number], np.float32))]), name)  # fmt: skip


def rows(seed, count=1):
    """x for `plus`, another one for each seed."""
    return np.full((count, 3), seed % 1009, np.float32) + np.arange(3, dtype=np.float32)


@contextlib.contextmanager
def cluster(nodes):
    """A cluster of nodes with these resources, as ray.init has them; the first is the head. It ends with the block."""
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:  # sockets have short paths
        pathlib.Path(folder, "ray").mkdir()
        os.environ["RAY_TMPDIR"] = folder
        made = _started(nodes)
        try:
            ray.init(address=made.address, logging_level="error", log_to_driver=False)
            yield made
        finally:
            if ray.is_initialized():  # it would start a cluster of its own
                serve.shutdown()
            _end(made)


def _end(made, tries=5):
    """A thread of a handle may connect again between the two calls, and a cluster that this process is connected to does not end."""
    ray.shutdown()
    try:
        made.shutdown()
    except ValueError:
        if tries == 1:
            raise
        _end(made, tries - 1)


def _started(nodes, tries=3):
    """Ray gives a node 30 seconds to start, which an overloaded host may need twice."""
    made = Cluster()
    try:
        for i, resources in enumerate(nodes):
            head = {"include_dashboard": False} if i == 0 else {}
            made.add_node(wait=False, object_store_memory=STORE_BYTES, **head, **resources)
        made.wait_for_nodes(SECONDS)
    except BaseException as error:
        made.shutdown()
        if tries == 1 or "timed out during startup" not in str(error):
            raise
        return _started(nodes, tries - 1)
    return made


def until(holds, what, seconds=SECONDS):
    """Waits until holds() is true and returns it; AssertionError with `what` after so many seconds."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"not in {seconds} s: {what}")
        time.sleep(0.2)
    return found


def replicas(application, state="RUNNING"):
    """How many replicas of an application are in a state."""
    status = serve.status().applications.get(application)
    return sum(deployment.replica_states.get(state, 0) for deployment in status.deployments.values()) if status else 0


def processes(handle, count, excluding=()):
    """{pid: stats} of `count` replicas that are not among `excluding`."""
    found = {}

    def all_answered():
        for response in [handle.stats.remote() for _ in range(4 * count)]:
            with contextlib.suppress(ray.exceptions.RayError):
                stats = response.result(timeout_s=SECONDS)
                if stats["pid"] not in excluding:
                    found[stats["pid"]] = stats
        return len(found) >= count

    until(all_answered, f"{count} replicas answer, besides {sorted(excluding)}; found {sorted(found)}")
    return found


class Callers:
    """Threads that call a handle without pause, in a block. Each answer must be x + one of `numbers`.

    answers  how many answers each number has
    retried  errors of replicas that died, after which the same request is sent again
    errors   everything else, with the answers that are wrong
    """

    def __init__(self, handle, numbers, threads=4, wait_s=0.005):
        self.handle, self.wait_s = handle, wait_s
        self.answers, self.retried, self.errors = dict.fromkeys(numbers, 0), [], []
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._call, args=(i,)) for i in range(threads)]

    def _call(self, caller):
        request = 0
        while not self._stop.wait(self.wait_s):
            request += 1
            x = rows(1000 * caller + request, 1 + request % 3)
            while not self._answered(x):
                pass

    def _answered(self, x):
        """Whether the request has its answer, or an error that is no death of a replica."""
        try:
            y = self.handle.remote({"x": x}).result(timeout_s=SECONDS)["y"]
            number = next((number for number in self.answers if np.array_equal(y, x + np.float32(number))), None)
            with self._lock:
                if number is None:
                    self.errors.append(f"{x.tolist()} gave {y.tolist()}")
                else:
                    self.answers[number] += 1
        except ray.exceptions.RayActorError as error:
            self.retried.append(error)
            return False
        except BaseException as error:
            self.errors.append(f"{type(error).__name__}: {error}")
        return True

    def wait_for(self, number, count):
        """Waits for `count` more answers x + number."""
        wanted = self.answers[number] + count
        until(lambda: self.answers[number] >= wanted or self.errors, f"{wanted} answers x + {number}: {self.answers}")

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()


def together(calls):
    """Runs coroutines at the same time; an exception is a result."""

    async def gather():
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(gather())


def expect_fields(given, schema):
    """Ray's schemas accept names that they do not have."""
    if unknown := sorted(set(given) - set(schema.model_fields)):
        raise AssertionError(f"{schema.__name__} has no {unknown}")


def check_application(text):
    """Checks serveConfigV2 of a RayService without starting anything: by Ray's schema, and each deployment by ours. Raises as they do."""
    config = yaml.safe_load(text)
    expect_fields(config, ServeDeploySchema)
    expect_fields(config["http_options"], HTTPOptionsSchema)
    ServeDeploySchema.model_validate(config)
    for application in config["applications"]:
        expect_fields(application, ServeApplicationSchema)
        if application["import_path"] != "onnx_cudnn.serve:build":
            raise AssertionError(f"import_path: {application['import_path']}")
        name = build(application["args"])._bound_deployment.name
        for deployment in application["deployments"]:
            expect_fields(deployment, DeploymentSchema)
            expect_fields(deployment["autoscaling_config"], AutoscalingConfig)
            AutoscalingConfig.model_validate(deployment["autoscaling_config"])
            if deployment["name"] != name:
                raise AssertionError(f"deployment {deployment['name']}: the application has {name}")
            ModelConfig.of(deployment["user_config"])
