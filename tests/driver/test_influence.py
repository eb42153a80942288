"""Influence: the score without each sample, against enumeration and against runs on N - 1 samples."""

import pickle
from fractions import Fraction

import naive
import numpy as np
import pytest

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
)
from knnccv.driver import AVERAGES
from knnccv.kernel import Tables, Variant, jit

FEW = 3  # cases of each kind among the fast tests; the others are marked slow


@jit
def nearest_two_agree(order, labels, target, constraints):
    """In designs of one size: the share of training sets whose two nearest have the target's class."""
    left = constraints.counts[0] - constraints.held_out
    n_train = constraints.n_train[0]
    p_zero, p_one, score = constraints.unit, constraints.unit * 0, constraints.unit * 0
    p_right = constraints.unit * 0
    for i in range(len(order.items)):
        own = labels.classes[order.items[i]] == labels.classes[target]
        hit_first = n_train * constraints.unit / (left - i)
        hit_second = (n_train - 1) * constraints.unit / (left - i)
        if own:
            score += p_right * hit_second
        p_one = p_one * (1 - hit_second) + p_zero * hit_first
        p_right = p_right * (1 - hit_second) + (p_zero * hit_first if own else 0.0)
        p_zero *= 1 - hit_first
    return score


class BothAgree(Variant):
    """A plugin: a fixed-size kernel and nothing else."""

    name = "both agree"
    fixed = nearest_two_agree

    def n_nearest(self, **_):
        return 2

    def check(self, task, **_):
        if task.train_size < 2:
            msg = "two training samples are needed"
            raise ValueError(msg)

    def tables(self, *_, **__):
        return Tables()


RULES = [
    ("nn", {}),
    ("nn", {"loss": True}),
    ("knn", {"n_neighbors": 1}),
    ("knn", {"n_neighbors": 2}),
    ("knn", {"n_neighbors": 3}),
    ("knn", {"n_neighbors": 3, "loss": True}),
    ("knn", {"n_neighbors": 4, "vote_ties": "random"}),
    ("rank", {"rank": 2}),
    ("confidence", {"n_neighbors": 2}),
    ("confidence", {"n_neighbors": 3, "score": "brier"}),
    ("regression", {"n_neighbors": 2}),
    (BothAgree, {}),
]


def few_fast(cases):
    """The cases, all but the first few marked slow."""
    return [case if i < FEW else pytest.param(case, marks=pytest.mark.slow) for i, case in enumerate(cases)]


def table(rng, n_items, n_classes, tied):
    """Features and labels, every class at least twice; on a lattice if `tied`."""
    y = rng.integers(0, n_classes, n_items)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    X = rng.normal(size=(n_items, 2)) + 0.8 * y[:, None]
    return np.round(X) if tied else X, rng.permutation(y)


def without_each(X, y, rule, design, left_out=None, **asked):
    """The score of the other samples, for every sample or for those `left_out`."""
    scores = []
    for j in range(len(y)) if left_out is None else left_out:
        rest = np.delete(np.arange(len(y)), j)
        scores.append(complete_cv(X[rest], y[rest], rule, design, n_jobs=1, **asked).score)
    return np.array(scores)


def two_parts(found, result, weights_without):
    """The parts by their definition."""
    n_items = len(found.total)
    kept = np.array([weights_without[j] @ np.delete(result.per_item, j) for j in range(n_items)])
    np.testing.assert_allclose(found.as_tested, result.score - kept, atol=1e-13)
    np.testing.assert_allclose(found.as_tested + found.as_training, found.total, atol=1e-13)


def enumerated(case, rule, parameters, make, average, ties):
    D, y = case
    scores = []
    for j in range(len(y)):
        rest = [x for x in range(len(y)) if x != j]
        smaller = [[D[a][b] for b in rest] for a in rest]
        labels = [y[x] for x in rest]
        scores.append(naive.complete(smaller, labels, rule, make(labels), average, ties, **parameters))
    return scores


def library_and_naive_designs(rng, y):
    n_items = len(y)
    size = int(rng.integers(1, n_items - 1))
    k = int(rng.integers(2, n_items - 1))
    pairs = [
        (Subsample(size), lambda labels: naive.subsample(len(labels), size)),
        (Subsample(0.5), lambda labels: naive.subsample(len(labels), len(labels) // 2)),
        (LeaveOut(1), lambda labels: naive.leave_out(len(labels), 1)),
        (KFold(k), lambda labels: naive.kfold(len(labels), k)),
        (
            StratifiedSubsample(per_class=1),
            lambda labels: naive.stratified(labels, dict.fromkeys(labels, 1)),
        ),
    ]
    if np.bincount(y).max() > 2:
        pairs.append((StratifiedKFold(2), lambda labels: naive.stratified_kfold(labels, 2)))
    return pairs


@pytest.mark.parametrize("seed", few_fast(range(30)))
def test_scores_without_each_sample_equal_the_enumeration(seed):
    rng = np.random.default_rng(seed)
    n_items = 5 + seed % 3
    y = rng.integers(0, 2, n_items)
    y[:4] = [0, 1, 0, 1]
    y = rng.permutation(y)
    D = rng.integers(0, 4 if seed % 2 else 90, (n_items, n_items)).astype(float)
    compared = 0
    for d, (design, make) in enumerate(library_and_naive_designs(rng, y)):
        for s, (rule, given) in enumerate(RULES[:2] + RULES[3:6] + RULES[7:9]):
            if (s + d + seed) % 3 or (given.get("n_neighbors", 1) > 2 and d == 4):
                continue
            parameters = dict(given)
            if "loss" in given:
                parameters["loss"] = rng.integers(-2, 6, (2, 2)).tolist()
            average, ties = AVERAGES[(s + seed) % 3], ("random", "index")[(s + d) % 2]
            asked = {"ties": ties, "average": average, "metric": "precomputed", **parameters}
            try:
                expected = enumerated((D.tolist(), y.tolist()), rule, parameters, make, average, ties)
                result = complete_cv(D, y, rule, design, n_jobs=1, **asked)
            except ValueError:
                continue
            found = result.influence()
            where = f"{rule} {parameters} {design} {average} {ties}"
            np.testing.assert_allclose(
                result.score - found.total, [float(e) for e in expected], atol=1e-12, err_msg=where
            )
            compared += 1
    assert compared >= 4
    assert isinstance(expected[0], Fraction)


def designs_of(rng, y, n_items):
    counts = np.bincount(y)
    sizes = {c: int(rng.integers(1, n)) for c, n in enumerate(counts)}
    designs = [
        Subsample(int(rng.integers(5, n_items - 3))),
        Subsample(0.5),
        LeaveOut(int(rng.integers(1, 4))),
        KFold(int(rng.integers(2, 7))),
    ]
    if counts.min() >= 3:
        designs += [StratifiedSubsample(0.5), StratifiedSubsample(per_class=sizes)]
    if counts.max() > 3:
        designs += [StratifiedKFold(3)]
    return designs


def problems_of(seed):
    """Rules, designs and data of one seed."""
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(18, 42))
    n_classes = (2, 3, 2, 4)[seed % 4]
    X, y = table(rng, n_items, n_classes, tied=seed % 3 == 0)
    for d, design in enumerate(designs_of(rng, y, n_items)):
        for s, (rule, given) in enumerate(RULES):
            if (s + d + seed) % 4:
                continue
            parameters = dict(given)
            if "loss" in given:
                parameters["loss"] = rng.integers(-2, 6, (n_classes, n_classes))
            fixed = rule in ("regression", BothAgree)
            if fixed and d > 3:
                continue
            ties = "index" if rule is BothAgree or (s + d) % 3 == 0 else "random"
            targets = rng.normal(size=n_items) if rule == "regression" else y
            yield (
                X,
                targets,
                rule,
                design,
                {"ties": ties, "average": AVERAGES[(s + seed) % 3], **parameters},
            )


@pytest.mark.parametrize("seed", few_fast(range(36)))
def test_totals_equal_runs_without_each_sample(seed):
    """Every sample in the first problems, eight of each of the others."""
    compared, rng = 0, np.random.default_rng([seed, 1])
    for X, y, rule, design, asked in problems_of(seed):
        some = np.arange(len(y)) if seed < FEW else rng.choice(len(y), 8, replace=False)
        try:
            expected = without_each(X, y, rule, design, some, **asked)
            result = complete_cv(X, y, rule, design, n_jobs=1, **asked)
        except ValueError:
            continue
        found = result.influence()
        where = f"{rule} {asked} {design}"
        np.testing.assert_allclose(result.score - found.total[some], expected, atol=1e-11, err_msg=where)
        compared += 1
    assert compared >= 8


def weights_of(y, design, average):
    """Weights of the others without each sample."""
    found = []
    for j in range(len(y)):
        rest = np.delete(np.arange(len(y)), j)
        found.append(complete_cv(np.zeros((len(rest), 1)), y[rest], "nn", design, average=average).weights)
    return found


@pytest.mark.parametrize("average", AVERAGES)
def test_the_total_has_two_parts(average):
    X, y = table(np.random.default_rng(3), 20, 2, tied=False)
    for design in (KFold(3), Subsample(8), StratifiedKFold(3)):
        result = complete_cv(X, y, "nn", design, average=average)
        found = result.influence()
        weights = weights_of(y, design, average)
        kept = [weights[j] @ np.delete(result.per_item, j) for j in range(len(y))]
        np.testing.assert_allclose(found.as_tested, result.score - np.array(kept), atol=1e-14)
        np.testing.assert_allclose(found.as_tested + found.as_training, found.total, atol=1e-14)


def test_a_sample_that_is_not_listed_by_others_counts_as_tested_alone():
    X = np.array([[0.0], [1.0], [2.0], [3.5], [100.0]])
    y = np.array([0, 1, 0, 1, 0])
    result = complete_cv(X, y, "nn", LeaveOut(1))
    found = result.influence()
    assert found.as_training[4] == pytest.approx(0, abs=1e-15)
    assert found.as_tested[4] == pytest.approx((result.per_item[4] - result.score) / 4)


@pytest.mark.parametrize("seed", few_fast(range(12)))
def test_one_group_left_out(seed):
    rng = np.random.default_rng(seed)
    n_items, n_classes = int(rng.integers(14, 30)), 2 + seed % 2
    X, y = table(rng, n_items, n_classes, tied=seed % 2 == 0)
    groups = rng.integers(0, (3, 6, 15)[seed % 3], n_items)
    loss = rng.integers(-2, 6, (n_classes, n_classes))
    rules = [
        ("nn", {}),
        ("nn", {"loss": loss}),
        ("knn", {"n_neighbors": 3}),
        ("knn", {"n_neighbors": 4, "vote_ties": "random"}),
        ("rank", {"rank": 2}),
        ("rank", {"rank": 40}),
        ("confidence", {"n_neighbors": 3}),
        ("regression", {"n_neighbors": 2}),
    ]
    for s, (rule, parameters) in enumerate(rules):
        targets = rng.normal(size=n_items) if rule == "regression" else y
        asked = {"ties": ("random", "index")[(s + seed) % 2], "average": AVERAGES[s % 3], **parameters}
        expected = []
        for j in range(n_items):
            rest = np.delete(np.arange(n_items), j)
            smaller = LeaveGroupsOut(groups[rest])
            expected.append(complete_cv(X[rest], targets[rest], rule, smaller, n_jobs=1, **asked).score)
        result = complete_cv(X, targets, rule, LeaveGroupsOut(groups), **asked)
        found = result.influence()
        np.testing.assert_allclose(
            result.score - found.total, expected, atol=1e-12, err_msg=f"{rule} {asked}"
        )


@pytest.mark.parametrize(
    "design", [Subsample(6), KFold(4), StratifiedKFold(3), StratifiedSubsample(per_class=1)]
)
def test_a_class_of_one_sample(design):
    X, y = table(np.random.default_rng(1), 16, 2, tied=True)
    y[7] = 2
    result = complete_cv(X, y, "nn", design)
    expected = without_each(X, y, "nn", design)
    np.testing.assert_allclose(result.score - result.influence().total, expected, atol=1e-13)
    votes = complete_cv(X, y, "knn", design, n_neighbors=2)
    expected = without_each(X, y, "knn", design, n_neighbors=2)
    np.testing.assert_allclose(votes.score - votes.influence().total, expected, atol=1e-13)


@pytest.mark.parametrize("design", [KFold(4), Subsample(5), StratifiedKFold(4)])
def test_two_classes_of_which_one_has_a_single_sample(design):
    X, y = np.random.default_rng(4).normal(size=(11, 2)), np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    for rule, parameters in (("nn", {}), ("knn", {"n_neighbors": 3}), ("confidence", {"n_neighbors": 2})):
        result = complete_cv(X, y, rule, design, **parameters)
        expected = without_each(X, y, rule, design, **parameters)
        np.testing.assert_allclose(result.score - result.influence().total, expected, atol=1e-13)
        assert expected[3] == pytest.approx(1)


@pytest.mark.parametrize("rule", [("nn", {}), ("knn", {"n_neighbors": 3}), ("rank", {"rank": 2})])
def test_designs_of_scikit_learn(rule):
    pytest.importorskip("sklearn")
    from knnccv.sklearn._designs import ByClass, Shares, StratifiedShuffle

    X, y = table(np.random.default_rng(7), 30, 3, tied=False)
    y = np.arange(30) % 3
    name, parameters = rule
    for design in (
        StratifiedShuffle("both", Shares.of(np.bincount(y), 14), 15),  # a class gets one more at random
        StratifiedShuffle("some", Shares.of(np.bincount(y), 15), 8, balanced=True),
        ByClass("folds", StratifiedKFold(4)),
    ):
        result = complete_cv(X, y, name, design, **parameters)
        expected = without_each(X, y, name, design, **parameters)
        np.testing.assert_allclose(
            result.score - result.influence().total, expected, atol=1e-13, err_msg=design.splitter
        )


@pytest.mark.parametrize(
    "rule", [("nn", {}), ("knn", {"n_neighbors": 3}), ("regression", {"n_neighbors": 2})]
)
def test_many_equal_samples(rule):
    rng = np.random.default_rng(8)
    X, y = rng.integers(0, 2, (40, 2)).astype(float), rng.integers(0, 2, 40)
    y[:3] = [1, 0, 0]  # without the first sample, class 0 appears first
    name, parameters = rule
    targets = rng.integers(0, 3, 40).astype(float) if name == "regression" else y
    designs = [Subsample(20), KFold(7)]
    designs += [] if name == "regression" else [StratifiedKFold(7), StratifiedSubsample(0.5)]
    for design in designs:
        result = complete_cv(X, targets, name, design, **parameters)
        found = result.influence()
        expected = without_each(X, targets, name, design, **parameters)
        np.testing.assert_allclose(result.score - found.total, expected, atol=1e-12, err_msg=f"{design}")


@pytest.mark.parametrize("seed", few_fast(range(20)))
def test_all_folds_at_once(seed):
    rng = np.random.default_rng(seed)
    n_items, n_classes = int(rng.integers(24, 50)), int(rng.integers(3, 6))
    X, y = table(rng, n_items, n_classes, tied=seed % 2 == 1)
    design = StratifiedKFold(int(rng.integers(2, np.bincount(y).max())))
    for ties in ("random", "index"):
        asked = {"n_neighbors": int(rng.integers(1, 5)), "ties": ties, "average": AVERAGES[seed % 3]}
        some = np.arange(n_items) if seed < FEW else rng.choice(n_items, 8, replace=False)
        result = complete_cv(X, y, "knn", design, **asked)
        expected = without_each(X, y, "knn", design, some, **asked)
        np.testing.assert_allclose(result.score - result.influence().total[some], expected, atol=1e-12)


def test_the_first_sample_of_a_class_can_decide_the_folds():
    X, y = table(np.random.default_rng(2), 23, 3, tied=False)
    y[0] = 2  # without it, class 2 appears after the others
    result = complete_cv(X, y, "nn", StratifiedKFold(4))
    expected = without_each(X, y, "nn", StratifiedKFold(4))
    np.testing.assert_allclose(result.score - result.influence().total, expected, atol=1e-13)


@pytest.mark.parametrize("rule", [("nn", {}), ("knn", {"n_neighbors": 3}), ("rank", {"rank": 2})])
def test_short_lists_suffice_and_threads_change_nothing(rule):
    name, parameters = rule
    X, y = table(np.random.default_rng(5), 400, 2, tied=False)
    for design in (Subsample(300), StratifiedKFold(8)):
        result = complete_cv(X, y, name, design, n_jobs=1, **parameters)
        assert result.depth < 100
        found = result.influence()
        assert found.error_bound < 1e-10
        for n_jobs in (1, 2):
            again = complete_cv(X, y, name, design, n_jobs=n_jobs, **parameters).influence(n_jobs)
            assert (again.total == found.total).all()
            assert (again.as_training == found.as_training).all()
        for j in (0, 17, 399):
            rest = np.delete(np.arange(400), j)
            expected = complete_cv(X[rest], y[rest], name, design, **parameters).score
            assert result.score - found.total[j] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("seed", few_fast(range(24)))
def test_some_samples_of_larger_problems(seed):
    rng = np.random.default_rng(seed)
    n_items, n_classes = int(rng.integers(150, 260)), (2, 3, 5)[seed % 3]
    X, y = table(rng, n_items, n_classes, tied=False)
    X = np.round(X, 1) if seed % 2 else X
    designs = [Subsample(0.8), KFold(6), StratifiedSubsample(0.75), StratifiedKFold(7)]
    shorter = 0
    for s, (rule, given) in enumerate(RULES):
        parameters = {**given, "loss": rng.random((n_classes, n_classes))} if "loss" in given else given
        fixed = rule in ("regression", BothAgree)
        design = designs[(s + seed) % (2 if fixed else 4)]
        ties = "index" if rule is BothAgree or s % 3 == 0 else "random"
        asked = {"ties": ties, "average": AVERAGES[(s + seed) % 3], **parameters}
        targets = rng.normal(size=n_items) if rule == "regression" else y
        result = complete_cv(X, targets, rule, design, n_jobs=1, **asked)
        found = result.influence()
        shorter += result.depth < n_items // 2
        for j in rng.choice(n_items, 3, replace=False):
            rest = np.delete(np.arange(n_items), j)
            expected = complete_cv(X[rest], targets[rest], rule, design, n_jobs=1, **asked).score
            assert result.score - found.total[j] == pytest.approx(expected, abs=2e-11), (
                rule,
                asked,
                design,
            )
    assert shorter > 9


def test_lists_that_end_too_early_show_in_the_bound():
    X, y = table(np.random.default_rng(6), 60, 2, tied=False)
    lists = Neighbors.from_data(X).kneighbors(8)
    short = complete_cv(Neighbors.from_lists(*lists), y, "nn", Subsample(20)).influence()
    full = complete_cv(X, y, "nn", Subsample(20)).influence()
    assert full.error_bound < 1e-12 < short.error_bound
    assert np.abs(short.total - full.total).max() <= short.error_bound


def test_wrong_labels_are_among_the_most_harmful():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 2)) + 6 * y[:, None]
    wrong = rng.choice(200, 20, replace=False)
    y[wrong] = 1 - y[wrong]
    for rule, parameters, n_found in (("nn", {}, 17), ("knn", {"n_neighbors": 5}, 19)):
        found = complete_cv(X, y, rule, Subsample(0.5), **parameters).influence()
        assert len(set(found.most_harmful(20)) & set(wrong)) >= n_found
    loss = complete_cv(X, y, "nn", Subsample(0.8), loss=[[0, 1], [1, 0]]).influence()
    accuracy = complete_cv(X, y, "nn", Subsample(0.8)).influence()
    assert loss.is_loss
    assert not accuracy.is_loss
    np.testing.assert_allclose(loss.total, -accuracy.total, atol=1e-14)
    assert set(loss.most_harmful(15)) == set(accuracy.most_harmful(15))


def test_the_result_is_shown_and_becomes_a_frame():
    X, y = table(np.random.default_rng(8), 20, 2, tied=False)
    found = complete_cv(X, y, "nn", KFold(5)).influence()
    frame = found.to_frame()
    assert list(frame.columns) == ["label", "total", "as_tested", "as_training"]
    assert frame.index.name == "item"
    assert len(frame) == 20
    assert "20 samples on the accuracy" in repr(found)
    assert len(found.most_harmful(100)) == 20
    with pytest.raises(ValueError, match="n must be"):
        found.most_harmful(0)
    several = complete_cv(X, np.column_stack([X, X]), "regression", KFold(5)).influence()
    assert several.is_loss
    assert list(several.to_frame().columns)[:2] == ["label_0", "label_1"]


def test_three_samples_are_enough_and_two_are_not():
    X, y = np.array([[0.0], [1.0], [3.0]]), np.array([0, 1, 0])
    result = complete_cv(X, y, "nn", LeaveOut(1))
    np.testing.assert_allclose(result.score - result.influence().total, [0, 1, 0], atol=1e-15)
    with pytest.raises(ValueError, match="influence needs at least 3 samples"):
        complete_cv(X[:2], y[:2], "nn", LeaveOut(1)).influence()


def test_what_is_impossible_without_a_sample_is_an_error():
    X, y = table(np.random.default_rng(9), 12, 2, tied=False)
    result = complete_cv(X, y, "nn", KFold(12))
    with pytest.raises(ValueError, match=r"without sample \d+ \(class .*n_splits must be between 2 and 11"):
        result.influence()
    with pytest.raises(ValueError, match="n_neighbors must be between 1 and 10"):
        complete_cv(X, y, "knn", LeaveOut(1), n_neighbors=11).influence()
    with pytest.raises(ValueError, match="train_size must be between 1 and 10"):
        complete_cv(X, y, "nn", Subsample(11)).influence()
    with pytest.raises(ValueError, match="copied or pickled"):
        pickle.loads(pickle.dumps(result)).influence()
    groups = np.arange(12) // 3
    with pytest.raises(ValueError, match="LeaveGroupsOut of one group"):
        complete_cv(X, y, "nn", LeaveGroupsOut(groups, p=2)).influence()
    with pytest.raises(ValueError, match="at least two different labels"):
        complete_cv(X, y, "nn", LeaveGroupsOut(np.arange(12) == 3)).influence()
    with pytest.raises(ValueError, match="n_neighbors must be between 1 and 8"):
        complete_cv(X, y, "knn", LeaveGroupsOut(groups), n_neighbors=9).influence()
    with pytest.raises(ValueError, match="a mean over the training sets"):
        complete_cv(X, X[:, 0], "regression", KFold(4), part="variance").influence()


@pytest.mark.parametrize(
    ("design", "last", "message"),
    [
        (Subsample(3), 1, r"without sample 7 .*: average must name every class and no other"),
        (
            StratifiedSubsample(per_class={0: 2, 1: 1, 2: 1}),
            2,
            r"without sample 7 .*: average gives class 2 a share, but .* never tests a sample",
        ),
    ],
)
def test_priors_of_a_class_that_goes_with_its_sample_are_an_error(design, last, message):
    """As in `complete_cv` of the other samples; one sample more, and every influence exists."""
    asked = {"average": {0: 0.5, 1: 0.3, 2: 0.2}}
    for n_last in (last, last + 1):
        y = np.array([0] * 4 + [1] * 3 + [2] * n_last)
        X = np.random.default_rng(1).normal(size=(len(y), 2))
        result = complete_cv(X, y, "nn", design, **asked)
        if n_last == last:
            with pytest.raises(ValueError, match=message):
                result.influence()
            with pytest.raises(ValueError, match=message.split(": ")[1]):
                without_each(X, y, "nn", design, [7], **asked)
        else:
            expected = without_each(X, y, "nn", design, **asked)
            np.testing.assert_allclose(result.score - result.influence().total, expected, atol=1e-14)
