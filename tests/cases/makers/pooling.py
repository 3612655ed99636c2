"""Pools over windows, regions and whole planes."""

import numpy as np
from onnx import TensorProto as T

from makers import ELEMENT_WISE, EXACT, SUMS, maker
from makers.convolution import Window, image


def pool_window(d, spatial):
    window = Window(d, spatial, small_pads=True)
    d.attr("kernel_shape", window.kernel)
    d.attr("ceil_mode", d.integer(0, 1), 0.5)
    return window


@maker("AveragePool", "LpPool", tolerance=SUMS)
def pool(d):
    dims = image(d)
    pool_window(d, dims[2:])
    d.attr("count_include_pad", d.integer(0, 1), 0.5)
    d.attr("p", d.pick([1, 2, 3]) if d.version > 1 else 2.0, 0.6)
    d.tensor(dims)


@maker("MaxPool", tolerance=EXACT)
def max_pool(d):
    dims = image(d)
    pool_window(d, dims[2:])
    d.bound["I"] = T.INT64
    if d.version >= 8 and d.chance(0.4):
        d.output_count = 2
        d.attr("storage_order", d.integer(0, 1), 0.5)
    else:
        d.output_count = 1
    d.tensor(dims)


@maker("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", tolerance=SUMS)
def global_pool(d):
    d.attr("p", d.pick([1, 2, 3]) if d.version > 1 else 2.0, 0.6)
    d.tensor(image(d))


@maker("MaxUnpool", tolerance=EXACT)
def max_unpool(d):
    dims = image(d)
    dims[0] = max(dims[0], 1)
    kernel = [d.integer(1, 3) for _ in dims[2:]]
    strides = kernel if d.chance(0.6) else [d.integer(1, 3) for _ in dims[2:]]
    d.attr("kernel_shape", kernel)
    d.attr("strides", strides)
    pooled = [1 if k > 4 else e for k, e in zip(kernel, dims[2:])]
    out = [(e - 1) * s + k for e, s, k in zip(pooled, strides, kernel)]
    shape = [dims[0], dims[1], *pooled]
    count = int(np.prod(out))
    planes = [d.random.permutation(count)[: int(np.prod(pooled))] for _ in range(dims[0] * dims[1])]
    if len(planes[0]) < int(np.prod(pooled)):
        planes = [np.resize(np.arange(count), int(np.prod(pooled))) for _ in planes]
        shape_values = np.ones(shape)
    else:
        shape_values = d.values(shape, T.FLOAT)
    whole = np.stack([p + i * count for i, p in enumerate(planes)])
    dtype = d.values([], d.type("T1")).dtype
    d.add(shape_values.astype(dtype), d.type("T1"))
    d.integers(whole.reshape(shape), constant=0.2)
    if d.chance(0.3):
        d.integers([dims[0], dims[1], *out])


@maker("MaxRoiPool", tolerance=EXACT)
def max_roi_pool(d):
    n, c, h, w = image(d, 2)
    n = max(n, 1)
    scale = d.attr("spatial_scale", d.pick([1.0, 0.5, 0.25]), 0.5) or 1.0
    d.attr("pooled_shape", [d.integer(1, 3), d.integer(1, 3)])
    d.tensor([n, c, h, w])
    rois = []
    for _ in range(d.integer(1, 3)):
        x, y = d.integer(0, w - 1), d.integer(0, h - 1)
        right, bottom = x + d.integer(0, 3), y + d.integer(0, 3)
        rois.append([d.integer(0, n - 1), *[v / scale for v in (x, y, right, bottom)]])
    elem = d.type("T")
    d.add(np.array(rois).astype(d.values([], elem).dtype), elem)


@maker("RoiAlign", tolerance=ELEMENT_WISE)
def roi_align(d):
    n, c, h, w = image(d, 2)
    n = max(n, 1)
    for name in ("output_height", "output_width"):
        d.attr(name, d.integer(1, 3), 0.7)
    d.attr("mode", d.pick(["avg", "max"]), 0.6)
    d.attr("sampling_ratio", d.integer(0, 3), 0.6)
    d.attr("spatial_scale", d.pick([1.0, 0.5, 2.0]), 0.5)
    d.attr("coordinate_transformation_mode", d.pick(["half_pixel", "output_half_pixel"]), 0.6)
    count = d.integer(1, 3)
    d.tensor([n, c, h, w], "T1")
    boxes = np.sort(d.random.integers(0, 64, [count, 2, 2]) / 8.0, axis=1)  # two corners: x, y each
    boxes[:, 1] += 0.125
    elem = d.type("T1")
    d.add(boxes.reshape(count, 4).astype(d.values([], elem).dtype), elem)
    d.integers(d.random.integers(0, n, count), constant=0.3)
