"""Typical calls, as a project that uses knnccv writes them; `test_packages.py` checks it against the wheel."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, assert_type

import numpy as np
from numpy.typing import NDArray

import knnccv
from knnccv import (
    CompleteCV,
    Design,
    KFold,
    LeaveGroupsOut,
    Neighbors,
    SampledCV,
    StratifiedSubsample,
    Subsample,
    Surface,
    Variant,
    compare,
    compare_all,
    complete_cv,
    item_values,
    monte_carlo_cv,
    surface,
    tuned_score,
)
from knnccv.datasets import Dataset, load_wine
from knnccv.episodes import Episodes, expected_episodes
from knnccv.hvdm import HVDM
from knnccv.kernel import Constraints, Labels, Order, Tables, Task, jit
from knnccv.plot import learning_curve
from knnccv.retrieval import Gallery, expected_retrieval
from knnccv.rib import RIBClassifier
from knnccv.sampling import position_law
from knnccv.selection import FeatureSelector, condense, select_features
from knnccv.sklearn import KNeighborsClassifierCV, ccv_scorer, expected_score
from knnccv.testing import check_variant


def scores(wine: Dataset) -> dict[str, float]:
    result = complete_cv(wine.X, wine.y, "knn", KFold(10), n_neighbors=3)
    assert_type(result.score, float)
    assert_type(result.per_item, NDArray[Any])
    assert_type(result.error_bound, float)
    exact = complete_cv(wine.X[:20], wine.y[:20], "nn", 3, exact=True).exact
    assert_type(exact, Fraction | None)
    interval = result.confidence_interval(0.9)
    assert_type(interval.low, float)
    low, high = interval
    assert_type(low, float)
    assert_type(result.standard_error(), knnccv.StandardError)
    assert_type(result.split_std(), knnccv.SplitSpread)
    assert_type(result.n_train_sets, int)
    assert_type(result.tie_report().lowest, float)
    assert_type(result.influence().total, NDArray[Any])
    assert_type(result.balanced_accuracy, float)
    assert_type(result.f1(), float)
    assert_type(result.to_dict(), dict[str, Any])
    other = complete_cv(wine.X, wine.y, "nn", KFold(10))
    difference = compare(other, result)
    assert_type(difference.difference, float)
    assert_type(difference.pvalue, float)
    several = compare_all([other, result], names=["nn", "knn"])
    assert_type(several.adjusted, NDArray[Any])
    drawn = monte_carlo_cv(wine.X, wine.y, "knn", Subsample(0.5), n_repeats=5, random_state=0)
    assert_type(drawn.standard_error, float)
    designs: list[Design] = [KFold(5), Subsample(100), StratifiedSubsample(0.5), LeaveGroupsOut(wine.y)]
    found: list[CompleteCV | SampledCV] = [complete_cv(wine.X, wine.y, "nn", one) for one in designs]
    return {repr(one.design): float(one) for one in found} | {"low": low, "high": high}


def curves(wine: Dataset) -> Surface:
    near = Neighbors.from_data(wine.X, metric="manhattan")
    indices, distances = near.kneighbors(3)
    assert_type(indices, NDArray[Any])
    found = surface(near, wine.y, range(1, 31), [0.5, 100])
    assert_type(found.scores, NDArray[Any])
    assert_type(found.standard_error(), NDArray[Any])
    learning_curve(found, [1, 5]).set_title("K = 1 and 5")
    return found


def estimators(wine: Dataset) -> NDArray[Any]:
    from sklearn.neighbors import KNeighborsClassifier  # type: ignore[import-untyped]

    score = expected_score(KNeighborsClassifier(5), wine.X, wine.y, cv=5, scoring="f1_macro")
    assert_type(score.score, float)
    both = expected_score(KNeighborsClassifier(5), wine.X, wine.y, scoring=["f1_macro", "roc_auc_ovr"])
    assert_type(both["f1_macro"].std_error, float)
    chosen = KNeighborsClassifierCV(range(1, 11)).fit(wine.X, wine.y)
    FeatureSelector(3).fit(wine.X, wine.y)
    RIBClassifier("heom").fit(wine.X, wine.y)
    ccv_scorer(5)(KNeighborsClassifier(3), wine.X, wine.y)
    HVDM().fit(wine.X, wine.y).pairwise(wine.X)
    return chosen.predict(wine.X)


def others(wine: Dataset) -> None:
    assert_type(tuned_score(wine.X, wine.y, range(1, 11)).optimism, float)
    assert_type(item_values(wine.X, wine.y, "influence").values, NDArray[Any])
    assert_type(select_features(wine.X, wine.y, n_neighbors=3).columns, NDArray[Any])
    assert_type(condense(wine.X, wine.y).score, float)
    assert_type(expected_episodes(wine.X, wine.y, Episodes(3, 1)).score, float)
    near = Neighbors.between(wine.X, wine.X)
    found = expected_retrieval(near, wine.y, wine.y, Gallery(per_identity=1))
    assert_type(found["ap"].error_bound, float)
    knnccv.report(wine.X, wine.y).save("report.html")


@jit
def second_fixed(order: Order, labels: Labels, target: int, constraints: Constraints) -> Any:
    score = constraints.unit * 0
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == labels.classes[target]:
            score += constraints.weights[i]
    return score


class Second(Variant):
    name = "second"
    parameters: ClassVar[Mapping[str, Any]] = {"place": 2}
    fixed = second_fixed

    def n_nearest(self, **parameters: Any) -> int:
        return int(parameters["place"])

    def check(self, task: Task, **parameters: Any) -> None:
        if parameters["place"] > task.train_size:
            raise ValueError(parameters["place"])

    def tables(self, task: Task, **parameters: Any) -> Tables:
        law = position_law(task.n_available, task.train_size, parameters["place"], task.number)
        return Tables(weights=law)


def plain(near: list[int], own: int, place: int) -> int:
    return int(near[place - 1] == own)


def plugin(wine: Dataset) -> None:
    knnccv.register(Second)
    check_variant(Second, plain, parameters=[{"place": 2}], n_cases=2)
    complete_cv(wine.X, wine.y, Second(), Subsample(100))


if __name__ == "__main__":
    data = load_wine()
    print(scores(data), curves(data), estimators(data))
    others(data)
    plugin(data)
