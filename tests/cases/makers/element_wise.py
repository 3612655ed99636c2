"""Element-wise ops, and the casts."""

from onnx import TensorProto as T

from draw import FLOATS, is_float
from makers import EXACT, F32_CONSTANTS, Tolerance, maker

NARROW = {T.FLOAT4E2M1: 6, T.FLOAT8E8M0: 100, T.UINT2: 3, T.INT2: 1, T.UINT4: 15, T.INT4: 7}  # largest values of narrow types
RANGES = {  # of inputs, for functions with a limited domain or that overflow
    "Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-1, 1), "Acosh": (1, 8), "Log": (0, 8), "Sqrt": (0, 8),
    "Exp": (-10, 10), "Gelu": (-2.5, 4), "Sinh": (-8, 8), "Cosh": (-8, 8), "Tan": (-1.5, 1.5), "Erf": (-3, 3), "Softplus": (-30, 30),
}  # fmt: skip


@maker(
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor",
    "HardSigmoid", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu",
    "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "BitwiseNot",
)  # fmt: skip
def unary(d):
    one_input(d)


@maker("Gelu", "HardSwish", tolerance=F32_CONSTANTS)
def unary_function(d):
    one_input(d)


def one_input(d):
    for name, attribute in d.schema.attributes.items():
        if name == "approximate":
            d.attr(name, d.pick(["none", "tanh"]), 0.7)
        elif name.startswith("detect_"):
            d.attr(name, d.integer(0, 1), 0.5)
        elif name != "consumed_inputs":
            d.float_attrs(name, choices=(0.5, 1.0, 2.0, 0.3) if d.op == "Celu" else (0.0, 0.5, 1.0, 2.0, -1.0, 0.3))
    formal = d.schema.inputs[0].type_str
    low, high = RANGES.get(d.op, (-4, 4))
    d.tensor(d.shape(), formal, low, high, special=d.op not in ("Neg", "Shrink") or is_float(d.type(formal)))


def legacy_or_numpy_broadcast(d, dims):
    """The shape of a second input: by `broadcast` and `axis` before opset 7, by NumPy's rule since."""
    if not d.has_attr("broadcast"):
        return d.broadcast(dims)
    if d.chance(0.4) or not dims:
        return dims
    d.attr("broadcast", 1)
    if d.chance(0.3):
        return []
    first = d.integer(0, len(dims) - 1)
    last = d.integer(first, len(dims) - 1)
    if last < len(dims) - 1 or d.chance(0.5):
        d.attr("axis", first)
    return dims[first : last + 1]


def both_ways(d, dims):
    """Shapes of two inputs; sometimes the first one is broadcast too."""
    if d.has_attr("broadcast"):
        return dims, legacy_or_numpy_broadcast(d, dims)
    pair = [dims, d.broadcast(dims)] if d.chance(0.7) else [[1 if d.chance(0.3) else e for e in dims] for _ in range(2)]
    return pair if d.chance(0.5) else pair[::-1]


@maker("Add", "Sub", "Mul", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def binary(d):
    for dims in both_ways(d, d.shape()):
        d.tensor(dims, "T", special=True)


@maker("Div", "Mod")
def division(d):
    a, b = both_ways(d, d.shape())
    elem = d.type("T")
    if d.op == "Mod":
        d.attr("fmod", 1, 1.0 if is_float(elem) else 0.4)
    d.tensor(a, low=-20, high=20, special=is_float(elem) and d.op == "Div")
    divisor = d.values(b, elem, 1, 5)
    if elem not in (T.UINT8, T.UINT16, T.UINT32, T.UINT64):
        divisor = (divisor * d.values(b, elem, 0, 1).astype(bool) * 2 - divisor).astype(divisor.dtype)  # some are negated
    d.add(divisor, elem)


@maker("Pow")
def power(d):
    a, b = both_ways(d, d.shape())
    base, exponent = d.type("T"), d.type("T1") if d.version >= 12 else d.type("T")
    whole = not is_float(base)
    d.tensor(a, low=0 if whole else 0.1, high=5, special=not whole and d.chance(0.3))
    d.tensor(b, exponent, 0 if whole else -2, 3)


@maker("BitShift", tolerance=EXACT)
def shift(d):
    a, b = both_ways(d, d.shape())
    elem = d.type("T")
    bits = {T.UINT8: 8, T.UINT16: 16, T.UINT32: 32, T.UINT64: 64, T.INT8: 8, T.INT16: 16, T.INT32: 32, T.INT64: 64}[elem]
    d.attr("direction", d.pick(["LEFT", "RIGHT"]))
    d.tensor(a, low=0, high=100, special=True)
    d.tensor(b, low=0, high=bits - 1)


@maker("Max", "Min", "Mean", "Sum")
def variadic(d):
    dims = d.shape()
    count = d.pick([1, 2, 2, 3, 4])
    for i in range(count):
        d.tensor(d.broadcast(dims) if i and d.version >= 8 else dims, special=d.op in ("Max", "Min"))


@maker("PRelu")
def prelu(d):
    dims = d.shape(low=1)
    d.tensor(dims, special=True)
    if d.version >= 7:
        d.tensor(d.broadcast(dims))
    else:
        d.tensor([dims[1]] if len(dims) > 1 and d.chance(0.7) else [1])


@maker("Clip")
def clip(d):
    d.tensor(d.shape(), special=True)
    if d.version < 11:
        d.attr("min", d.pick([-1.0, 0.0, -3.4028234663852886e38]), 0.6)
        d.attr("max", d.pick([1.0, 2.5, 0.0]), 0.6)
        return
    for bound in (-2, 2):
        if d.chance(0.3):
            d.skip()
        else:
            d.tensor([], low=min(bound, 0), high=max(bound, 0))


@maker("Where", tolerance=EXACT)
def where(d):
    dims = d.shape()
    d.tensor(d.broadcast(dims), T.BOOL)
    d.tensor(dims, special=True)
    d.tensor(d.broadcast(dims), special=True)


def value_range(source, target):
    """Values that both types of a conversion can represent: for others ONNX does not define the result."""
    high = min(NARROW.get(source, 100), NARROW.get(target, 100))
    unsigned = {source, target} & {T.UINT8, T.UINT16, T.UINT32, T.UINT64, T.UINT4, T.UINT2, T.FLOAT8E8M0}
    return (0 if unsigned else -high), high


def cast_values(d, source, target):
    low, high = value_range(source, target)
    if source == T.FLOAT8E8M0 or target == T.FLOAT8E8M0:
        low = 1
    special = is_float(source) and is_float(target)
    return d.values(d.shape(), source, low, high, special)


def castable(d, formal):
    return [t for t in d.allowed(formal) if t != T.STRING]


@maker("Cast", tolerance=Tolerance(1e-4, 0))
def cast(d):
    source = d.type("T1", castable(d, "T1"))
    target = d.type("T2", castable(d, "T2"))
    d.attr("to", target if d.version >= 6 else T.DataType.Name(target))
    d.attr("saturate", d.integer(0, 1), 0.4)
    d.attr("round_mode", d.pick(["up", "down", "nearest"]), 0.4 if target == T.FLOAT8E8M0 else 0)
    d.add(cast_values(d, source, target), source)


@maker("CastLike", tolerance=Tolerance(1e-4, 0))
def cast_like(d):
    source = d.type("T1", castable(d, "T1"))
    target = d.type("T2", castable(d, "T2"))
    d.attr("saturate", d.integer(0, 1), 0.4)
    d.attr("round_mode", d.pick(["up", "down", "nearest"]), 0.4 if target == T.FLOAT8E8M0 else 0)
    d.add(cast_values(d, source, target), source)
    d.tensor(d.shape(high=2), target, 1, 1)


@maker("BitCast", tolerance=EXACT)
def bit_cast(d):
    sizes = {
        8: (T.INT8, T.UINT8), 16: (T.FLOAT16, T.BFLOAT16, T.INT16, T.UINT16), 32: (T.FLOAT, T.INT32, T.UINT32),
        64: (T.DOUBLE, T.INT64, T.UINT64),
    }  # fmt: skip
    bits = d.pick(list(sizes))
    source, target = d.pick(sizes[bits]), d.pick(sizes[bits])
    d.bound.update(T1=source, T2=target)
    d.attr("to", target)
    d.tensor(d.shape(), source, -4 if source in FLOATS else 0, 100)
