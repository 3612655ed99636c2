"""Makes a case invalid: one attribute, extent or index gets a value that the op usually rejects. If both judges refuse the result, onnx-cudnn must
refuse it with a clear error."""

import numpy as np

ODD = (99, -99, -1, 0)


def spoil(draw):
    """Changes one thing; returns whether there was one to change."""
    chosen = draw.pick([spoil_attribute, spoil_shape, spoil_index])
    return not draw.nodes and chosen(draw)


def spoil_attribute(draw):
    names = sorted(name for name, value in draw.attributes.items() if isinstance(value, str) or is_ints(value) or is_number(name, value))
    if not names:
        return False
    name = draw.pick(names)
    value = draw.attributes[name]
    if isinstance(value, int):
        draw.attributes[name] = draw.pick(ODD)
    elif isinstance(value, str):
        draw.attributes[name] = "bogus"
    elif draw.chance(0.3):
        draw.attributes[name] = value[:-1] or [1, 1]
    else:
        draw.attributes[name] = [draw.pick(ODD) if i == 0 else v for i, v in enumerate(value)][:: draw.pick([1, -1])]
    return True


def is_number(name, value):
    """Whether an attribute is a number. 0 and 1 may be flags, for which ONNX does not define other values."""
    return isinstance(value, int) and (value not in (0, 1) or "axis" in name)


def is_ints(value):
    return isinstance(value, list) and bool(value) and all(isinstance(v, int) for v in value)


def spoil_shape(draw):
    """Increments an extent of an input, or prepends a dim of 2."""
    places = [i for i, given in enumerate(draw.inputs) if given is not None and given[0].size]
    if not places:
        return False
    place = draw.pick(places)
    array, elem, constant = draw.inputs[place]
    dims = list(array.shape)
    if dims and draw.chance(0.7):
        dims[draw.integer(0, len(dims) - 1)] += 1
    else:
        dims = [2, *dims]
    draw.inputs[place] = np.resize(array, dims), elem, constant
    return True


def spoil_index(draw):
    """Replaces an element of a small integer input, which is usually an index, an axis or a length."""
    places = [i for i, given in enumerate(draw.inputs) if given is not None and 0 < given[0].size <= 8 and given[0].dtype in (np.int64, np.int32)]
    if not places:
        return False
    place = draw.pick(places)
    array, elem, constant = draw.inputs[place]
    array = array.copy()
    array.flat[draw.integer(0, array.size - 1)] = draw.pick(ODD)
    draw.inputs[place] = array, elem, constant
    return True
