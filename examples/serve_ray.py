"""serve_ray.py MODEL [NUM_GPUS]: serves a model by Ray Serve with one to three replicas, until Ctrl-C. NUM_GPUS, of each replica: 1, or a part of one; 0 is the CPU.

curl -s localhost:8000/v2/models/model                     # its inputs and outputs
curl -s localhost:8000 -H 'content-type: application/x-npy' --data-binary @input.npy -o output.npy
"""

import contextlib
import sys

from ray import serve

import onnx_cudnn.serve


def main():
    app = onnx_cudnn.serve.app(
        sys.argv[1],
        num_gpus=float(sys.argv[2]) if len(sys.argv) > 2 else 1,
        max_batch=16,
        max_delay_s=0.002,
        autoscaling_config={"min_replicas": 1, "max_replicas": 3},
    )
    with contextlib.suppress(KeyboardInterrupt):
        serve.run(app, blocking=True)


if __name__ == "__main__":
    main()
