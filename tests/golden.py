"""The same bits before and after a change: over a thousand answers, written to a file and compared.

Not a test: the last bits depend on the processor and on the versions of the libraries. On one machine:

    git stash; python tests/golden.py write /tmp/golden.json; git stash pop
    python tests/golden.py compare /tmp/golden.json

Every score of every rule, design, tie rule, engine and entry point must stay the same, to the last bit,
unless the change is meant to alter it. Differences are listed, and the exit status is then 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    loo_curve,
    loo_identity,
    monte_carlo_cv,
    screened_cv,
    surface,
)
from knnccv.datasets import load_diabetes, load_wine
from knnccv.hvdm import HEOM, HVDM

RULES: list[tuple[str, dict[str, Any]]] = [
    ("nn", {}),
    ("nn", {"loss": True}),
    ("knn", {"n_neighbors": 1}),
    ("knn", {"n_neighbors": 4}),
    ("knn", {"n_neighbors": 5}),
    ("knn", {"n_neighbors": 3, "loss": True}),
    ("knn", {"n_neighbors": 4, "vote_ties": "random"}),
    ("confidence", {"n_neighbors": 3}),
    ("confidence", {"n_neighbors": 4, "score": "brier"}),
    ("rank", {"rank": 1}),
    ("rank", {"rank": 3}),
    ("regression", {"n_neighbors": 3}),
]
Case = tuple[str, Callable[[], Any]]


def tables() -> dict[str, tuple[Any, np.ndarray]]:
    """Small tables for every engine, with and without ties."""
    rng = np.random.default_rng(20000629)
    made: dict[str, tuple[Any, np.ndarray]] = {}
    for name, n_items, n_features, n_classes in (("tree", 60, 3, 3), ("product", 60, 24, 4)):
        y = rng.integers(n_classes, size=n_items)
        made[name] = rng.normal(size=(n_items, n_features)) + y[:, None] / 2, y
    y = rng.integers(3, size=45)
    made["tied"] = rng.integers(3, size=(45, 2)).astype(float), y
    made["matrix"] = rng.random((40, 40)), rng.integers(2, size=40)
    made["tied matrix"] = rng.integers(4, size=(40, 40)).astype(float), rng.integers(3, size=40)
    return made


def designs(y: np.ndarray) -> list[Any]:
    """One of every kind, with folds of unequal sizes."""
    groups = np.arange(len(y)) % 7
    return [
        Subsample(0.6),
        KFold(7),
        LeaveOut(1),
        LeaveOut(4),
        StratifiedSubsample(0.5),
        StratifiedSubsample(per_class=2),
        StratifiedKFold(4),
        LeaveGroupsOut(groups),
        LeaveGroupsOut(groups, p=2),
    ]


def cases() -> Iterator[Case]:
    """Names and calls."""
    for table, (X, y) in tables().items():
        metric = "precomputed" if "matrix" in table else "euclidean"
        n_classes = len(np.unique(y))
        loss = np.arange(n_classes**2).reshape(n_classes, n_classes) % 5 / 3
        for rule, given in RULES:
            target = np.sin(y + np.arange(len(y))) if rule == "regression" else y
            parameters = {name: loss if value is True else value for name, value in given.items()}
            for design in designs(y):
                stratified = type(design).__name__.startswith("Stratified")
                several = getattr(design, "p", 1) > 1 and isinstance(design, LeaveGroupsOut)
                decides = given.get("n_neighbors", given.get("rank", 1))
                if (rule == "regression" and stratified) or (several and decides > 1):
                    continue
                for ties in ("random", "index"):
                    asked = {"metric": metric, "ties": ties, **parameters}
                    kind = type(design).__name__ + (" p=2" if several else "")
                    shown = f"{table}, {rule} {given}, {kind}, {ties}"
                    yield (
                        shown,
                        lambda X=X, t=target, r=rule, d=design, a=asked: complete_cv(X, t, r, d, **a),
                    )
    yield from averages()
    yield from exact()
    yield from engines()
    yield from elsewhere()


def averages() -> Iterator[Case]:
    """Averages, random runs, confusion, ties."""
    X, y = tables()["tied"]
    for average in ("item", "class"):
        for design in (KFold(7), StratifiedKFold(4), LeaveGroupsOut(np.arange(45) % 7)):
            for rule in ("nn", "knn", "rank"):
                yield (
                    f"{average}, {type(design).__name__}, {rule}",
                    lambda r=rule, d=design, a=average: complete_cv(X, y, r, d, average=a),
                )
    for design in designs(y):
        yield (
            f"random runs, {type(design).__name__}",
            lambda d=design: monte_carlo_cv(X, y, "knn", d, n_repeats=7, random_state=1).scores,
        )
    for design in (Subsample(0.5), StratifiedKFold(4)):
        shown = type(design).__name__
        yield f"confusion, {shown}", lambda d=design: complete_cv(X, y, "knn", d).confusion()
        yield (
            f"tie report, {shown}",
            lambda d=design: (lambda t: [t.n_tied, t.lowest, t.score, t.highest])(
                complete_cv(X, y, "knn", d).tie_report()
            ),
        )
    diabetes = load_diabetes()
    yield (
        "bias, variance, prediction",
        lambda: (lambda r: np.concatenate([r.bias2, r.variance, r.prediction]))(
            complete_cv(diabetes.X, diabetes.y, "regression", Subsample(0.5), n_neighbors=4)
        ),
    )


def exact() -> Iterator[Case]:
    """Rational numbers."""
    X, y = tables()["tied"]
    X, y = X[:14], y[:14]
    for rule, given in RULES:
        if given.get("loss"):
            continue
        for design in (Subsample(6), KFold(4), LeaveGroupsOut(np.arange(14) % 5)):
            yield (
                f"exact {rule} {given}, {type(design).__name__}",
                lambda r=rule, d=design, g=given: complete_cv(X, y, r, d, exact=True, **g),
            )


def engines() -> Iterator[Case]:
    """Metrics, kinds of neighbors, dtypes."""
    wine = load_wine()
    X = np.abs(wine.X)
    for metric in (
        "euclidean",
        "sqeuclidean",
        "manhattan",
        "chebyshev",
        "cosine",
        "correlation",
        "minkowski",
        "hamming",
    ):
        yield f"wine, {metric}", lambda m=metric: complete_cv(X, wine.y, "knn", 5, metric=m)
    for algorithm in ("auto", "brute", "tree"):
        for width in (3, 13):
            yield (
                f"wine, {algorithm}, {width}",
                lambda a=algorithm, w=width: complete_cv(
                    Neighbors.from_data(X[:, :w], algorithm=a), wine.y, "knn", KFold(5)
                ),
            )
    yield "wine, float32", lambda: complete_cv(X.astype(np.float32), wine.y, "knn", KFold(5))
    near = Neighbors.from_data(X)
    lists = near.kneighbors(20)
    yield "lists", lambda: complete_cv(Neighbors.from_lists(*lists), wine.y, "knn", KFold(5))
    edges = csr_array(
        (lists[1].ravel(), lists[0].ravel(), np.arange(0, 20 * 178 + 1, 20)), shape=(178, 178)
    )
    yield "graph", lambda: complete_cv(Neighbors.from_graph(edges), wine.y, "knn", Subsample(100))
    yield "order", lambda: np.concatenate([part.ravel() for part in near.kneighbors(30)])
    rng = np.random.default_rng(3)
    large = rng.normal(size=(2500, 16))
    labels = (large[:, 0] + rng.normal(size=2500) > 0).astype(int) + (large[:, 1] > 1)
    for rule in ("nn", "knn", "rank", "confidence"):
        for design in (KFold(5), StratifiedKFold(5)):
            yield (
                f"2,500 items, {rule}, {type(design).__name__}",
                lambda r=rule, d=design: complete_cv(large, labels, r, d),
            )
    mixed = np.round(wine.X, 1).astype(object)
    mixed[:, 0] = np.where(wine.X[:, 0] > 13, "high", "low")
    mixed[::7, 3] = None
    yield (
        "HEOM",
        lambda: complete_cv(HEOM(nominal=[0]).fit(mixed, wine.y).neighbors(), wine.y, "knn", KFold(5)),
    )
    yield "HVDM", lambda: complete_cv(HVDM(nominal=[0]).fit(mixed, wine.y).neighbors(), wine.y, "knn", 5)


def elsewhere() -> Iterator[Case]:
    """The other entry points."""
    from sklearn import model_selection
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    from knnccv.rib import RIBClassifier
    from knnccv.sklearn import ccv_scorer, expected_score

    for table, (X, y) in tables().items():
        if "matrix" in table:
            continue
        for rule, axes in (("knn", {"n_neighbors": range(1, 8)}), ("rank", {"n_neighbors": [1, 3]})):
            for stratified in (False, True):
                for ties in ("random", "index"):
                    yield (
                        f"surface, {table}, {rule}, stratified={stratified}, {ties}",
                        lambda X=X, y=y, r=rule, a=axes, s=stratified, t=ties: (
                            lambda found: np.concatenate([found.scores, found.error_bound])
                        )(surface(X, y, variant=r, train_sizes=[0.3, 0.7], stratified=s, ties=t, **a)),
                    )
        yield f"loo curve, {table}", lambda X=X, y=y: loo_curve(X, y, range(1, 20), "knn")
        yield f"loo curve, {table}, values", lambda X=X, y=y: loo_curve(X, np.sin(y * 1.0), range(1, 20))
    diabetes = load_diabetes()
    yield "loo identity", lambda: loo_identity(diabetes.X, diabetes.y, range(1, 9), check=False)
    X, y = tables()["product"]
    splitters = [
        model_selection.KFold(4, shuffle=True),
        model_selection.StratifiedKFold(4, shuffle=True),
        model_selection.RepeatedStratifiedKFold(n_splits=3, n_repeats=2),
        model_selection.ShuffleSplit(5, test_size=0.3),
        model_selection.StratifiedShuffleSplit(5, test_size=0.3),
        model_selection.LeaveOneOut(),
        model_selection.GroupShuffleSplit(3, test_size=2),
    ]
    for cv in splitters:
        for k in (1, 4):
            for scoring in ("accuracy", "balanced_accuracy"):
                if "Group" in type(cv).__name__ and k > 1:
                    continue
                yield (
                    f"expected score, {type(cv).__name__}, {k}, {scoring}",
                    lambda cv=cv, k=k, s=scoring: sklearn_score(
                        expected_score, KNeighborsClassifier(k), X, y, cv, s
                    ),
                )
    values = np.sin(y + X[:, 0])
    yield (
        "expected score, regression",
        lambda: (
            expected_score(
                KNeighborsRegressor(3), X, values, cv=splitters[0], scoring="neg_mean_squared_error"
            ).score
        ),
    )
    fitted = KNeighborsClassifier(3).fit(X, y)
    yield "ccv scorer", lambda: ccv_scorer(Subsample(0.8))(fitted, X, y)
    yield (
        "RIB",
        lambda: (lambda r: [r.cvc_, *(step.get("cvc", 0.0) for step in r.search_path_)])(
            RIBClassifier(random_state=0).fit(X, y)
        ),
    )
    yield (
        "screened",
        lambda: (
            screened_cv(
                X,
                y,
                lambda _, labels: np.arange(labels.sum() % 3, 9),
                KFold(4),
                n_repeats=3,
                random_state=0,
            ).scores
        ),
    )


def sklearn_score(ask: Callable[..., Any], estimator: Any, X: Any, y: Any, cv: Any, scoring: str) -> Any:
    """A score, or why there is none."""
    groups = np.arange(len(y)) % 6 if "Group" in type(cv).__name__ else None
    try:
        return ask(estimator, X, y, cv=cv, scoring=scoring, groups=groups, random_state=0).score
    except ValueError as error:
        return str(error)[:60]


def described(answer: Any) -> dict[str, Any]:
    """All numbers of an answer, to the last bit."""
    if hasattr(answer, "per_item"):
        names = ("score", "error_bound", "per_item", "weights")
        found = {name: described(getattr(answer, name))["bits"] for name in names}
        return {**found, "tied": answer.tied, "depth": answer.depth, "exact": _fraction(answer.exact)}
    if isinstance(answer, str):
        return {"text": answer}
    numbers = np.ascontiguousarray(answer, dtype=float) + 0.0  # one zero
    if numbers.size == 1:
        return {"bits": float(numbers.ravel()[0]).hex()}
    return {"bits": hashlib.sha256(numbers.tobytes()).hexdigest()[:24]}


def _fraction(value: Fraction | None) -> str | None:
    if value is None:
        return None
    return hashlib.sha256(str((value.numerator, value.denominator)).encode()).hexdigest()[:24]


def compute() -> dict[str, Any]:
    """All cases."""
    answers: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in cases():
            unique = name
            while unique in answers:
                unique += " again"
            try:
                answers[unique] = described(call())
            except (ValueError, TypeError) as error:
                answers[unique] = {"error": type(error).__name__}
    return answers


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    args = parser.parse_args()
    answers = compute()
    if args.action == "write":
        args.file.write_text(json.dumps(answers, indent=1), "utf-8")
        print(f"{len(answers)} answers written to {args.file}")
        return 0
    before = json.loads(args.file.read_text("utf-8"))
    names = sorted(before.keys() | answers.keys())
    differing = [name for name in names if before.get(name) != answers.get(name)]
    for name in differing:
        print(f"{name}\n  before {before.get(name)}\n  now    {answers.get(name)}")
    print(f"{len(names)} answers, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
