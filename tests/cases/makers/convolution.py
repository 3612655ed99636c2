"""Convolutions."""

import numpy as np
from onnx import TensorProto as T

from makers import QUANTIZED, SUMS, maker

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


class Window:
    """A window over spatial dims: kernel, strides, dilations, pads, and auto_pad."""

    def __init__(self, d, spatial, auto_pads=AUTO_PADS, small_pads=False):
        self.kernel = [d.integer(1, min(e, 3)) for e in spatial]
        self.strides = self.drawn(d, "strides", [d.pick([1, 1, 2, 3]) for _ in spatial])
        self.auto_pad = d.attr("auto_pad", d.pick(auto_pads), 0.3) or "NOTSET"
        fits = [1 if k == 1 else max(1, min(2, (e - 1) // (k - 1))) for k, e in zip(self.kernel, spatial)]
        dilate = self.auto_pad in ("NOTSET", "VALID") or d.chance(0.2)
        self.dilations = self.drawn(d, "dilations", [d.integer(1, f) for f in fits], 0.4 if dilate else 0)
        self.pads = [0] * (2 * len(spatial))
        if self.auto_pad == "NOTSET":
            most = [k - 1 if small_pads else 2 for k in self.kernel]
            self.pads = self.drawn(d, "pads", [d.integer(0, m) for m in most * 2], 0.5, default=0)

    @staticmethod
    def drawn(d, name, values, p=0.6, default=1):
        return d.attr(name, values, p) or [default] * len(values)

    def taken(self):
        return [(k - 1) * s + 1 for k, s in zip(self.kernel, self.dilations)]

    def output(self, spatial):
        """Extents of a convolution's output."""
        n = len(spatial)
        out = []
        for i, (e, t, s) in enumerate(zip(spatial, self.taken(), self.strides)):
            same = self.auto_pad.startswith("SAME")
            out.append(-(-e // s) if same else (e + self.pads[i] + self.pads[n + i] - t) // s + 1)
        return out


def image(d, spatial=None):
    """[n, c, …spatial] with one to three spatial dims."""
    rank = spatial or d.pick([1, 2, 2, 2, 3])
    return [d.extent(), d.integer(1, 4), *[d.pick([1, 3, 4, 5, 7, 8]) for _ in range(rank)]]


def groups_of(d, channels):
    return d.pick([g for g in (1, 1, 2, channels) if channels % g == 0])


def conv_shapes(d):
    """Shapes of x and w, and the group; sets the attributes."""
    dims = image(d)
    window = Window(d, dims[2:])
    group = groups_of(d, dims[1])
    d.attr("group", group, 1.0 if group > 1 else 0.3)
    d.attr("kernel_shape", window.kernel, 0.5)
    return dims, [group * d.integer(1, 3), dims[1] // group, *window.kernel], window


@maker("Conv", tolerance=SUMS)
def conv(d):
    x, w, _ = conv_shapes(d)
    d.tensor(x)
    d.tensor(w, constant=0.5)
    if d.chance(0.5):
        d.tensor([w[0]], constant=0.5)


@maker("ConvInteger", tolerance=QUANTIZED)
def conv_integer(d):
    x, w, _ = conv_shapes(d)
    d.tensor(x, "T1", 0, 20)
    d.tensor(w, "T2", 0, 20, constant=0.5)
    if d.chance(0.6):
        d.tensor([], "T1", 0, 9)
        if d.chance(0.6):
            d.tensor([] if d.chance(0.6) else [w[0]], "T2", 0, 9, constant=0.7)


@maker("QLinearConv", tolerance=QUANTIZED)
def qlinear_conv(d):
    x, w, _ = conv_shapes(d)
    per_channel = d.chance(0.4)
    scale = [w[0]] if per_channel else []
    d.tensor(x, "T1", 0, 30)
    d.tensor([], T.FLOAT, 0.1, 1)
    d.tensor([], "T1", 0, 9)
    d.tensor(w, "T2", 0, 30, constant=0.5)
    d.tensor(scale, T.FLOAT, 0.1, 1, constant=0.7)
    weight_zero = d.values(scale, d.type("T2"), 0, 9)
    d.add(np.full_like(weight_zero, weight_zero.flat[0]), d.type("T2"), 0.7)
    d.tensor([], T.FLOAT, 2, 9)
    d.tensor([], "T3", 0, 9)
    if d.chance(0.5):
        d.tensor([w[0]], T.INT32, -50, 50, constant=0.7)


@maker("ConvTranspose", tolerance=SUMS)
def conv_transpose(d):
    dims = image(d)
    window = Window(d, dims[2:], small_pads=True)
    group = groups_of(d, dims[1])
    d.attr("group", group, 1.0 if group > 1 else 0.3)
    d.attr("kernel_shape", window.kernel, 0.5)
    beyond = [d.integer(0, max(s, dl) - 1) for s, dl in zip(window.strides, window.dilations)]
    d.attr("output_padding", beyond, 0.3)
    if d.chance(0.15):
        full = [s * (e - 1) + t for s, e, t in zip(window.strides, dims[2:], window.taken())]
        d.attr("output_shape", [max(1, f - d.integer(0, 2)) for f in full])
    d.tensor(dims)
    out = d.integer(1, 3)
    d.tensor([dims[1], out, *window.kernel], constant=0.5)
    if d.chance(0.5):
        d.tensor([out * group], constant=0.5)


@maker("DeformConv", tolerance=SUMS)
def deform_conv(d):
    dims = image(d, 2)
    dims[0] = max(dims[0], 1)
    window = Window(d, dims[2:])
    group = groups_of(d, dims[1])
    offset_group = groups_of(d, dims[1])
    d.attr("group", group)
    d.attr("offset_group", offset_group, 1.0 if offset_group > 1 else 0.3)
    out = window.output(dims[2:])
    taps = offset_group * window.kernel[0] * window.kernel[1]
    channels = group * d.integer(1, 2)
    d.tensor(dims)
    d.tensor([channels, dims[1] // group, *window.kernel])
    d.tensor([dims[0], taps * 2, *out], low=-2, high=2)
    if d.chance(0.5):
        d.tensor([channels])
    elif d.chance(0.5):
        d.skip()
    if d.inputs[-1] is None or len(d.inputs) == 4 and d.chance(0.5):
        d.tensor([dims[0], taps, *out], low=0, high=1)


@maker("Col2Im", tolerance=SUMS)
def col_to_image(d):
    dims = image(d)
    window = Window(d, dims[2:], small_pads=True)
    blocks = int(np.prod(window.output(dims[2:])))
    d.tensor([dims[0], dims[1] * int(np.prod(window.kernel)), blocks])
    d.integers(dims[2:])
    d.integers(window.kernel)


@maker("CausalConvWithState", tolerance=SUMS)
def causal_conv(d):
    batch, channels, kernel = d.integer(1, 3), d.integer(1, 4), d.integer(1, 4)
    d.output_count = 2
    d.attr("activation", d.pick(["none", "silu", "swish"]), 0.6)
    d.tensor([batch, channels, d.integer(1, 7)])
    d.tensor([channels, 1, kernel], constant=0.5)
    if d.chance(0.5):
        d.tensor([channels])
    else:
        d.skip()
    if d.chance(0.5):
        d.tensor([batch, channels, kernel - 1])
