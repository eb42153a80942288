"""Random runs of a design, and exact scores of permuted labels."""

import naive
import numpy as np
import pytest
from problems import REGRESSION, SETTINGS, plain, problem
from seeds import over_seeds

from knnccv import Neighbors, complete_cv, get_variant, monte_carlo_cv, permutation_test
from knnccv._core.driver import validate_problem
from knnccv._core.luck.runs import draw_runs
from knnccv._core.scores.permutation import exchangeable, permutation
from knnccv.designs import KFold, LeaveGroupsOut, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample


@over_seeds(3)
def test_every_run_is_the_classification_of_its_split(seeds):
    for seed in seeds:
        case, values = problem(seed), np.random.default_rng(seed).integers(-5, 9, (7, 1 + seed % 2))
        n_items = len(case.y)
        designs = Subsample(n_items - 2), KFold(2), LeaveOut(1), StratifiedKFold(2)
        for variant, setting in [*SETTINGS, *REGRESSION][seed % 3 :: 3]:
            of_values = variant == "regression"
            y = values[:n_items] if of_values else case.y
            parameters = case.parameters(setting)
            stratified = not of_values and np.bincount(case.y).max() > 1
            if parameters.get("n_neighbors", 1) > n_items // 2:
                continue
            for design in designs[: 4 if stratified else 3]:
                for ties in get_variant(variant).tie_rules:
                    asked = {"metric": "precomputed", "ties": ties, "n_runs": 6, "random_state": seed}
                    few = monte_carlo_cv(case.distances, y, variant, design, **asked, **parameters)
                    drawn = validate_problem(y, n_items, variant, design, ties, "pooled", parameters)
                    runs = draw_runs(drawn, 6, np.random.default_rng(seed))
                    rule = variant, plain(parameters), ties
                    for run, fold in enumerate(runs.all_folds()):
                        expected = score_of_run(
                            case.distances.tolist(), y.tolist(), fold, runs.n_folds, *rule
                        )
                        where = f"seed {seed}: {rule} {design}"
                        assert few.scores[run] == pytest.approx(float(expected), rel=1e-12, abs=1e-12), (
                            where
                        )


def score_of_run(distances, y, fold, n_folds, variant, parameters, ties):
    """The mean over the folds of the mean score of their samples, each classified from the other folds."""
    scores = []
    for i in range(n_folds):
        each = []
        for x in np.flatnonzero(fold == i).tolist():
            _, groups = naive.neighbor_order(distances[x], x)
            kept = [[j for j in group if fold[j] != i] for group in groups]
            kept = [group for group in kept if group]
            each.append(naive.expected_over_ties(variant, kept, y, x, parameters, ties))
        if each and (fold != i).any():
            scores.append(naive.mean(each))
    return naive.mean(scores)


def test_seeds_blocks_and_a_single_run(monkeypatch):
    X, y = tied_data(n_items=120)
    one = monte_carlo_cv(X, y, "knn", 5, random_state=3)
    assert len(one.scores) == 50
    assert one.std_error == pytest.approx(one.scores.std(ddof=1) / np.sqrt(50))
    assert one.error_bound == 0
    assert (monte_carlo_cv(X, y, "knn", 5, random_state=4).scores != one.scores).any()
    other, another = (monte_carlo_cv(X, y, "knn", 5, random_state=None).scores for _ in range(2))
    assert (other != another).any()
    monkeypatch.setattr("knnccv.neighbors._engines.brute_force.BLOCK_BYTES", 8 * 120 * 7)
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(monte_carlo_cv(X, y, "knn", 5, random_state=generator).scores, one.scores)
    single = monte_carlo_cv(X, y, "nn", 4, n_runs=1, random_state=0)
    assert float(single) == single.scores[0]
    assert np.isnan([single.std, single.std_error]).all()


def test_short_lists_show_in_the_bound():
    X, y = tied_data(n_items=60)
    short = Neighbors.from_data(X, n_neighbors=4)
    few = monte_carlo_cv(short, y, "knn", Subsample(20), n_neighbors=5, random_state=0)
    whole = monte_carlo_cv(X, y, "knn", Subsample(20), n_neighbors=5, random_state=0)
    assert few.error_bound > 0.9
    assert abs(few.score - whole.score) <= few.error_bound


# A result holds the scores of the permutations, not which sample's label each sample got.

GROUPS = np.arange(48) // 4
CASES = [
    ("nn", 5, {}),
    ("knn", 5, {}),
    ("knn", KFold(4), {"n_neighbors": 3, "average": "class"}),
    ("knn", StratifiedSubsample(0.5), {"n_neighbors": 7, "vote_ties": "random"}),
    ("knn", Subsample(0.9), {"loss": [[0, 1, 2], [1, 0, 4], [1, 1, 0]]}),
    ("knn", LeaveGroupsOut(GROUPS), {"n_neighbors": 3}),
    ("nn", LeaveGroupsOut(GROUPS, 3), {}),
    ("rank", 4, {"rank": 2, "ties": "index"}),
    ("confidence", 5, {"score": "brier"}),
    ("weighted", 4, {"n_neighbors": 3}),
    ("regression", KFold(5), {"n_neighbors": 3}),
]


def tied_data(ties=True, n_items=48):
    rng = np.random.default_rng(3)
    y = np.repeat([2, 0, 1], [n_items // 2, n_items // 3, n_items - n_items // 2 - n_items // 3])
    X = rng.integers(0, 5, (n_items, 2)).astype(float) if ties else rng.normal(size=(n_items, 2))
    return X + 0.5 * y[:, None], rng.permutation(y)


def blocks_of(y, groups=None, strata=None, cv=2):
    problem = validate_problem(y, len(y), "nn", cv, None, "pooled", {})
    return exchangeable(problem, groups, strata)


@pytest.mark.parametrize(("rule", "cv", "options"), CASES, ids=str)
def test_scores_are_those_of_complete_cv(rule, cv, options):
    for ties in (False, True):
        X, y = tied_data(ties)
        test = permutation_test(X, y, rule, cv, n_permutations=4, random_state=7, n_jobs=2, **options)
        rule_options = {key: value for key, value in options.items() if key not in ("ties", "average")}
        problem = validate_problem(y, len(y), rule, cv, None, "pooled", rule_options, "auto")
        blocks = exchangeable(problem, None, None)[1]
        for at, score in enumerate(test.scores):
            source = permutation(blocks, len(y), (7, at))
            assert sorted(source) == list(range(len(y)))
            assert (source != np.arange(len(y))).any()
            expected = complete_cv(X, y[source], rule, cv, random_state=7, **options)
            assert score == pytest.approx(expected.score, abs=1e-12)
        found = complete_cv(X, y, rule, cv, random_state=7, **options)
        assert test.score == found.score
        sign = -1 if rule == "regression" or "loss" in options or options.get("score") else 1
        n_good = sum(sign * score >= sign * found.score - 1e-10 for score in test.scores)
        assert test.pvalue == (1 + n_good) / 5
        assert test.is_loss == (sign < 0)
        assert test.z == pytest.approx(sign * (found.score - test.scores.mean()) / test.scores.std(ddof=1))
        assert test.std_error == pytest.approx(np.sqrt(test.pvalue * (1 - test.pvalue) / 5))


def test_lists_that_are_too_short_for_other_labels_are_deepened():
    """Only one class trains. Its samples alternate with others in the data, but not after a permutation."""
    X, y = np.arange(400.0)[:, None] ** 1.01, np.arange(400) % 2
    design = StratifiedSubsample(per_class={0: 120, 1: 0})
    test = permutation_test(X, y, "nn", design, n_permutations=4)
    depths = set()
    for at, score in enumerate(test.scores):
        expected = complete_cv(X, y[permutation(blocks_of(y)[1], 400, (0, at))], "nn", design)
        assert score == expected.score  # the same bits, and so the same lists
        depths.add(expected.depth)
    assert max(depths) > complete_cv(X, y, "nn", design).depth


def test_more_permutations_begin_with_the_same():
    X, y = tied_data(ties=False)
    one, longer = (permutation_test(X, y, "knn", 5, n_permutations=n, random_state=1) for n in (20, 25))
    assert (longer.scores[:20] == one.scores).all()
    other = permutation_test(X, y, "knn", 5, n_permutations=20, random_state=2)
    assert (other.scores != one.scores).any()


def test_labels_stay_within_groups_and_strata():
    rng = np.random.default_rng(5)
    y, groups, strata = rng.integers(0, 3, 90), rng.integers(0, 6, 90), rng.integers(0, 2, 90)
    for given, cells in (
        ({"groups": groups.astype(str)}, groups),
        ({"strata": strata}, strata),
        ({"groups": groups, "strata": strata}, 2 * groups + strata),
    ):
        exchanged, blocks = blocks_of(y, **given)
        assert exchanged == ("labels within groups" if "groups" in given else "labels of samples")
        sources = [permutation(blocks, 90, (0, at)) for at in range(600)]
        assert all((cells[source] == cells).all() for source in sources)
        cell = np.flatnonzero(cells == 1)  # every sample of a cell is reached from every other one
        assert {source[cell[0]] for source in sources} == set(cell)


def test_labels_of_whole_groups_move_between_groups_of_equal_size():
    sizes = [3, 1, 3, 2, 2, 3, 5]
    groups = np.repeat(list("abcdefg"), sizes)
    y = np.repeat([0, 1, 1, 0, 1, 0, 1], sizes)
    order = np.random.default_rng(0).permutation(len(y))
    groups, y = groups[order], y[order]
    exchanged, blocks = blocks_of(y, groups)
    assert exchanged == "labels of whole groups"
    assert sorted(block.shape for block in blocks) == [(2, 2), (3, 3)]
    seen = set()
    for at in range(100):
        moved = y[permutation(blocks, len(y), (1, at))]
        label_of = {name: set(moved[groups == name]) for name in "abcdefg"}
        assert all(len(labels) == 1 for labels in label_of.values())
        assert label_of["b"] == {1}
        assert label_of["g"] == {1}
        assert np.bincount(moved).tolist() == np.bincount(y).tolist()
        seen.add(tuple(min(label_of[name]) for name in "abcdefg"))
    assert len(seen) == 3 * 2
    stratum = np.isin(groups, ["a", "d", "e"])  # a is alone, c and f may exchange
    assert sorted(block.shape for block in blocks_of(y, groups, stratum)[1]) == [(2, 2), (2, 3)]
    X = np.random.default_rng(1).normal(size=(len(y), 2))
    test = permutation_test(X, y, "nn", LeaveGroupsOut(groups), n_permutations=5)
    assert test.exchanged == "labels of whole groups"
    free = permutation_test(X, y, "nn", LeaveGroupsOut(groups), groups=np.zeros(len(y)), n_permutations=5)
    assert free.exchanged == "labels of samples"


@pytest.mark.slow
def test_p_values_of_noise_are_uniform():
    """With 4 permutations the p value is one of 1/5 ... 1, equally likely: chi-squared, 4 degrees."""
    counts = np.zeros(5)
    for seed in range(400):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(16, 2)), rng.permutation(np.repeat([0, 1], 8))
        test = permutation_test(X, y, "nn", 4, n_permutations=4, random_state=seed, n_jobs=1)
        counts[round(5 * test.pvalue) - 1] += 1
    assert ((counts - 80) ** 2 / 80).sum() < 18.5  # probability 0.001


def test_equal_scores_count_as_good():
    """All samples are alike, so every permutation has the same score up to rounding."""
    test = permutation_test(np.zeros((12, 1)), [0, 1, 1] * 4, "knn", Subsample(7), n_permutations=30)
    assert test.pvalue == 1
    assert test.null_std < 1e-12
