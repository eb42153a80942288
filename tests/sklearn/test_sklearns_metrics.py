"""Distances of every metric that the bridge takes are those of scikit-learn, on data of every kind."""

import warnings

import numpy as np
import pytest
from bridge import exact_score
from sklearn import model_selection as ms
from sklearn.datasets import load_wine
from sklearn.neighbors import VALID_METRICS, KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from knnccv import LeaveOut, complete_cv
from knnccv.sklearn import expected_score
from knnccv.sklearn._estimators import read_rule

RNG = np.random.default_rng(5)
N, F = 16, 4
REALS, COUNTS, BITS = RNG.normal(size=(N, F)), RNG.integers(0, 4, (N, F)), RNG.random((N, F)) < 0.4
SIGNED = COUNTS * RNG.choice([-1, 1], (N, F))
EMPTY = np.vstack([np.zeros((2, F)), SIGNED[2:]])
DATA = {
    "positive": np.abs(REALS),
    "reals": REALS,
    "single": REALS.astype(np.float32),
    "counts": COUNTS,
    "signed": SIGNED,
    "signed floats": SIGNED.astype(float),
    "empty rows": EMPTY,
    "empty integers": EMPTY.astype(int),
    "constant rows": np.vstack([np.full((2, F), 0.1), REALS[2:]]),
    "opposites": np.vstack([REALS[: N // 2], -REALS[: N // 2]]),
    "booleans": BITS,
    "0 and 1": BITS.astype(float),
}
SPREAD = np.cov(REALS.T) + np.eye(F)
WEIGHTS = np.arange(1.0, F + 1)
PARAMETERS = {
    "minkowski": [{"p": 1}, {"p": 2}, {"p": 3}, {"p": 1.5}, {"w": WEIGHTS}, {"p": 3, "w": WEIGHTS}],
    "mahalanobis": [{"V": SPREAD}, {"VI": np.linalg.inv(SPREAD)}],
    "seuclidean": [{"V": WEIGHTS}],
}
CASES = [
    (name, algorithm, options)
    for algorithm in ("brute", "ball_tree")
    for name in sorted({*VALID_METRICS[algorithm]} - {"precomputed", "pyfunc"})
    for options in PARAMETERS.get(name, [{}])
]


def of_all_others(indices, distances):
    found = np.zeros((N, N))
    np.put_along_axis(found, indices, distances, axis=1)
    return found


def fitting(name, X):
    return X[:, :2] / 4.0 if name == "haversine" else X


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_metric_has_scikit_learns_distances_or_is_not_exact():
    differing, inexact, compared = [], {}, set()
    for name, algorithm, options in CASES:
        for kind, X in DATA.items():
            X = fitting(name, X)
            params = {key: value for key, value in options.items() if key != "p"}
            asked = {"metric": name, "p": options.get("p", 2), "metric_params": params}
            estimator = KNeighborsClassifier(N - 1, algorithm=algorithm, **asked)
            try:
                found = of_all_others(*read_rule(estimator, X).neighbors.kneighbors(N - 1))
            except ValueError:
                inexact.setdefault(name, set()).add(kind)
                continue
            try:
                wanted = of_all_others(*estimator.fit(X, np.arange(N) % 2).kneighbors()[::-1])
            except (TypeError, ValueError):  # a parameter that this algorithm does not take
                continue
            compared.add(name)
            if not np.allclose(found, wanted, *((1e-4, 1e-3) if kind == "single" else (1e-9, 1e-7))):
                differing.append((name, algorithm, options, kind, np.abs(found - wanted).max()))
    assert not differing
    assert len(compared) >= 23
    assert "sokalmichener" not in inexact
    assert inexact["correlation"] >= {"constant rows", "empty rows"}
    assert {"signed", "empty integers"} <= inexact["braycurtis"] <= {"signed", "empty integers", "booleans"}


def test_bray_curtis_of_both_signs_is_scikit_learns_and_differs_from_scipys_with_a_warning():
    X, y = (part[::3] for part in load_wine(return_X_y=True))
    X = StandardScaler().fit_transform(X)
    one = KNeighborsClassifier(1, metric="braycurtis")
    wanted = ms.cross_val_score(one, X, y, cv=ms.LeaveOneOut()).mean()
    assert exact_score(one, X, y, cv=ms.LeaveOneOut()).score == pytest.approx(wanted)
    with pytest.warns(UserWarning, match="both signs.*scikit-learn.*scipy") as caught:
        assert complete_cv(X, y, "nn", LeaveOut(1), metric="braycurtis").score == pytest.approx(wanted)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="both signs") as caught:
        complete_cv(np.abs(X), y, "nn", metric="braycurtis", test=(-np.abs(X), y))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete_cv(np.abs(X), y, "nn", metric="braycurtis")


def test_rows_that_share_no_known_feature_have_no_exact_score():
    X = REALS.copy()
    X[3, :2] = X[5, 2:] = np.nan
    rule = KNeighborsClassifier(3, metric="nan_euclidean")
    with pytest.raises(ValueError, match=r"rows 3 and 5 share no known feature; impute them"):
        expected_score(rule, X, np.arange(N) % 2, cv=ms.KFold(4, shuffle=True), method="exact")
