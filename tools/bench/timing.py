"""Timing for the peers, with the same method as our own tools."""

import statistics
import time

# Dims of the input without the batch; models that are not listed have images of 3, 224, 224.
DIMS = {"bert_base": (128,), "whisper_small_encoder": (80, 3000), "open-nsfw": (224, 224, 3),
        "PP-OCRv6_det_small": (3, 640, 640), "PP-OCRv6_rec_small": (3, 48, 320)}
WARM_UP_S = 0.5
ALONE_RUNS = 200


def dims_of(model, batch):
    """Dims of the model's only input."""
    return (batch, *DIMS.get(model, (3, 224, 224)))


def events_ms(call):
    """A function that makes so many calls on torch's current stream and returns their duration in milliseconds by the device's clock."""
    import torch

    def elapsed_ms(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(runs):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    return elapsed_ms


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
