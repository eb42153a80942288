"""`knnccv.testing.check_variant`: passes what is right, finds what is wrong, and says where."""
# ruff: noqa: ARG001, ARG002 (kernels and methods have fixed arguments, used or not)

from collections import Counter
from fractions import Fraction

import numba
import numpy as np
import pytest
from problems import BUILT_IN

from knnccv import get_variant
from knnccv.kernel import Tables, Variant, jit
from knnccv.sampling import position_law
from knnccv.testing import check_variant

needs_compiler = pytest.mark.skipif(
    bool(getattr(numba.config, "DISABLE_JIT", False)), reason="nothing is compiled: NUMBA_DISABLE_JIT"
)


def outcome(own, predicted, loss):
    return int(own == predicted) if loss is None else loss[own][predicted]


def score_nn(near, own, loss):
    return outcome(own, near[0], loss)


def score_knn(near, own, n_neighbors, loss, vote_ties):
    votes = Counter(near[:n_neighbors])
    most = max(votes.values())
    winners = sorted(c for c in votes if votes[c] == most)
    if vote_ties == "smallest":
        return outcome(own, winners[0], loss)
    return sum(Fraction(outcome(own, c, loss)) for c in winners) / len(winners)


def score_confidence(near, own, n_neighbors, score):
    shares = {c: Fraction(n, n_neighbors) for c, n in Counter(near[:n_neighbors]).items()}
    if score == "share":
        return shares.get(own, 0)
    return sum((shares.get(c, 0) - (c == own)) ** 2 for c in {own, *shares})


def score_regression(near, own, n_neighbors, part, output):
    return (Fraction(sum(near[:n_neighbors]), n_neighbors) - own) ** 2


def score_rank(near, own, rank):
    return int(own in near[:rank])


WHOLE = [[0, 3, -7], [1, 0, 2], [5, 4, 0]]
RATIONAL = [
    [Fraction(1, 3), Fraction(-2, 7), 1],
    [0, Fraction(5, 9), Fraction(1, 11)],
    [2, 1, Fraction(1, 6)],
]


@pytest.mark.parametrize(
    ("name", "score", "parameters"),
    [
        ("nn", score_nn, {}),
        ("nn", score_nn, {"loss": [[0, 2], [-3, 0]]}),
        ("nn", score_nn, {"loss": WHOLE}),
        ("nn", score_nn, {"loss": RATIONAL}),
        ("knn", score_knn, {"n_neighbors": 1}),
        ("knn", score_knn, {"n_neighbors": 2}),
        ("knn", score_knn, {"n_neighbors": 3}),
        ("knn", score_knn, {"n_neighbors": 4}),
        ("knn", score_knn, {"n_neighbors": 3, "loss": [[0, 2], [-3, 0]]}),
        ("knn", score_knn, {"n_neighbors": 2, "loss": WHOLE}),
        ("knn", score_knn, {"n_neighbors": 3, "loss": RATIONAL}),
        ("knn", score_knn, {"n_neighbors": 2, "vote_ties": "random"}),
        ("knn", score_knn, {"n_neighbors": 3, "vote_ties": "random"}),
        ("knn", score_knn, {"n_neighbors": 4, "vote_ties": "random"}),
        ("knn", score_knn, {"n_neighbors": 4, "vote_ties": "random", "loss": [[0, 2], [-3, 0]]}),
        ("knn", score_knn, {"n_neighbors": 3, "vote_ties": "random", "loss": RATIONAL}),
        *[
            ("confidence", score_confidence, {"n_neighbors": k, "score": score})
            for k in (1, 2, 3, 5)
            for score in ("share", "brier")
        ],
        *[("regression", score_regression, {"n_neighbors": k}) for k in (1, 2, 3, 4)],
        ("rank", score_rank, {"rank": 1}),
        ("rank", score_rank, {"rank": 2}),
        ("rank", score_rank, {"rank": 3}),
        ("rank", score_rank, {}),
    ],
)
def test_the_built_in_variants_are_right(name, score, parameters):
    assert check_variant(name, score, parameters=[parameters], n_cases=4, seed=4) > 30


def test_no_built_in_variant_is_left_out():
    (cases,) = [mark.args[1] for mark in test_the_built_in_variants_are_right.pytestmark]
    assert {name for name, _, _ in cases} == set(BUILT_IN)


def test_a_wrong_variant_of_real_targets_is_found():
    def absolute(near, own, **parameters):
        return abs(near[0] - own)

    message = complaint("regression", absolute, parameters=[{"n_neighbors": 1}])
    assert "enumeration gives" in message
    assert "values [" in message


@pytest.mark.parametrize("factor", [0.5, 1])
def test_the_largest_score_of_real_targets_is_checked(factor):
    def largest_for(self, values, **parameters):
        return factor * float(np.ptp(values)) ** 2

    kind = type("Bounded", (type(get_variant("regression")),), {"largest_for": largest_for})
    setting = {"parameters": [{"n_neighbors": 1}], "n_cases": 5}
    if factor == 1:
        assert check_variant(kind, score_regression, **setting) > 50
    else:
        assert complaint(kind, score_regression, **setting).startswith("largest_score returns ")


@pytest.mark.slow
def test_several_settings_at_once():
    each = [{"rank": 1}, {"rank": 2}]
    apart = sum(check_variant("rank", score_rank, parameters=[one], n_cases=4) for one in each)
    assert check_variant("rank", score_rank, parameters=each, n_cases=4) == apart


@pytest.mark.slow
def test_the_seed_decides_the_problems():
    counts = [check_variant("nn", score_nn, n_cases=4, seed=seed, exact=False) for seed in (1, 1, 2)]
    assert counts[0] == counts[1]
    assert counts[0] != counts[2]


@pytest.mark.slow
def test_more_cases_compare_more():
    few, many = (check_variant("nn", score_nn, n_cases=n, exact=False) for n in (3, 6))
    assert 0 < few < many


@pytest.mark.slow
def test_one_unfitting_setting_is_passed_over():
    """A loss for three classes fits some problems only."""
    fitting = check_variant("nn", score_nn, parameters=[{"loss": WHOLE}], n_cases=12)
    assert (
        check_variant("nn", score_nn, parameters=[{"loss": WHOLE}, {"loss": [[0]] * 9}], n_cases=12)
        == fitting
    )


@jit
def pair_fixed(order, labels, target, constraints):
    """P(the second nearest training sample has the class of the tested one)."""
    score = constraints.unit * 0
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == labels.classes[target]:
            score += constraints.weights[i]
    return score


class Second(Variant):
    """Right if the second nearest training sample has the item's class; what the wrong ones derive from."""

    name = "second"
    fixed = pair_fixed

    def n_nearest(self, **parameters):
        return 2

    def check(self, task, **parameters):
        if task.train_size < 2:
            msg = f"train_size must be at least 2, got {task.train_size}"
            raise ValueError(msg)

    def tables(self, task, **parameters):
        return Tables(weights=position_law(task.n_available, task.train_size, 2, task.number))


def score_second(near, own):
    return int(near[1:2] == [own])


def test_the_model_of_the_wrong_ones_is_right():
    assert check_variant(Second, score_second) > 100
    assert check_variant(Second(), score_second, n_cases=3) > 10


def complaint(variant, score=score_second, **arguments):
    """The complaint of check_variant about it."""
    with pytest.raises(AssertionError) as caught:
        check_variant(variant, score, **arguments)
    return str(caught.value)


def test_a_wrong_kernel_is_found_and_the_problem_told():
    @jit
    def wrong(order, labels, target, constraints):
        score = constraints.unit * 0
        for i in range(len(order.items) - 1):
            if labels.classes[order.items[i]] == labels.classes[target]:
                score += constraints.weights[i]
        return score

    message = complaint(type("Wrong", (Second,), {"fixed": wrong}))
    assert message.startswith("A_x is ")
    for part in (
        "enumeration gives",
        "variant 'second'",
        "Subsample(",
        "ties='index'",
        "sample",
        "distances [[",
    ):
        assert part in message
    assert "classes [" in message


def test_a_wrong_kernel_for_stratified_sets_is_found():
    kind = type("Wrong", (Second,), {"stratified": pair_fixed, "tables": weights_of_equals})
    assert "StratifiedSubsample(" in complaint(kind, n_cases=10)


def weights_of_equals(self, task, **parameters):
    """Right for one stratum, and as if there were one for several."""
    return Tables(weights=position_law(task.n_available, task.train_size, 2, task.number))


def test_a_wrong_scorer_is_found_all_the_same():
    def mismatch(near, own, loss):
        return 1 - score_nn(near, own, loss)

    assert "enumeration gives" in complaint("nn", mismatch)


def test_a_kernel_that_ignores_ties_is_found():
    kind = type("Unfair", (Second,), {"tie_rules": ("index", "random")})
    assert "ties='random'" in complaint(kind)


def test_not_a_number_is_found():
    @jit
    def no_number(order, labels, target, constraints):
        return constraints.unit * np.nan

    assert "A_x is " in complaint(type("Lost", (Second,), {"fixed": no_number}), exact=False)


def test_too_small_n_nearest_is_found():
    def n_nearest(self, **parameters):
        return 1

    message = complaint(type("Short", (Second,), {"n_nearest": n_nearest}))
    assert message.startswith("n_nearest returns 1, but samples farther away change the score of [")


def test_too_large_n_nearest_is_no_mistake():
    def n_nearest(self, **parameters):
        return 5

    assert check_variant(type("Long", (Second,), {"n_nearest": n_nearest}), score_second, n_cases=5) > 10


@jit
def doubled(order, labels, target, constraints):
    score = constraints.unit * 0
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == labels.classes[target]:
            score -= constraints.weights[i] * 2
    return score


def minus_two_for_a_match(near, own):
    return -2 * score_second(near, own)


def test_too_small_largest_score_is_found():
    """The largest absolute score counts, so -2 is too much for the default 1."""
    message = complaint(type("Loud", (Second,), {"fixed": doubled}), minus_two_for_a_match)
    assert message.startswith("largest_score returns 1.0, but [")
    assert message.endswith("scores -2")


def test_a_sufficient_largest_score_passes():
    def largest_score(self, **parameters):
        return 2

    kind = type("Loud", (Second,), {"fixed": doubled, "largest_score": largest_score})
    assert check_variant(kind, minus_two_for_a_match, n_cases=5) > 10


FLOATS_WANTED = (AssertionError, TypeError)


def test_floats_in_the_tables_of_exact_mode_are_found():
    def tables(self, task, **parameters):
        return Tables(weights=position_law(task.n_available, task.train_size, 2, float))

    kind = type("Rounded", (Second,), {"tables": tables})
    with pytest.raises(FLOATS_WANTED, match="exact"):
        check_variant(kind, score_second)
    assert check_variant(kind, score_second, exact=False) > 100


def test_floats_from_a_division_in_exact_mode_are_found():
    @jit
    def divides(order, labels, target, constraints):
        share = 1 / len(order.items)
        score = constraints.unit * 0
        for i in range(len(order.items)):
            if labels.classes[order.items[i]] == labels.classes[target]:
                score += constraints.weights[i] * (share * len(order.items))
        return score

    kind = type("Divided", (Second,), {"fixed": divides})
    with pytest.raises(FLOATS_WANTED, match="exact"):
        check_variant(kind, score_second)
    assert check_variant(kind, score_second, exact=False) > 100


def test_floats_from_an_array_of_zeros_in_exact_mode_are_found():
    @jit
    def with_zeros(order, labels, target, constraints):
        total = np.zeros(1)
        for i in range(len(order.items)):
            if labels.classes[order.items[i]] == labels.classes[target]:
                total[0] += constraints.weights[i]
        return total[0]

    kind = type("Zeros", (Second,), {"fixed": with_zeros})
    with pytest.raises(FLOATS_WANTED, match="exact"):
        check_variant(kind, score_second)
    assert check_variant(kind, score_second, exact=False) > 100


def test_floats_that_happen_to_be_right_are_found():
    """One half is a double, so the number alone does not give it away."""

    @jit
    def half_of_one(order, labels, target, constraints):
        return 0.5

    def half(near, own):
        return Fraction(1, 2)

    kind = type("Half", (Second,), {"fixed": half_of_one})
    with pytest.raises(FLOATS_WANTED, match="exact"):
        check_variant(kind, half)


def test_an_error_of_the_kernel_is_no_refusal():
    """Only what `check` refuses is passed over; a kernel never raises on valid input."""

    @jit
    def sometimes(order, labels, target, constraints):
        if target == 4:
            raise ValueError
        score = constraints.unit * 0
        for i in range(len(order.items)):
            if labels.classes[order.items[i]] == labels.classes[target]:
                score += constraints.weights[i]
        return score

    with pytest.raises((AssertionError, ValueError)):
        check_variant(type("Moody", (Second,), {"fixed": sometimes}), score_second)


def test_an_error_of_the_tables_is_no_refusal():
    def tables(self, task, **parameters):
        if task.train_size == 3:
            msg = "three is too many to count"
            raise ValueError(msg)
        return Second.tables(self, task, **parameters)

    with pytest.raises((AssertionError, ValueError), match="three is too many to count"):
        check_variant(type("Shy", (Second,), {"tables": tables}), score_second)


@jit
def as_if_complete(order, labels, target, constraints):
    """Right for complete cross-validation; takes the tested sample for one of the counted ones always."""
    left = constraints.counts[0] - 1
    n_train = constraints.n_train[0]
    none = constraints.unit * 1
    score = constraints.unit * 0
    for item in order.items:
        if left < 1:
            break
        if labels.classes[item] == labels.classes[target]:
            score += none * n_train / left
        none = none * (left - n_train) / left
        left -= 1
    return score


class Blinkered(Variant):
    """The nearest neighbor, by a kernel that does not read ``constraints.held_out``."""

    name = "blinkered"
    fixed = as_if_complete

    def n_nearest(self, **parameters):
        return 1


def test_a_kernel_that_fails_single_training_sets_is_found():
    """Monte Carlo runs call the same kernel with ``held_out`` 0; this one then scores up to 2."""

    def score(near, own):
        return int(near[0] == own)

    with pytest.raises(AssertionError):
        check_variant(Blinkered, score)


def test_when_everything_is_refused_nothing_was_checked():
    with pytest.raises(ValueError, match="variant 'knn' refused every setting") as caught:
        check_variant("knn", score_knn, parameters=[{"n_neighbors": 50}, {"n_neighbors": 0}], n_cases=3)
    assert "50" in str(caught.value)
    with pytest.raises(ValueError, match="refused every setting"):
        check_variant("nn", score_nn, parameters=[], n_cases=2)


def test_an_unknown_parameter_is_no_refusal():
    with pytest.raises(TypeError, match="variant 'nn' has no parameter 'los'; it takes: loss"):
        check_variant("nn", score_nn, parameters=[{"los": None}])


def test_an_unknown_name_is_told():
    with pytest.raises(ValueError, match="there is no variant 'rnak'"):
        check_variant("rnak", score_rank)


def test_a_kernel_with_three_arguments_is_refused():
    @jit
    def three(order, labels, target):
        return 0.5

    with pytest.raises(TypeError, match=r"'second'.*must take 4 arguments"):
        check_variant(type("Three", (Second,), {"fixed": three}), score_second)


@needs_compiler
def test_a_kernel_that_does_not_fit_is_refused():
    @jit
    def pair(order, labels, target, constraints):
        return (0.5, 0.5)

    with pytest.raises(TypeError, match=r"pair of variant 'second' does not fit the signature"):
        check_variant(type("Pair", (Second,), {"fixed": pair}), score_second)


@needs_compiler
def test_a_kernel_that_is_not_jitted_is_refused():
    def plain(order, labels, target, constraints):
        return 0.5

    with pytest.raises(TypeError, match=r"'second'.*knnccv.kernel.jit"):
        check_variant(type("Plain", (Second,), {"fixed": plain}), score_second)
