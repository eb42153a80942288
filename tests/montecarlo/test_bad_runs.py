"""Bad arguments of `monte_carlo_cv` alone."""

import numpy as np
from bad_input import refusal_test, sampled

ARGUMENTS = {}


CALLS = {
    # monte_carlo_cv alone
    "n_repeats-0": (lambda: sampled(cv=3, n_repeats=0), ValueError, "n_repeats must be at least 1, got 0"),
    "n_repeats-negative": (
        lambda: sampled(cv=3, n_repeats=-5),
        ValueError,
        "n_repeats must be at least 1, got -5",
    ),
    "n_repeats-float": (
        lambda: sampled(cv=3, n_repeats=1.5),
        TypeError,
        "n_repeats must be an integer, got 1.5",
    ),
    "n_repeats-str": (
        lambda: sampled(cv=3, n_repeats="5"),
        TypeError,
        "n_repeats must be an integer, got '5'",
    ),
    "n_repeats-none": (
        lambda: sampled(cv=3, n_repeats=None),
        TypeError,
        "n_repeats must be an integer, got None",
    ),
    "n_repeats-true": (
        lambda: sampled(cv=3, n_repeats=True),
        TypeError,
        "n_repeats must be an integer, got True",
    ),
    "random_state-negative": (
        lambda: sampled(cv=3, random_state=-1),
        ValueError,
        "random_state must (not be negative|be at least 0), got -1",
    ),
    "random_state-float": (
        lambda: sampled(cv=3, random_state=1.5),
        TypeError,
        "random_state must be None, an integer or a numpy Generator, got 1.5",
    ),
    "random_state-str": (
        lambda: sampled(cv=3, random_state="0"),
        TypeError,
        "random_state must be .*got '0'",
    ),
    "random_state-true": (
        lambda: sampled(cv=3, random_state=True),
        TypeError,
        "random_state must be .*got True",
    ),
    "random_state-list": (
        lambda: sampled(cv=3, random_state=[1]),
        TypeError,
        r"random_state must be .*got \[1\]",
    ),
    "random_state-legacy": (
        lambda: sampled(cv=3, random_state=np.random.RandomState(0)),
        TypeError,
        "random_state must be None, an integer or a numpy Generator, got RandomState",
    ),
    "sampled-tol": (lambda: sampled(cv=3, tol=1e-9), TypeError, "'tol'"),
    "sampled-exact": (lambda: sampled(cv=3, exact=True), TypeError, "'exact'"),
}

test_bad_input_is_refused = refusal_test(ARGUMENTS, CALLS)
