"""Ops that sample images, signal transforms, and window functions."""

import io

import numpy as np
import PIL.Image
from onnx import TensorProto as T

from draw import is_float
from makers import ELEMENT_WISE, EXACT, SUMS, Tolerance, maker
from makers.convolution import image

# Integers are rounded or truncated after the interpolation; onnx.reference computes positions in f64.
RESAMPLED = Tolerance(1e-4, 1e-5, 1, f64_scale=1e-1)
MODES = ("nearest", "linear", "cubic")
COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn", "half_pixel_symmetric")
COORDINATES_OF = {11: COORDINATES[:6], 13: COORDINATES[:5], 18: COORDINATES[:5], 19: COORDINATES[:5] + COORDINATES[6:]}
SCALES = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 0.6, 2.6)


def scales_of(d, dims):
    """A scale per axis; the first two are usually 1."""
    fixed = 2 if len(dims) > 2 and d.chance(0.7) else 0
    return [1.0 if i < fixed or d.chance(0.2) else d.pick(SCALES) for i in range(len(dims))]


FILES = (
    ("BMP", {}), ("PNG", {}), ("PPM", {}), ("JPEG", {}), ("JPEG", {"quality": 95, "subsampling": 0}), ("JPEG", {"progressive": True}), ("TIFF", {}),
    ("TIFF", {"compression": "tiff_lzw"}), ("TIFF", {"compression": "zstd"}), ("WEBP", {}), ("WEBP", {"lossless": True}), ("JPEG2000", {}),
)  # fmt: skip


@maker("ImageDecoder", tolerance=EXACT)
def image_decoder(d):
    """A smooth image of few colors, written by Pillow, which onnx.reference reads it with."""
    few = d.random.integers(0, 256, [d.integer(1, 4), d.integer(1, 4), 3], dtype=np.uint8)
    picture = PIL.Image.fromarray(few).resize((d.integer(1, 40), d.integer(1, 40)), PIL.Image.Resampling.BILINEAR)
    format_, options = d.pick(FILES)
    with io.BytesIO() as file:
        picture.save(file, format_, **options)
        d.integers(np.frombuffer(file.getvalue(), np.uint8), T.UINT8, 0.15)
    d.attr("pixel_format", d.pick(["RGB", "BGR", "Grayscale"]), 0.7)


@maker("Upsample", tolerance=RESAMPLED)
def upsample(d):
    dims = image(d, 2)
    d.attr("mode", d.pick(MODES[:2] if d.version > 1 else ["nearest", "bilinear"]), 0.7)
    scales = [1.0, 1.0, *(d.pick([1.0, 2.0, 1.5, 3.0]) for _ in range(2))]
    d.tensor(dims)
    if d.attr("height_scale", scales[2]):
        d.attr("width_scale", scales[3])
    elif not d.attr("scales", scales):
        d.integers(scales, T.FLOAT)


@maker("Resize", tolerance=RESAMPLED)
def resize(d):
    dims = image(d) if d.chance(0.8) else d.shape(low=1, high=4, zero=0)
    scales = scales_of(d, dims)
    if d.version == 10:
        d.attr("mode", d.pick(MODES[:2]), 0.7)
        d.tensor(dims)
        d.integers(scales, T.FLOAT)
        return
    mode = d.attr("mode", d.pick(MODES), 0.8) or "nearest"
    coordinates = d.attr("coordinate_transformation_mode", d.pick(COORDINATES_OF[d.version]), 0.7)
    d.attr("nearest_mode", d.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]), 0.6 if mode == "nearest" else 0)
    d.attr("cubic_coeff_a", -0.5, 0.3 if mode == "cubic" else 0)
    d.attr("exclude_outside", d.integer(0, 1), 0.4 if mode == "cubic" else 0)
    d.attr("antialias", 1, 0.25 if mode != "nearest" else 0)
    crop = coordinates == "tf_crop_and_resize"
    d.attr("extrapolation_value", 1.5, 0.6 if crop else 0)
    axes = d.attr("axes", d.axes(len(dims)), 0.4)
    chosen = range(len(dims)) if axes is None else axes
    d.tensor(dims, d.schema.inputs[0].type_str, 0 if d.chance(0.3) else -9, 9)
    if crop:
        d.add(crop_of(d, len(chosen)).astype(d.values([], d.type("T2")).dtype), d.type("T2"), 0.7)
    else:
        absent(d)
    if d.chance(0.5):
        d.integers([scales[a] for a in chosen], T.FLOAT)
        return
    absent(d, T.FLOAT)
    sizes = [max(1, int(dims[a] * scales[a])) for a in chosen]
    d.attr("keep_aspect_ratio_policy", d.pick(["stretch", "not_larger", "not_smaller"]), 0.4)
    d.integers(sizes)


def crop_of(d, rank):
    starts = d.random.integers(0, 4, rank) / 8.0
    return np.concatenate([starts, starts + d.random.integers(2, 8, rank) / 8.0])


def absent(d, elem=None):
    """Omits an input; in opset 11 that is an empty tensor."""
    if d.version > 11:
        d.skip()
    else:
        d.integers([], elem or d.type("T2"), 0.7)


@maker("GridSample", tolerance=SUMS)
def grid_sample(d):
    dims = image(d, 2 if d.version < 20 else d.pick([2, 2, 3]))
    dims[0] = max(dims[0], 1)
    rank = len(dims) - 2
    names = ["bilinear", "nearest", "bicubic"] if d.version < 20 else ["linear", "nearest", "cubic"]
    d.attr("mode", d.pick(names[: 3 if rank == 2 else 2]), 0.7)
    d.attr("padding_mode", d.pick(["zeros", "border", "reflection"]), 0.7)
    d.attr("align_corners", d.integer(0, 1), 0.6)
    d.tensor(dims, "T1")
    d.tensor([dims[0], *(d.integer(1, 4) for _ in range(rank)), rank], "T2", -1.25, 1.25)


@maker("AffineGrid", tolerance=SUMS)
def affine_grid(d):
    rank = d.pick([2, 3])
    batch = d.integer(1, 3)
    d.attr("align_corners", d.integer(0, 1), 0.6)
    d.tensor([batch, rank, rank + 1], "T1", -1, 1)
    d.integers([batch, d.integer(1, 4), *(d.integer(1, 5) for _ in range(rank))])


@maker("DFT", tolerance=SUMS)
def dft(d):
    dims = d.shape(low=1, high=4, zero=0)
    length_type = d.pick([T.INT64, T.INT32])
    inverse = d.attr("inverse", d.integer(0, 1), 0.5)
    onesided = d.attr("onesided", d.integer(0, 1), 0.4)
    if onesided and inverse and d.opset < 28:
        onesided = d.attributes["onesided"] = 0
    axis = d.integer(0, len(dims) - 1)
    axis = axis - len(dims) - 1 if d.chance(0.5) else axis
    parts = 1 if onesided and not inverse else 2 if onesided else d.integer(1, 2)
    d.tensor([*dims, parts], "T1")
    length = d.chance(0.4)
    if d.version >= 20:
        if not d.chance(0.7):
            axis = None
        d.skip() if not length else d.integers(d.integer(1, 9), length_type)
        if axis is not None:
            d.integers(axis)
    else:
        d.attr("axis", axis)
        if length:
            d.integers(d.integer(1, 9), length_type)
    if d.version < 20 and axis == 0 and d.chance(0.5):
        d.attributes["axis"] = 1 if len(dims) > 1 else 0


@maker("STFT", tolerance=SUMS)
def stft(d):
    length = d.integer(4, 16)
    frame = d.integer(2, length)
    onesided = d.attr("onesided", d.integer(0, 1), 0.6)
    index = d.pick([T.INT64, T.INT32])
    d.tensor([d.integer(1, 2), length, 2 if onesided == 0 and d.chance(0.4) else 1], "T1")
    d.integers(d.integer(1, 4), index)
    window = d.chance(0.6)
    if window:
        d.tensor([frame], "T1")
    else:
        d.skip()
    if not window or d.chance(0.5):
        d.integers(frame, index)


@maker("MelWeightMatrix", tolerance=SUMS)
def mel_weights(d):
    index = d.pick([T.INT64, T.INT32])
    elem = d.type("T3", [t for t in d.allowed("T3") if is_float(t)])
    d.bound["T3"] = T.FLOAT
    if elem != T.FLOAT or d.chance(0.3):
        d.attr("output_datatype", elem)
        d.bound["T3"] = elem
    rate = d.pick([8000, 16000])
    for value in (d.integer(1, 8), d.pick([16, 32, 64]), rate):
        d.integers(value, index)
    edge = d.type("T2", [T.FLOAT, T.DOUBLE])
    for value in (d.pick([0.0, 100.0, 300.0]), d.pick([2000.0, 3500.0])):
        d.add(np.array(value).astype(d.values([], edge).dtype), edge, 0.5)


@maker("HannWindow", "HammingWindow", "BlackmanWindow", tolerance=ELEMENT_WISE)
def window(d):
    d.attr("periodic", d.integer(0, 1), 0.6)
    elem = d.pick([t for t in d.allowed("T2") if is_float(t)])
    d.bound["T2"] = T.FLOAT
    if elem != T.FLOAT or d.chance(0.3):
        d.attr("output_datatype", elem)
        d.bound["T2"] = elem
    d.integers(d.pick([1, *range(3, 21)]), d.pick([T.INT64, T.INT32]))  # not 2: all its non-zero values are rounding errors
