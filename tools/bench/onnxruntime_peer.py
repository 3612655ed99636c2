"""onnxruntime's CUDA provider as a peer of peers.py, on the same model files: inputs and outputs bound on the device, one CUDA graph,
exhaustive choice of convolutions, channels-last and not, of which the faster counts. Timed by the host's clock around runs.

Needs onnx and onnxruntime-gpu (not among this project's dependencies), and a GPU.
"""

import pathlib
import time

from gpu_tests import device
from timing import measure

PROVIDER = "CUDAExecutionProvider"


def about():
    """What all its records share. ImportError: not installed; RuntimeError: a wheel without CUDA."""
    import onnx  # noqa: F401
    import onnxruntime

    if PROVIDER not in onnxruntime.get_available_providers():
        raise RuntimeError(f"onnxruntime {onnxruntime.__version__} has no {PROVIDER}")
    if hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    return {**device(), "cuda": getattr(onnxruntime, "cuda_version", ""), "cudnn": "", "commit": f"onnxruntime {onnxruntime.__version__}"}


def model_bytes(path, precision, batch):
    """The model for this batch; of fp16 with all its floats, weights and border, in that type."""
    import numpy
    import onnx

    model = onnx.load(path)
    borders = [value.type.tensor_type for value in (*model.graph.input, *model.graph.output)]
    for border in borders:
        border.shape.dim[0].dim_value = batch
    if precision == "fp16":
        for border in borders:
            border.elem_type = onnx.TensorProto.FLOAT16
        for weight in model.graph.initializer:
            if weight.data_type == onnx.TensorProto.FLOAT:
                weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight).astype(numpy.float16), weight.name))
    return model.SerializeToString()


def measure_layout(model, precision, nhwc, batch, seconds):
    import numpy
    import onnxruntime

    dtype = numpy.float16 if precision == "fp16" else numpy.float32
    provider = {"enable_cuda_graph": "1", "cudnn_conv_algo_search": "EXHAUSTIVE", "cudnn_conv_use_max_workspace": "1",
                "use_tf32": str(int(precision == "tf32")), "prefer_nhwc": str(int(nhwc)), "fuse_conv_bias": str(int(nhwc))}
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(model, providers=[(PROVIDER, provider)])
    if session.get_providers()[0] != PROVIDER:
        raise RuntimeError(f"the session runs on {session.get_providers()[0]}")
    binding = session.io_binding()
    random = numpy.random.default_rng(0)
    for value in session.get_inputs():
        x = random.standard_normal(value.shape, numpy.float32).astype(dtype)
        binding.bind_ortvalue_input(value.name, onnxruntime.OrtValue.ortvalue_from_numpy(x, "cuda", 0))
    for value in session.get_outputs():
        binding.bind_ortvalue_output(value.name, onnxruntime.OrtValue.ortvalue_from_shape_and_type(value.shape, dtype, "cuda", 0))
    options = onnxruntime.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")  # runs back to back do not wait for each other

    def elapsed_ms(runs):
        begin = time.perf_counter()
        for _ in range(runs):
            session.run_with_iobinding(binding, options)
        binding.synchronize_outputs()
        return 1e3 * (time.perf_counter() - begin)

    elapsed_ms(3)  # after which the graph is recorded
    setup_s = time.perf_counter() - start
    return {**measure(elapsed_ms, batch, seconds), "setup_s": setup_s, "context_s": 0.0, "layout": "nhwc" if nhwc else "nchw"}


def measure_one(configuration, seconds, model_folder):
    """The figures of one configuration; ValueError: a precision that it has not."""
    _, model, precision, batch = configuration
    if precision == "bf16":
        raise ValueError("no bf16 convolutions")
    content = model_bytes(pathlib.Path(model_folder) / f"{model}.onnx", precision, batch)
    return min((measure_layout(content, precision, nhwc, batch, seconds) for nhwc in (True, False)), key=lambda r: r["median_ms"])
