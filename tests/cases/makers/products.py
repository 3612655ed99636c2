"""Matrix products."""

from onnx import TensorProto as T

from makers import QUANTIZED, SUMS, maker


def product_shapes(d):
    """Shapes of two operands of NumPy's matmul."""
    m, k, n = (d.extent(zero=0.02) for _ in range(3))
    batch = d.shape(low=0, high=3)
    a, b = [*d.broadcast(batch), m, k], [*batch, k, n]
    if d.chance(0.5):
        a, b = [*batch, m, k], [*d.broadcast(batch), k, n]
    if d.chance(0.1):
        a = [k]
    if d.chance(0.1):
        b = [k]
    return a, b


@maker("MatMul", tolerance=SUMS)
def matmul(d):
    a, b = product_shapes(d)
    d.tensor(a)
    d.tensor(b, constant=0.4)


@maker("MatMulInteger", tolerance=QUANTIZED)
def matmul_integer(d):
    a, b = product_shapes(d)
    d.tensor(a, "T1", 0, 30)
    d.tensor(b, "T2", 0, 30, constant=0.4)
    d.bound["T3"] = T.INT32
    if d.chance(0.6):
        d.tensor([], "T1", 0, 9)
        if d.chance(0.6):
            per_column = len(b) == 2 and d.chance(0.4)
            d.tensor([b[-1]] if per_column else [], "T2", 0, 9, constant=0.6)


@maker("QLinearMatMul", tolerance=QUANTIZED)
def qlinear_matmul(d):
    a, b = product_shapes(d)
    types = [i.type_str for i in d.schema.inputs]
    for index, dims in ((0, a), (3, b)):
        d.tensor(dims, types[index], 0, 30)
        d.tensor([], types[index + 1], 0.1, 1, constant=0.6)
        d.tensor([], types[index + 2], 0, 9, constant=0.6)
    d.tensor([], types[6], 3, 9, constant=0.6)
    d.tensor([], types[7], 0, 9, constant=0.6)


@maker("Gemm", tolerance=SUMS)
def gemm(d):
    m, k, n = (d.extent() for _ in range(3))
    across = [d.attr(name, 1, 0.4) for name in ("transA", "transB")]
    d.float_attrs("alpha", "beta", choices=(0.0, 0.5, 1.0, 2.0, -1.0))
    d.tensor([k, m] if across[0] else [m, k])
    d.tensor([n, k] if across[1] else [k, n], constant=0.5)
    if d.version < 11 or d.chance(0.7):
        addend = d.broadcast([m, n]) if d.version >= 7 else [m, n]
        if d.has_attr("broadcast") and d.chance(0.5):
            d.attr("broadcast", 1)
            addend = d.pick([[n], [m, 1], [1]])
        d.tensor(addend, constant=0.5)


EQUATIONS = (
    "ij->ji", "ij", "ii->i", "ii", "ij,jk->ik", "ij,jk", "bij,bjk->bik", "bij,bkj->bik", "i,i->", "i,j->ij", "ij,ij->ij", "ij->", "ijk->kj",
    "...ij,...jk->...ik", "...i->...", "i...->...i", "bhqd,bhkd->bhqk", "ij,jk,kl->il", "abc,cd->abd", "iij->j", "a,b,c->cab", "ij,kj->ik ",
    "...,...->...", "i j , j k -> k i", "Ab,bA->", "bn,anm,bm->ba",
)  # fmt: skip


@maker("Einsum", tolerance=SUMS)
def einsum(d):
    equation = d.pick(EQUATIONS)
    d.attr("equation", equation)
    extents = {}
    ellipsis = d.shape(high=2)
    for term in equation.replace(" ", "").split("->")[0].split(","):
        dims = []
        parts = term.split("...")
        for position, letters in enumerate(parts):
            if position:
                dims += ellipsis
            dims += [extents.setdefault(letter, d.extent()) for letter in letters]
        d.tensor(dims, low=-2, high=3)


@maker("Det", tolerance=SUMS)
def det(d):
    n = d.integer(1, 4)
    d.tensor([*d.shape(high=3), n, n])
