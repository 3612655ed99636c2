"""onnxruntime's CUDA provider as a peer of peers.py, on the same model files: inputs and outputs bound on the device, one CUDA graph,
exhaustive search of convolution algorithms; the faster of both layouts counts. Timed by events on the stream that it is given; if it does not run on
one, by the host's clock around runs, which the record says.

Needs onnx and onnxruntime-gpu (not among this project's dependencies), and a GPU.
"""

import pathlib
import sys
import time

from gpu_tests import device
from timing import DriverStream, dims_of, measure

PROVIDER = "CUDAExecutionProvider"


def about():
    """The fields that all records share. ImportError: not installed; RuntimeError: a wheel without CUDA."""
    import onnx  # noqa: F401
    import onnxruntime

    if PROVIDER not in onnxruntime.get_available_providers():
        raise RuntimeError(f"onnxruntime {onnxruntime.__version__} has no {PROVIDER}")
    if hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    return {**device(), "cuda": getattr(onnxruntime, "cuda_version", ""), "cudnn": "", "commit": f"onnxruntime {onnxruntime.__version__}"}


def model_bytes(path, precision, dims):
    """The model for inputs of `dims`; for fp16 with its floats in that type, except what onnxruntime's converter keeps in f32."""
    import onnx

    model = onnx.load(path)
    for value in model.graph.input:
        for dim, extent in zip(value.type.tensor_type.shape.dim, dims):
            dim.dim_value = extent
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    if precision == "fp16":
        from onnxruntime.transformers.float16 import convert_float_to_float16

        model = convert_float_to_float16(model, disable_shape_infer=True)
    return model.SerializeToString()


def random_inputs(session, dims):
    """{name: array} of `dims` for every input; integers are ids of words."""
    import numpy

    random = numpy.random.default_rng(0)
    dtypes = {"tensor(float16)": numpy.float16, "tensor(float)": numpy.float32, "tensor(int64)": numpy.int64}
    return {value.name: (random.random(dims, numpy.float32) * (1000 if value.type == "tensor(int64)" else 1)).astype(dtypes[value.type])
            for value in session.get_inputs()}


def output_shapes(model, inputs):
    """{name: (shape, dtype)}, from a run on the host."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return {value.name: (y.shape, y.dtype) for value, y in zip(session.get_outputs(), session.run(None, inputs))}


def measure_layout(model, inputs, outputs, precision, nhwc, batch, seconds, graph, stream):
    import onnxruntime

    provider = {"enable_cuda_graph": str(int(graph)), "cudnn_conv_algo_search": "EXHAUSTIVE", "cudnn_conv_use_max_workspace": "1",
                "use_tf32": str(int(precision == "tf32")), "prefer_nhwc": str(int(nhwc)), "fuse_conv_bias": str(int(nhwc))}
    if stream:
        provider["user_compute_stream"] = str(stream.stream.value)
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(model, providers=[(PROVIDER, provider), "CPUExecutionProvider"])
    if session.get_providers()[0] != PROVIDER:
        raise RuntimeError(f"the session runs on {session.get_providers()[0]}")
    binding = session.io_binding()
    for name, x in inputs.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(x, "cuda", 0))
    for name, (shape, dtype) in outputs.items():
        binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_shape_and_type(shape, dtype, "cuda", 0))
    options = onnxruntime.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")  # back-to-back runs do not wait for each other

    def host_ms(runs):
        begin = time.perf_counter()
        for _ in range(runs):
            session.run_with_iobinding(binding, options)
        binding.synchronize_outputs()
        return 1e3 * (time.perf_counter() - begin)

    host_ms(3)  # after these the graph is captured
    setup_s = time.perf_counter() - start
    elapsed_ms = stream.events_ms(lambda: session.run_with_iobinding(binding, options)) if stream else host_ms
    return {**measure(elapsed_ms, batch, seconds), "clock": "events" if stream else "host", "setup_s": setup_s, "context_s": 0.0, "layout": "nhwc" if nhwc else "nchw", "cuda_graph": graph}


def first_that_works(attempts):
    """The result of the first function that raises nothing, or the last one's exception."""
    for attempt in attempts[:-1]:
        try:
            return attempt()
        except Exception as error:  # of the provider's own type
            print(f"onnxruntime: {error}", file=sys.stderr)
    return attempts[-1]()


def measure_some_layout(*arguments):
    """With a CUDA graph; without one if the provider refuses, because some nodes run on the host. By the host's clock only if it refuses a stream."""
    return first_that_works([lambda: measure_layout(*arguments, graph=True, stream=DriverStream()),
                             lambda: measure_layout(*arguments, graph=True, stream=None),
                             lambda: measure_layout(*arguments, graph=False, stream=DriverStream()),
                             lambda: measure_layout(*arguments, graph=False, stream=None)])


def measure_one(configuration, seconds, model_folder):
    """The figures of one configuration; ValueError: an unsupported precision."""
    import onnxruntime

    _, model, precision, batch, threads = configuration
    if threads > 1:
        raise ValueError("several callers are not measured")
    if precision == "bf16":
        raise ValueError("no bf16 convolutions")
    dims = dims_of(model, batch)
    content = model_bytes(pathlib.Path(model_folder) / f"{model}.onnx", precision, dims)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    inputs = random_inputs(session, dims)
    outputs = output_shapes(content, inputs)
    found = (measure_some_layout(content, inputs, outputs, precision, nhwc, batch, seconds) for nhwc in (True, False))
    return min(found, key=lambda r: r["median_ms"])
