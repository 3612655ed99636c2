"""Pipelines of scikit-learn by skl2onnx, gradient boosting of LightGBM and XGBoost by onnxmltools, fitted to random data from a fixed seed."""

import dataclasses
from collections.abc import Callable

from architectures.example import EXPORTED, RUN, Variant, arrays, normal

FEATURES = 6
ROWS = {"x": normal("N", FEATURES)}
SEED = 20


@dataclasses.dataclass(frozen=True)
class Estimator:
    make: Callable  # () -> an estimator that is not fitted
    classes: int = 0  # 0: a regression, or none
    has_probabilities: bool = True  # of a classifier, which skl2onnx else returns as maps


def fitted(estimator):
    """The estimator of an Estimator, fitted to 120 rows."""
    import numpy as np

    generator = np.random.default_rng(SEED)
    x = generator.standard_normal((120, FEATURES), np.float32)
    score = x @ generator.standard_normal(FEATURES) + np.sin(3 * x[:, 0])
    y = np.digitize(score, np.quantile(score, np.arange(1, estimator.classes) / estimator.classes)) if estimator.classes else score
    return estimator.make().fit(x, y)


def rows(name, symbolic):
    """Inputs; enough rows that every leaf and class has a chance."""
    sizes = RUN if symbolic else EXPORTED
    return arrays(name, ROWS, {**sizes, "N": 20})


def write_sklearn(name, estimator, symbolic):
    def write(path):
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType

        made = fitted(estimator)
        options = {id(made): {"zipmap": False}} if estimator.classes and estimator.has_probabilities else None
        model = to_onnx(made, initial_types=[("x", FloatTensorType([None if symbolic else 20, FEATURES]))], target_opset={"": 18, "ai.onnx.ml": 3},
                        options=options)
        path.write_bytes(model.SerializeToString())
        return rows(name, symbolic)

    return write


def write_boosting(name, estimator, convert):
    def write(path):
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType

        options = {"zipmap": False} if convert == "convert_lightgbm" else {}
        model = getattr(onnxmltools, convert)(fitted(estimator), initial_types=[("x", FloatTensorType([None, FEATURES]))], target_opset=15, **options)
        path.write_bytes(model.SerializeToString())
        return rows(name, symbolic=True)

    return write


def learn(place, kind, **options):
    """() -> sklearn.PLACE.KIND(**options)"""

    def make():
        import importlib

        return getattr(importlib.import_module(f"sklearn.{place}"), kind)(**options)

    return make


def pipeline(*steps):
    def make():
        from sklearn.pipeline import make_pipeline

        return make_pipeline(*(step() for step in steps))

    return make


def columns():
    """Bins of one column beside scaled others."""
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

    parts = ColumnTransformer([("scaled", StandardScaler(), [0, 1]), ("ranged", MinMaxScaler(), [2, 3]), ("powers", PolynomialFeatures(2), [4, 5])])
    return make_pipeline(parts, LogisticRegression())


def vote():
    from sklearn.ensemble import VotingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    parts = [("linear", LogisticRegression()), ("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=3, random_state=SEED))]
    return VotingClassifier(parts, voting="soft", flatten_transform=False)


def lightgbm(kind):
    def make():
        import lightgbm as module

        return getattr(module, kind)(n_estimators=6, num_leaves=7, random_state=SEED, n_jobs=1, verbose=-1)

    return make


def xgboost(kind):
    def make():
        import xgboost as module

        return getattr(module, kind)(n_estimators=6, max_depth=3, random_state=SEED, n_jobs=1)

    return make


SKLEARN = {
    "logistic_regression": Estimator(pipeline(learn("preprocessing", "StandardScaler"), learn("linear_model", "LogisticRegression")), 3),
    "ridge_pca": Estimator(pipeline(learn("preprocessing", "RobustScaler"), learn("decomposition", "PCA", n_components=3), learn("linear_model", "Ridge"))),
    "random_forest": Estimator(learn("ensemble", "RandomForestClassifier", n_estimators=5, max_depth=4, random_state=SEED), 3),
    "extra_trees": Estimator(learn("ensemble", "ExtraTreesRegressor", n_estimators=5, max_depth=4, random_state=SEED)),
    "gradient_boosting": Estimator(learn("ensemble", "GradientBoostingRegressor", n_estimators=6, random_state=SEED)),
    "ada_boost": Estimator(learn("ensemble", "AdaBoostClassifier", n_estimators=4, random_state=SEED), 3),
    "isolation_forest": Estimator(learn("ensemble", "IsolationForest", n_estimators=5, random_state=SEED)),
    "svc": Estimator(learn("svm", "SVC", probability=True, random_state=SEED), 3),
    "svr": Estimator(learn("svm", "SVR")),
    "linear_svc": Estimator(learn("svm", "LinearSVC", random_state=SEED), 3, has_probabilities=False),
    "neighbors": Estimator(learn("neighbors", "KNeighborsClassifier", n_neighbors=3), 3),
    "gaussian_process": Estimator(learn("gaussian_process", "GaussianProcessRegressor", random_state=SEED)),
    "mlp_classifier": Estimator(learn("neural_network", "MLPClassifier", hidden_layer_sizes=(8,), max_iter=20, random_state=SEED), 3),
    "naive_bayes": Estimator(learn("naive_bayes", "GaussianNB"), 3),
    "k_means": Estimator(learn("cluster", "KMeans", n_clusters=4, n_init=1, random_state=SEED)),
    "gaussian_mixture": Estimator(learn("mixture", "GaussianMixture", n_components=3, random_state=SEED)),
    "column_transformer": Estimator(columns, 3),
    "voting": Estimator(vote, 3),
    "bins_bernoulli": Estimator(pipeline(learn("preprocessing", "KBinsDiscretizer", n_bins=4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
                                         learn("naive_bayes", "BernoulliNB")), 3),
}  # fmt: skip
BOOSTING = {
    "lightgbm_classifier": ("convert_lightgbm", Estimator(lightgbm("LGBMClassifier"), 3)),
    "lightgbm_regressor": ("convert_lightgbm", Estimator(lightgbm("LGBMRegressor"))),
    "xgboost_classifier": ("convert_xgboost", Estimator(xgboost("XGBClassifier"), 3)),
    "xgboost_regressor": ("convert_xgboost", Estimator(xgboost("XGBRegressor"))),
}


def variants():
    for place, (name, estimator) in enumerate(SKLEARN.items()):
        symbolic = place % 2 == 0
        yield Variant(f"{name}.skl2onnx" + ("-symbolic" if symbolic else ""), "scikit-learn", "skl2onnx", ("N",) if symbolic else (),
                      write_sklearn(name, estimator, symbolic))
    for name, (convert, estimator) in BOOSTING.items():
        package = "lightgbm" if "lightgbm" in convert else "xgboost"
        yield Variant(f"{name}.onnxmltools-symbolic", package, "onnxmltools", ("N",), write_boosting(name, estimator, convert))
