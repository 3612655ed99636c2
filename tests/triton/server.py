"""A real tritonserver, that of nvidia-pytriton, on loopback, with the backend under test and Triton's Python backend.

Environment: TRITON_BACKEND, the folder with libtriton_onnx_cudnn.so. Runs in the environment that tools/long/triton.py makes."""

import http.client
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import tritonclient.grpc
import tritonclient.http

PACKAGES = pathlib.Path(importlib.util.find_spec("pytriton").origin).parents[1]
PROGRAMS = PACKAGES / "pytriton/tritonserver"
READY_S, STOP_S = 60, 60


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def library_folders():
    """Where the backend finds libonnx_cudnn.so, relative to itself: behind the link in _backends it would not."""
    backend = os.environ.get("TRITON_BACKEND")
    if not backend:
        return []
    told = subprocess.run(["ldd", pathlib.Path(backend).resolve() / "libtriton_onnx_cudnn.so"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"libonnx_cudnn\S* => (\S+)/", told)


def write_model(repository, name, text, config="", version=1, opset=17):
    """A version of a model in ONNX's textual syntax, "g (float[N,2] x) => …"; its configuration names the backend and the file."""
    folder = repository / name / str(version)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnxtxt").write_text(f'<ir_version: 8, opset_import: ["": {opset}]> {text}')
    write_config(repository, name, config)


def write_config(repository, name, config):
    whole = repository / name / "config.new"
    whole.write_text(f'backend: "onnx_cudnn"\ndefault_model_filename: "model.onnxtxt"\n{config}')
    whole.rename(repository / name / "config.pbtxt")


def parameter(key, value):
    return f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'


class Server:
    """Serves `repository` until it is stopped; a context manager."""

    def __init__(self, repository, *options, log=None, **variables):
        self.repository, self.variables = repository, variables
        self.folder = tempfile.TemporaryDirectory()
        self.http_port, self.grpc_port, self.metrics_port = free_ports(3)
        self.log_path = pathlib.Path(log or pathlib.Path(self.folder.name) / "log")
        self.command = [
            PROGRAMS / "bin/tritonserver", "--model-repository", repository, "--backend-directory", self._backends(),
            "--http-address", "127.0.0.1", "--http-port", self.http_port, "--grpc-address", "127.0.0.1", "--grpc-port", self.grpc_port,
            "--metrics-address", "127.0.0.1", "--metrics-port", self.metrics_port, "--exit-timeout-secs", "30",
            *options,
        ]  # fmt: skip

    def _backends(self):
        """A folder of backends: ours, and Python's with the stub of this Python."""
        backends = pathlib.Path(self.folder.name) / "backends"
        shutil.copytree(PROGRAMS / "backends/python", backends / "python", symlinks=True)
        stub = PROGRAMS / f"python_backend_stubs/{sys.version_info.major}.{sys.version_info.minor}/triton_python_backend_stub"
        shutil.copy(stub, backends / "python")
        (backends / "python/triton_python_backend_stub").chmod(0o755)
        if backend := os.environ.get("TRITON_BACKEND"):
            (backends / "onnx_cudnn").symlink_to(pathlib.Path(backend).resolve())
        return backends

    def __enter__(self):
        libraries = [PACKAGES / "nvidia_pytriton.libs", *library_folders(), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        environment = os.environ | {"LD_LIBRARY_PATH": ":".join(map(str, libraries))} | self.variables
        self.log = self.log_path.open("wb")
        self.process = subprocess.Popen(list(map(str, self.command)), stdout=self.log, stderr=subprocess.STDOUT, env=environment,
                                        start_new_session=True)
        self.http = tritonclient.http.InferenceServerClient(f"127.0.0.1:{self.http_port}", concurrency=8)
        self.grpc = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{self.grpc_port}")
        self.wait(self.is_up, READY_S)
        return self

    def __exit__(self, *_):
        self.http.close()
        self.grpc.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        self.folder.cleanup()

    def is_up(self):
        if self.process.poll() is not None:
            raise AssertionError(f"tritonserver ended with {self.process.returncode}\n{self.output()[-4000:]}")
        try:
            is_live = self.http.is_server_live() and self.request("GET", "/v2/health/ready")[0] in (200, 400, 503)
            return is_live and bool(self.metrics())  # whose port is opened last
        except OSError:
            return False

    def wait(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s\n{self.output()[-4000:]}")
            time.sleep(0.02)

    def output(self):
        """What the server wrote, without its tables."""
        return "".join(line for line in self.log_path.read_text(errors="replace").splitlines(True) if not line.startswith(("|", "+")))

    def request(self, method, path, body=None):
        """(status, JSON or text) of one HTTP request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=60)
        connection.request(method, path, json.dumps(body) if body is not None else None)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if text.startswith(("{", "[")) else text

    def metrics(self):
        """{name{labels}: value}"""
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        lines = [line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#")]
        return {key: float(value) for key, _, value in lines}

    def metric(self, name, model, version=1, device="cpu"):
        """Value of a metric of ours; None: there is none."""
        labels = {f'model="{model}"', f'version="{version}"', f'device="{device}"'}
        for key, value in self.metrics().items():
            if key.startswith(name + "{") and labels == set(re.findall(r'\w+="[^"]*"', key)):
                return value
        return None

    def statistics(self, model):
        return self.request("GET", f"/v2/models/{model}/stats")[1]["model_stats"][0]

    def resident_bytes(self):
        return int(re.search(r"VmRSS:\s+(\d+) kB", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) * 1024


def infer_input(client, name, array, data_type):
    """An input of tritonclient.http or .grpc with the array's elements."""
    made = client.InferInput(name, list(array.shape), data_type)
    made.set_data_from_numpy(array)
    return made
