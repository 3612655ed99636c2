"""Random choices for one case: the op's version, types, shapes, values and attributes. Equal (seed, index) give equal choices on every machine:
they use only PCG64's integers and divisions, no functions of the C library."""

import collections
import functools

import ml_dtypes
import numpy as np
from onnx import TensorProto, defs, helper

EXTENTS = (1, 1, 2, 2, 3, 3, 4, 5, 7)
MOST_ELEMENTS = 1500
OLDEST_TAKEN = 6  # few cases are older: onnxruntime takes few such forms
ML = "ai.onnx.ml"
NEWEST_ML = 5
NEWEST_JUDGED = 26  # the newest opset that onnxruntime takes
FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
WORDS = ("", "a", "b", "ab", "Zebra", "zebra", "ünï", "x y", "x  y", "0", "a,b", "日本")
SMALLEST = {TensorProto.FLOAT16: 2.0**-24, TensorProto.BFLOAT16: 2.0**-133, TensorProto.FLOAT: 2.0**-149, TensorProto.DOUBLE: 2.0**-1074}


@functools.cache
def schemas():
    """since_version and whether it is deprecated of each schema of each op of the default domain and of ML, ascending."""
    found = collections.defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in ("", ML):
            found[schema.name].append((schema.since_version, schema.deprecated))
    return {op: sorted(of_op) for op, of_op in found.items()}


def versions(op):
    """since_version of each schema of the op that is not deprecated, ascending."""
    return [version for version, deprecated in schemas()[op] if not deprecated]


def last_opset(op, version):
    """The newest opset that uses the schema of `version`."""
    later = [since for since, _ in schemas()[op] if since > version]
    newest = NEWEST_ML if domain_of(op) == ML else defs.onnx_opset_version()
    return min(later) - 1 if later else newest


@functools.cache
def domain_of(op):
    return ML if any(s.domain == ML and s.name == op for s in defs.get_all_schemas_with_history()) else ""


def element_types(type_strings):
    """TensorProto types for strings like "tensor(float)"; without complex numbers, which no case has."""
    inner = [t[7:-1].upper() for t in type_strings if t.startswith("tensor(") and "complex" not in t]
    return sorted(TensorProto.DataType.Value(t) for t in inner)


def is_float(elem):
    return elem in FLOATS


class Draw:
    """The interface for makers. They add inputs in order with add() or skip(), and attributes with attr()."""

    domain = ""

    def __init__(self, op, seed, index):
        self.op = op
        self.random = np.random.Generator(np.random.PCG64([seed, index]))
        self.domain = domain_of(op)
        known = [v for v in versions(op) if self.domain or last_opset(op, v) >= OLDEST_TAKEN or self.chance(0.1)] or versions(op)
        judged = [v for v in known if v <= NEWEST_JUDGED] or known
        self.version = self.pick([judged[-1], self.pick(known)])
        last = last_opset(op, self.version)
        self.opset = max(self.version, min(last, NEWEST_JUDGED))
        if self.chance(0.15):
            self.opset = self.pick([self.version, last])
        self.schema = defs.get_schema(op, self.opset, self.domain)
        self.inputs, self.attributes, self.bound = [], {}, {}
        self.output_count = None  # None: random, within the schema
        self.nodes = None  # for a graph of several nodes, whose outputs are graph_outputs: (name, element type)
        self.graph_outputs = None

    # Choices
    def chance(self, p):
        return int(self.random.integers(0, 1000)) < p * 1000

    def pick(self, choices):
        return choices[int(self.random.integers(0, len(choices)))]

    def integer(self, low, high):
        """Between low and high, both inclusive."""
        return int(self.random.integers(low, high + 1))

    def extent(self, zero=0.03):
        return 0 if self.chance(zero) else self.pick(EXTENTS)

    def shape(self, rank=None, low=0, high=6, zero=0.03):
        """`rank` extents, or a number between low and high of them."""
        rank = self.integer(low, high) if rank is None else rank
        dims = [self.extent(zero) for _ in range(rank)]
        while np.prod(dims, dtype=np.int64) > MOST_ELEMENTS:
            largest = dims.index(max(dims))
            dims[largest] = dims[largest] // 2
        return dims

    def broadcast(self, dims):
        """A shape that broadcasts to dims: leading dims are dropped, others are 1."""
        kept = dims[self.integer(0, len(dims)):] if dims and self.chance(0.5) else dims
        return [1 if self.chance(0.3) else d for d in kept]

    def axis(self, rank, negative=True):
        axis = self.integer(0, max(rank - 1, 0))
        return axis - rank if negative and rank and self.chance(0.4) else axis

    def axes(self, rank, low=1):
        """Some distinct axes in any order, some of them negative."""
        count = self.integer(min(low, rank), rank)
        chosen = [int(a) for a in self.random.permutation(rank)[:count]]
        return [a - rank if self.chance(0.3) else a for a in chosen]

    # Types
    def allowed(self, formal):
        """Types of a formal input or output, or of a type variable."""
        for constraint in self.schema.type_constraints:
            if constraint.type_param_str == formal:
                return element_types(constraint.allowed_type_strs)
        return element_types([formal])

    def type(self, formal="T", among=None):
        """The type of a type variable; the first call chooses it, f32 half of the time if that is allowed."""
        if formal not in self.bound:
            allowed = [t for t in self.allowed(formal) if among is None or t in among]
            if TensorProto.STRING in allowed and len(allowed) > 1 and not self.chance(0.05):
                allowed.remove(TensorProto.STRING)
            common = TensorProto.FLOAT in allowed and self.chance(0.5)
            self.bound[formal] = TensorProto.FLOAT if common else self.pick(allowed)
        return self.bound[formal]

    # Values
    def values(self, dims, elem, low=-4, high=4, special=False):
        """An array of an ONNX element type with values between low and high. special: a quarter of the arrays also have infinities, NaN, denormals
        or the type's bounds."""
        if elem == TensorProto.STRING:
            return np.array([self.pick(WORDS) for _ in range(int(np.prod(dims)))], object).reshape(dims)
        dtype = helper.tensor_dtype_to_np_dtype(elem)
        if elem == TensorProto.BOOL:
            return self.random.integers(0, 2, dims).astype(bool)
        special = special and self.chance(0.25)
        if is_integer(dtype):
            info = ml_dtypes.iinfo(dtype)
            low, high = max(int(np.ceil(low)), int(info.min)), min(int(np.floor(high)), int(info.max))
            array = self.random.integers(low, high + 1, dims).astype(dtype)
            return self.planted(array, [info.min, info.max, 0]) if special else array
        steps = self.pick([8, 2, 1]) if self.chance(0.25) else 1 << 20
        unit = self.random.integers(0, int(steps * (high - low)) + 1, dims) / steps + low
        array = np.asarray(unit).astype(dtype)
        if not special:
            return array
        info = ml_dtypes.finfo(dtype)
        planted = [np.inf, -np.inf, np.nan, 0.0, -0.0, float(info.max), float(info.min), float(info.smallest_normal), SMALLEST.get(elem, 0.0)]
        return self.planted(array, planted if elem in FLOATS else [0.0, -0.0, float(info.max), float(info.min)])

    def planted(self, array, specials):
        """`array` with some elements replaced by `specials`."""
        chosen = self.random.integers(0, 3, array.shape) == 0
        which = self.random.integers(0, len(specials), array.shape)
        choices = np.array([np.array(s).astype(array.dtype) for s in specials])
        return np.where(chosen, choices[which], array).astype(array.dtype)

    # The node
    def add(self, array, elem, constant=0.15):
        """Adds the next input; constant: the probability that it is an initializer."""
        array = np.asarray(array)
        self.inputs.append((array, elem, self.chance(constant)))
        return array

    def tensor(self, dims, formal="T", low=-4, high=4, special=False, constant=0.15):
        elem = formal if isinstance(formal, int) else self.type(formal)
        return self.add(self.values(dims, elem, low, high, special), elem, constant)

    def integers(self, values, elem=TensorProto.INT64, constant=0.5):
        """Adds an input of integers, on which a shape usually depends."""
        return self.add(np.array(values, helper.tensor_dtype_to_np_dtype(elem)), elem, constant)

    def skip(self):
        self.inputs.append(None)

    def has_attr(self, name):
        return name in self.schema.attributes

    def attr(self, name, value, p=1.0):
        """Sets an attribute with probability p if this version has it; returns its value (None: not set)."""
        if self.has_attr(name) and self.chance(p):
            self.attributes[name] = value
            return value
        return None

    def float_attrs(self, *names, choices=(0.0, 0.5, 1.0, 2.0, -1.0, 0.3)):
        for name in names:
            self.attr(name, self.pick(choices), 0.6)

    def input_count(self):
        return len(self.schema.inputs)

    def declared_dims(self, name, array):
        """Of a graph input: part of them symbols."""
        return [f"{name}_{i}" if self.chance(0.15) else d for i, d in enumerate(array.shape)]


class ContribDraw(Draw):
    """A draw of an op of another domain, of which onnx has no schema: the maker states all types, and the outputs by gives()."""

    def __init__(self, op, seed, index):
        self.domain, self.op = op.rsplit(".", 1)
        if self.domain == "ai.onnx":
            self.domain = ""
        self.random = np.random.Generator(np.random.PCG64([seed, index]))
        self.version, self.opset, self.schema = 1, self.pick([17, 21, 23]), None
        self.inputs, self.attributes, self.outputs = [], {}, []
        self.nodes = self.graph_outputs = None
        self.symbols = {}  # extent: its name in graph inputs

    def has_attr(self, name):
        return True

    def gives(self, *elems):
        """Types of the outputs; None: the output is absent."""
        self.outputs = list(elems)

    def floats(self, dims, elem=TensorProto.FLOAT, low=-2, high=2, constant=0.15):
        return self.add(self.values(dims, elem, low, high), elem, constant)

    def scale(self, elem=TensorProto.FLOAT, dims=()):
        """Scales of a quantization, multiples of 1 / 128."""
        dtype = helper.tensor_dtype_to_np_dtype(elem)
        return self.add((self.random.integers(2, 9, dims) / 128).astype(dtype), elem, 0.7)

    def quantized(self, dims, elem, constant=0.15):
        return self.add(self.values(dims, elem, -200, 255), elem, constant)

    def quantized_weights(self, dims, elem, constant):
        """INT8 has 7 bits here: where a CPU has AVX2 alone, onnxruntime adds two products of u8 and s8 in 16 bits, which saturate."""
        return self.add(self.values(dims, elem, *((-200, 255) if elem == TensorProto.UINT8 else (-64, 63))), elem, constant)

    def zero_point(self, elem, dims=()):
        return self.add(self.values(dims, elem, *((100, 140) if elem == TensorProto.UINT8 else (-20, 20))), elem, 0.7)

    def declared_dims(self, name, array):
        return [self.symbols.get(d, d) for d in array.shape]


def is_integer(dtype):
    try:
        ml_dtypes.iinfo(dtype)
        return True
    except ValueError:
        return False
