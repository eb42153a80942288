"""Typical calls of a project that uses knnccv; `test_packages.py` checks their types against the wheel."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, assert_type

import knnccv as kc
from knnccv.datasets import load_wine
from knnccv.episodes import Episodes, expected_episodes
from knnccv.kernel import Constraints, Labels, Order, Tables, Task, jit
from knnccv.kernel.sampling import position_law
from knnccv.neighbors.hvdm import HVDM
from knnccv.retrieval import Gallery, expected_retrieval
from knnccv.selection import FeatureSelector, condense, select_features
from knnccv.sklearn import ExpectedScore, KNeighborsClassifierCV, ccv_scorer, expected_score
from knnccv.testing import check_variant

wine = load_wine()
X, y = wine.X, wine.y

result = kc.complete_cv(X, y, "knn", kc.KFold(10), n_neighbors=3)
low, high = result.confidence_interval(0.9)
floats = [result.score, result.f1(), result.balanced_accuracy, result.error_bound, low, high]
assert_type(floats, list[float])
assert_type(result.n_train_sets, int)
assert_type(kc.complete_cv(X[:20], y[:20], "nn", 3, exact=True).fraction, Fraction | None)
assert_type(result.standard_error(), kc.StandardError)
assert_type(result.split_std(), kc.SplitSpread)
print(result.influence().per_item[0], result.to_dict()["score"])
designs: list[kc.Design] = [kc.KFold(5), kc.Subsample(100), kc.StratifiedSubsample(0.5), kc.LeaveOut(1)]
assert_type([float(kc.complete_cv(X, y, "nn", one)) for one in designs], list[float])
difference = kc.compare(kc.complete_cv(X, y, "nn", kc.KFold(10)), result)
drawn = kc.monte_carlo_cv(X, y, "knn", kc.Subsample(0.5), n_runs=5, random_state=0)
assert_type([difference.difference, difference.pvalue, drawn.score, drawn.std_error], list[float])

near = kc.Neighbors.from_data(X, metric="manhattan")
surface = kc.surface(near, y, range(1, 31), [0.5, 100])
surface.plot("train_size").set_title(f"{surface.scores.shape}, {near.metric}, {near.n_items + 1}")
kc.report(X, y).save("report.html")

model = KNeighborsClassifierCV(range(1, 11)).fit(X, y)
FeatureSelector(3).fit(X, y)
HVDM().fit(X, y).pairwise(X)
print(ccv_scorer(5))
assert_type(expected_score(model, X, y, cv=5, scoring="f1_macro").std_error, float)
assert_type(expected_score(model, X, y, scoring=["f1_macro", "accuracy"]), dict[str, ExpectedScore])
assert_type(kc.tuned_score(X, y, range(1, 11)).optimism, float)
assert_type(kc.item_values(X, y, "influence").certified, bool)
assert_type(condense(X, y).score, float)
assert_type(expected_episodes(X, y, Episodes(3, 1)).score, float)
assert_type(expected_retrieval(X @ X.T, y, y, Gallery(per_identity=1))["ap"].error_bound, float)
kc.plot.learning_curve(surface, [1, 5]).set_title(str(select_features(X, y, n_neighbors=3).columns))


@jit
def second_fixed(order: Order, labels: Labels, target: int, constraints: Constraints) -> Any:
    score = constraints.unit * 0
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == labels.classes[target]:
            score += constraints.weights[i]
    return score


class Second(kc.Variant):
    name = "second"
    parameters: ClassVar[Mapping[str, Any]] = {"place": 1}
    fixed = second_fixed

    def n_nearest(self, **parameters: Any) -> int:
        return int(parameters["place"])

    def tables(self, task: Task, **parameters: Any) -> Tables:
        law = position_law(task.n_available, task.train_size, parameters["place"], task.number)
        return Tables(weights=law)


checked = check_variant(kc.register(Second), lambda near, own, place: near[place - 1 : place] == [own])
assert_type(checked, int)
