"""The domain ai.onnx.ml. Numbers are multiples of small fractions, so that sums in any precision choose the same class."""

import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from draw import ML
from makers import EXACT, SUMS, Tolerance, maker

PROBIT = Tolerance(1e-3, 1e-5)  # f32's square roots of differences
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
MEMBER = 6
WORDS = ("a", "b", "cc", "ünï", "")


def floats(d, count, low=-2, high=2, steps=16):
    """`count` multiples of 1 / steps."""
    return [float(v) / steps for v in d.random.integers(low * steps, high * steps + 1, count)]


def rows(d, columns, formal, low=-3, high=3, vector=0.15):
    """X of shape [N,columns], or [columns] by the chance `vector`."""
    dims = [columns] if d.chance(vector) else [d.integer(0 if d.chance(0.05) else 1, 20), columns]
    elem = d.type(formal)
    numbers = d.random.integers(low * 8, high * 8 + 1, dims) / 8
    array = numbers.astype(helper.tensor_dtype_to_np_dtype(elem))
    return d.add(array, elem, 0.1)


def labels(d, count, ints):
    """Strings, or integers in the attribute `ints`."""
    if d.chance(0.3):
        d.attr("classlabels_strings", [f"class {i}" for i in range(count)])
        d.bound["T2"] = T.STRING
    else:
        d.attr(ints, [10 * (i + 1) for i in range(count)])
        d.bound["T2"] = T.INT64
    d.output_count = 2


def transform(d):
    d.attr("post_transform", d.pick(TRANSFORMS), 0.6)


@maker("ArrayFeatureExtractor", domain=ML, tolerance=EXACT)
def array_feature_extractor(d):
    dims = d.shape(low=1, high=4, zero=0)
    d.tensor(dims, "T")
    count = d.integer(1, 4)
    d.integers(d.random.integers(0, dims[-1], [1, count] if d.chance(0.5) else [count]), constant=0.4)


@maker("Binarizer", domain=ML, tolerance=EXACT)
def binarizer(d):
    d.tensor(d.shape(low=1, high=3), "T")
    d.float_attrs("threshold")


@maker("Imputer", domain=ML, tolerance=EXACT)
def imputer(d):
    columns = d.integer(1, 5)
    elem = d.type("T")
    dims = [columns] if d.chance(0.2) else [d.integer(1, 6), columns]
    array = d.random.integers(-2, 3, dims).astype(helper.tensor_dtype_to_np_dtype(elem))
    count = d.pick([1, columns])
    if elem in (T.FLOAT, T.DOUBLE):
        replaced = d.pick([0.0, 1.0, float("nan")])
        array = np.where(d.random.integers(0, 3, dims) == 0, np.nan, array).astype(array.dtype)
        d.attr("imputed_value_floats", floats(d, count))
        d.attr("replaced_value_float", replaced)
    else:
        d.attr("imputed_value_int64s", [int(v) for v in d.random.integers(-9, 9, count)])
        d.attr("replaced_value_int64", d.integer(-2, 2))
    d.add(array, elem)


@maker("Scaler", domain=ML, tolerance=SUMS)
def scaler(d):
    columns = d.integer(1, 6)
    count = d.pick([1, columns])
    d.attr("offset", floats(d, count))
    d.attr("scale", floats(d, count))
    rows(d, columns, "T")


@maker("Normalizer", domain=ML, tolerance=SUMS)
def normalizer(d):
    d.attr("norm", d.pick(["MAX", "L1", "L2"]), 0.9)
    rows(d, d.integer(1, 6), "T")


@maker("FeatureVectorizer", domain=ML, tolerance=EXACT)
def feature_vectorizer(d):
    count = d.integer(1, 3)
    height = d.integer(1, 5)
    widths = [d.integer(1, 4) for _ in range(count)]
    for width in widths:
        d.tensor([height, width], "T1")
    d.attr("inputdimensions", [w + d.pick([0, 0, 0, 1, -1]) or 1 for w in widths])
    d.output_count = 1


@maker("OneHotEncoder", domain=ML, tolerance=EXACT)
def one_hot_encoder(d):
    elem = d.type("T")
    dims = d.shape(low=1, high=3)
    if d.chance(0.25):
        elem = T.STRING
    if elem == T.STRING:
        d.add(np.array([d.pick(WORDS) for _ in range(int(np.prod(dims)))], object).reshape(dims), elem)
        d.attr("cats_strings", list(WORDS[:3]))
    else:
        d.add(d.random.integers(-1, 5, dims).astype(helper.tensor_dtype_to_np_dtype(elem)), elem)
        d.attr("cats_int64s", [int(i) for i in d.random.permutation(5)[: d.integer(1, 5)]])
    d.attr("zeros", d.pick([0, 1, 1]), 0.5)


def keys_of(d, kind, count):
    """Distinct keys, and the type of a tensor of them."""
    if kind == "strings":
        return [f"key {i}" for i in range(count)], T.STRING
    numbers = [int(i) for i in d.random.permutation(3 * count)[:count]]
    return (numbers, T.INT64) if kind == "int64s" else ([i + 0.5 for i in numbers], T.FLOAT)


def looked_up(d, keys, elem):
    """X: keys, and a few that are none."""
    dims = d.shape(high=3)
    others = {T.STRING: "none", T.INT64: -5, T.FLOAT: -5.0, T.INT32: -5, T.INT16: -5, T.DOUBLE: -5.0}
    chosen = [d.pick([*keys, others[elem]]) for _ in range(int(np.prod(dims)))]
    dtype = object if elem == T.STRING else helper.tensor_dtype_to_np_dtype(elem)
    d.add(np.array(chosen, dtype).reshape(dims), elem)


def as_tensor(values, elem, name):
    if elem == T.STRING:
        return helper.make_tensor(name, elem, [len(values)], [v.encode() for v in values])
    return numpy_helper.from_array(np.array(values, helper.tensor_dtype_to_np_dtype(elem)), name)


@maker("LabelEncoder", domain=ML, tolerance=EXACT)
def label_encoder(d):
    count = d.integer(1, 5)
    if d.version == 1:
        classes = [f"key {i}" for i in range(count)]
        d.attr("classes_strings", classes)
        from_strings = d.chance(0.5)
        looked_up(d, classes if from_strings else range(count), T.STRING if from_strings else T.INT64)
        d.bound["T2"] = T.INT64 if from_strings else T.STRING
    else:
        in_tensors = d.version >= 4 and d.chance(0.4)
        made = []
        for side in ("keys", "values"):
            kind = d.pick(["strings", "int64s", "floats"])
            values, elem = keys_of(d, kind, count)
            if in_tensors:
                elem = d.pick([T.INT32, T.INT16, T.INT64]) if elem == T.INT64 else d.pick([T.DOUBLE, T.FLOAT]) if elem == T.FLOAT else elem
            d.attr(f"{side}_{'tensor' if in_tensors else kind}", as_tensor(values, elem, side) if in_tensors else values)
            made.append((values, elem))
        if in_tensors:
            d.attr("default_tensor", as_tensor(made[1][0][:1], made[1][1], "default"))
        looked_up(d, *made[0])
        d.bound["T2"] = made[1][1]
    d.attr("default_string", "other", 0.5)
    d.attr("default_int64", 77, 0.5)
    d.attr("default_float", 7.5, 0.5)


@maker("CategoryMapper", domain=ML, tolerance=EXACT)
def category_mapper(d):
    count = d.integer(1, 5)
    strings, ints = keys_of(d, "strings", count)[0], keys_of(d, "int64s", count)[0]
    d.attr("cats_strings", strings)
    d.attr("cats_int64s", ints)
    from_strings = d.chance(0.5)
    looked_up(d, strings if from_strings else ints, T.STRING if from_strings else T.INT64)
    d.bound["T2"] = T.INT64 if from_strings else T.STRING
    d.attr("default_string", "other", 0.5)
    d.attr("default_int64", 77, 0.5)


@maker("LinearRegressor", domain=ML, tolerance=PROBIT)
def linear_regressor(d):
    columns, targets = d.integer(1, 6), d.integer(1, 4)
    rows(d, columns, "T")
    d.attr("targets", targets, 1.0 if targets > 1 else 0.5)
    d.attr("coefficients", floats(d, columns * targets))
    d.attr("intercepts", floats(d, targets), 0.8)
    transform(d)


@maker("LinearClassifier", domain=ML, tolerance=PROBIT)
def linear_classifier(d):
    columns, classes = d.integer(1, 6), d.integer(2, 5)
    rows(d, columns, "T1")
    scores = d.pick([1, 2]) if classes == 2 else classes
    d.attr("coefficients", floats(d, columns * scores))
    d.attr("intercepts", floats(d, scores))
    d.attr("multi_class", d.integer(0, 1), 0.3)
    labels(d, classes, "classlabels_ints")
    transform(d)


def kernel(d):
    d.attr("kernel_type", d.pick(["LINEAR", "POLY", "RBF", "SIGMOID"]))
    d.attr("kernel_params", [0.25, 0.5, float(d.integer(1, 3))])


@maker("SVMRegressor", domain=ML, tolerance=Tolerance(1e-3, 1e-5))
def svm_regressor(d):
    columns, supports = d.integer(1, 5), d.integer(0, 6)
    rows(d, columns, "T", -1, 1)
    kernel(d)
    d.attr("n_supports", supports)
    if supports:
        d.attr("support_vectors", floats(d, supports * columns, -1, 1))
    d.attr("coefficients", floats(d, supports or columns))
    d.attr("rho", floats(d, 1))
    d.attr("one_class", 1, 0.3)
    d.attr("post_transform", d.pick(TRANSFORMS), 0.2)


@maker("SVMClassifier", domain=ML, tolerance=Tolerance(2e-3, 1e-5))
def svm_classifier(d):
    columns, classes = d.integer(1, 5), d.integer(2, 4)
    rows(d, columns, "T1", -1, 1)
    kernel(d)
    labels(d, classes, "classlabels_ints")
    pairs = classes * (classes - 1) // 2
    if d.chance(0.2):
        d.attr("coefficients", floats(d, columns * classes))
        d.attr("rho", floats(d, 1))
    else:
        counts = [d.integer(1, 3) for _ in range(classes)]
        d.attr("vectors_per_class", counts)
        d.attr("support_vectors", floats(d, sum(counts) * columns, -1, 1))
        d.attr("coefficients", floats(d, sum(counts) * (classes - 1)))
        d.attr("rho", floats(d, pairs, -1, 1, 64))
        if d.chance(0.4):
            d.attr("prob_a", floats(d, pairs, -2, 0))
            d.attr("prob_b", floats(d, pairs, -1, 1))
    transform(d)


class Trees:
    """Random trees: nodes as (tree, id, feature, value, mode, yes, no) with ids by tree; leaves have no feature."""

    def __init__(self, d, features):
        self.d, self.features, self.nodes = d, features, []
        self.modes = [d.pick(MODES[:4])] if d.chance(0.6) else MODES
        for tree in range(d.pick([1, 2, 3, 9])):
            self.first = len(self.nodes)
            self.grow(tree, d.integer(0 if d.chance(0.1) else 1, 4))

    def grow(self, tree, depth):
        node = [tree, len(self.nodes) - self.first, 0, 0.0, "LEAF", 0, 0]
        self.nodes.append(node)
        if depth and (node[1] == 0 or self.d.chance(0.8)):
            node[2:5] = self.d.integer(0, self.features - 1), floats(self.d, 1, -2, 2, 4)[0], self.d.pick(self.modes)
            node[5] = self.grow(tree, depth - 1)
            node[6] = self.grow(tree, depth - 1)
        return node[1]

    def leaves(self):
        return [n for n in self.nodes if n[4] == "LEAF"]

    def attributes(self):
        d = self.d
        names = ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", "nodes_truenodeids", "nodes_falsenodeids")
        for name, values in zip(names, zip(*self.nodes)):
            d.attr(name, list(values))
        d.attr("nodes_missing_value_tracks_true", [d.integer(0, 1) for _ in self.nodes], 0.4)

    def votes(self, prefix, targets, partly, low=-2):
        """Each leaf votes for all targets, or for some of them."""
        d = self.d
        made = []
        for tree, node, *_ in self.leaves():
            chosen = [t for t in targets if not partly or d.chance(0.6)] or [d.pick(targets)]
            made += [(tree, node, t, w) for t, w in zip(chosen, floats(d, len(chosen), low, 2))]
        for name, values in zip(("treeids", "nodeids", "ids", "weights"), zip(*made)):
            d.attr(f"{prefix}_{name}", list(values))


def tree_rows(d, columns, formal):
    """X, with NaN now and then."""
    array = rows(d, columns, formal, vector=0)
    if array.dtype.kind == "f" and d.chance(0.3):
        array[d.random.integers(0, 4, array.shape) == 0] = np.nan


def in_doubles(d, name):
    """The list as a tensor of doubles, as which it goes with f64."""
    if name in d.attributes and d.has_attr(f"{name}_as_tensor"):
        d.attributes[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(d.attributes.pop(name), np.float64), name)


@maker("TreeEnsembleRegressor", domain=ML, tolerance=PROBIT)
def tree_ensemble_regressor(d):
    columns, targets = d.integer(1, 5), d.integer(1, 3)
    tree_rows(d, columns, "T")
    trees = Trees(d, columns)
    trees.attributes()
    has_base = d.chance(0.4)
    trees.votes("target", range(targets), partly=targets > 1 and not has_base and d.chance(0.4))
    d.attr("n_targets", targets)
    d.attr("aggregate_function", d.pick(["SUM", "AVERAGE", "MIN", "MAX"]), 0.8)
    if has_base:
        d.attr("base_values", floats(d, targets))
    d.attr("post_transform", d.pick(TRANSFORMS), 0.3)
    if d.bound["T"] == T.DOUBLE and d.chance(0.6):
        for name in ("nodes_values", "target_weights", "base_values"):
            in_doubles(d, name)


@maker("TreeEnsembleClassifier", domain=ML, tolerance=PROBIT)
def tree_ensemble_classifier(d):
    columns, classes = d.integer(1, 5), d.pick([2, 2, 3, 4])
    tree_rows(d, columns, "T1")
    trees = Trees(d, columns)
    trees.attributes()
    one_score = classes == 2 and d.chance(0.7)
    trees.votes("class", [0] if one_score else range(classes), partly=False, low=d.pick([-2, 0]))
    labels(d, classes, "classlabels_int64s")
    if d.chance(0.3):
        d.attr("base_values", floats(d, 1 if one_score else classes))
    transform(d)
    if d.bound["T1"] == T.DOUBLE and d.chance(0.6):
        for name in ("nodes_values", "class_weights", "base_values"):
            in_doubles(d, name)


@maker("TreeEnsemble", domain=ML, tolerance=PROBIT)
def tree_ensemble(d):
    columns, targets = d.integer(1, 5), d.integer(1, 3)
    tree_rows(d, columns, "T")
    trees = Trees(d, columns)
    nodes = [n for n in trees.nodes]
    branches = {(n[0], n[1]): i for i, n in enumerate(n for n in nodes if n[4] != "LEAF")}
    leaves = {(n[0], n[1]): i for i, n in enumerate(trees.leaves())}
    dtype = helper.tensor_dtype_to_np_dtype(d.bound["T"])
    members, modes, splits, features, sides, roots = [], [], [], [], [], []
    for tree, node, feature, value, mode, yes, no in (n for n in nodes if n[4] != "LEAF"):
        if node == 0:
            roots.append(len(modes))
        is_member = d.chance(0.15)
        modes.append(MEMBER if is_member else MODES.index(mode))
        members += [*(float(d.pick([-2, -1, 1, 2])) for _ in range(d.integer(1, 3))), float("nan")] if is_member else []
        splits.append(value)
        features.append(feature)
        sides.append([(leaves if (tree, side) in leaves else branches)[tree, side] for side in (yes, no)])
        sides[-1] += [int((tree, side) in leaves) for side in (yes, no)]
    # A tree that is a leaf is a branch whose sides are the same leaf.
    for tree, node, *_ in (n for n in nodes if n[1] == 0 and n[4] == "LEAF"):
        roots.append(len(modes))
        modes.append(0), splits.append(0.0), features.append(0)
        sides.append([leaves[tree, node]] * 2 + [1, 1])
    d.attr("tree_roots", roots)
    d.attr("nodes_featureids", features)
    d.attr("nodes_splits", numpy_helper.from_array(np.array(splits, dtype), "splits"))
    d.attr("nodes_modes", numpy_helper.from_array(np.array(modes, np.uint8), "modes"))
    for name, values in zip(("nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs"), zip(*sides)):
        d.attr(name, list(values))
    d.attr("nodes_missing_value_tracks_true", [d.integer(0, 1) for _ in modes], 0.4)
    if members:
        d.attr("membership_values", numpy_helper.from_array(np.array(members, dtype), "members"))
    d.attr("leaf_targetids", [d.integer(0, targets - 1) for _ in leaves])
    d.attr("leaf_weights", numpy_helper.from_array(np.array(floats(d, len(leaves)), dtype), "weights"))
    d.attr("n_targets", targets)
    d.attr("aggregate_function", d.integer(0, 3), 0.8)
    d.attr("post_transform", d.integer(0, 4), 0.3)
