"""onnx_cudnn.serve on two nodes with three pretended GPUs: replicas come and go with the load, each with a GPU of its own, and nothing is left behind."""

import os
import pathlib
import threading
import unittest

import numpy as np
from ray import serve
from support import SECONDS, Callers, cluster, plus, processes, replicas, rows, until

from onnx_cudnn.serve import app

SCALING = {"min_replicas": 1, "max_replicas": 3, "target_ongoing_requests": 1, "upscale_delay_s": 1, "downscale_delay_s": 2, "metrics_interval_s": 0.5, "look_back_period_s": 2}
ON_CPU = {"providers": ["CPUExecutionProvider"], "options": {"threads": 1}, "num_cpus": 0.1}


def others():
    """Command lines of the processes of this process's PID namespace, but its own and the first, which is its shell."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if int(folder.name) not in (1, os.getpid()) and state != "Z":
                found.append((folder / "cmdline").read_text().replace("\0", " ")[:100] or (folder / "comm").read_text())
        except OSError:
            continue  # it has just ended
    return found


class ClusterTest(unittest.TestCase):
    def test_from_one_replica_to_three_and_back(self):
        before = threading.active_count()
        with cluster([{"num_cpus": 2, "num_gpus": 2}, {"num_cpus": 2, "num_gpus": 1}]):
            # A batch of 64 rows is never full, so that requests take a fifth of a second and replicas have much to do.
            model = app(plus(1, "scale.onnx"), num_gpus=1, max_batch=64, batch_sizes=[4], max_delay_s=0.2, autoscaling_config=SCALING, **ON_CPU)
            handle = serve.run(model, name="scale", route_prefix=None)
            self.assertEqual(replicas("scale"), 1)
            with Callers(handle, (1,), threads=12, wait_s=0) as callers:
                until(lambda: replicas("scale") == 3, "three replicas")
                found = processes(handle, 3)
            self.assertEqual((callers.errors, callers.retried), ([], []))
            self.assertEqual(sorted(stats["gpus"] for stats in found.values()), [["0"], ["0"], ["1"]])  # of two nodes
            self.assertTrue(all(stats["device"] == "cpu" and stats["batcher"]["rows"] > stats["batcher"]["batches"] for stats in found.values()))
            until(lambda: replicas("scale") == 1 and replicas("scale", "STOPPING") == 0, "one replica again")
            np.testing.assert_array_equal(handle.remote({"x": rows(1)}).result(timeout_s=SECONDS)["y"], rows(1) + 1)
            serve.delete("scale")
            self.expect_two_replicas_that_share_a_gpu()
            if not os.path.exists("/dev/nvidia0"):
                self.expect_that_a_gpu_that_is_not_there_is_told()
            serve.shutdown()
        until(lambda: not others(), f"all processes have ended: {others()}", 60)
        self.assertLessEqual(threading.active_count(), before + 2)

    def expect_two_replicas_that_share_a_gpu(self):
        handle = serve.run(app(plus(1, "half.onnx"), num_gpus=0.5, num_replicas=2, **ON_CPU), name="half", route_prefix=None)
        self.assertEqual([stats["gpus"] for stats in processes(handle, 2).values()], [["0"], ["0"]])
        serve.delete("half")

    def expect_that_a_gpu_that_is_not_there_is_told(self):
        with self.assertRaises(RuntimeError):
            serve.run(app(plus(1, "gpu.onnx"), num_cpus=0.1, max_constructor_retry_count=1), name="gpu", route_prefix=None)
        self.assertIn("GPU", serve.status().applications["gpu"].deployments["model"].message)


if __name__ == "__main__":
    unittest.main()
