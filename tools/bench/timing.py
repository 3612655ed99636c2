"""Timing for the peers, with the same method as our own tools."""

import ctypes
import statistics
import threading
import time

# Dims of the input without the batch; models that are not listed have images of 3, 224, 224, or of the size in their name: "resnet50-192".
DIMS = {"bert_base": (128,), "whisper_small_encoder": (80, 3000), "open-nsfw": (224, 224, 3),
        "PP-OCRv6_det_small": (3, 640, 640), "PP-OCRv6_rec_small": (3, 48, 320)}
WARM_UP_S = 0.5
ALONE_RUNS = 200
DEVICE_RUNS = 50


def network_of(model):
    """The network that a model is, and the height and width of its images if its name has them: "resnet50-192" is ("resnet50", 192), others (name, None)."""
    name, _, size = model.rpartition("-")
    return (name, int(size)) if name and size.isdigit() else (model, None)


def dims_of(model, batch):
    """Dims of the model's only input."""
    size = network_of(model)[1] or 224
    return (batch, *DIMS.get(model, (3, size, size)))


def events_ms(call, ahead=lambda: None):
    """A function that makes so many calls on torch's current stream and returns their duration in milliseconds by the device's clock. `ahead` enqueues
    work before: if that lasts longer than the host's part of a call, the host does not delay what is timed."""
    import torch

    def elapsed_ms(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        ahead()
        start.record()
        for _ in range(runs):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    return elapsed_ms


def device_ms(elapsed_ms):
    """Median milliseconds of a run, for an elapsed_ms with work ahead."""
    return statistics.median(elapsed_ms(1) for _ in range(DEVICE_RUNS))


class DriverStream:
    """A CUDA stream with two events, by the driver's API: for programs that run on a stream that they are given, and have no events of their own."""

    def __init__(self, library="libcuda.so.1"):
        self.cuda = ctypes.CDLL(library)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.stream, self.start, self.end = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)  # does not wait for the legacy stream
        for event in (self.start, self.end):
            self.call("cuEventCreate", ctypes.byref(event), 0)

    def call(self, name, *arguments):
        if error := getattr(self.cuda, name)(*arguments):
            raise RuntimeError(f"{name}: CUDA error {error}")

    def events_ms(self, call):
        """As events_ms, for a call that enqueues on this stream."""

        def elapsed_ms(runs):
            elapsed = ctypes.c_float()
            self.call("cuEventRecord", self.start, self.stream)
            for _ in range(runs):
                call()
            self.call("cuEventRecord", self.end, self.stream)
            self.call("cuEventSynchronize", self.end)
            self.call("cuEventElapsedTime", ctypes.byref(elapsed), self.start, self.end)
            return elapsed.value

        return elapsed_ms


def runs_per_s(callers, seconds):
    """Runs a second of all callers together, each a function that does one run and waits for it, in a thread of its own."""
    counts, errors = [0] * len(callers), []
    begin = time.perf_counter()

    def work(index):
        try:
            while True:
                callers[index]()
                counts[index] += 1
                if time.perf_counter() - begin >= seconds:
                    return
        except Exception as error:  # a peer may raise anything
            errors.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(callers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sum(counts) / (time.perf_counter() - begin)


def percentile(values, share):
    """Percentile by nearest rank, like our own tools."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def measure(elapsed_ms, batch, seconds):
    """Times single runs in milliseconds, and images_per_s over `seconds` of back-to-back runs. elapsed_ms(runs) does that many runs and returns
    their duration in milliseconds."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < WARM_UP_S:
        elapsed_ms(1)
    alone = [elapsed_ms(1) for _ in range(ALONE_RUNS)]
    median = statistics.median(alone)
    runs = max(1, int(1e3 * seconds / median))
    percentiles = {f"p{share}_ms": percentile(alone, share) for share in (90, 95, 99)}
    return {"median_ms": median, "mean_ms": statistics.mean(alone), **percentiles, "images_per_s": 1e3 * batch * runs / elapsed_ms(runs)}
