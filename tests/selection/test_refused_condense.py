"""Arguments that prototype selection refuses: one clear error each."""

import numpy as np
import pytest

from knnccv import KFold, LeaveGroupsOut, Neighbors, StratifiedSubsample, Subsample
from knnccv.selection import Condense, condense, condensed_cv

X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.repeat([0, 1, 2], 10)
NAN = float("nan")

REFUSED = {
    "tol-negative": (lambda: condense(X, Y, tol=-0.1), ValueError, "tol must be at least 0, got -0.1"),
    "tol-nan": (lambda: condense(X, Y, tol=NAN), ValueError, "tol must be at least 0, got nan"),
    "tol-text": (lambda: condense(X, Y, tol="0"), TypeError, "tol must be a real number, got '0'"),
    "prototypes-0": (
        lambda: condense(X, Y, n_prototypes=0),
        ValueError,
        "n_prototypes must be between 1 and 30, the number of samples, got 0",
    ),
    "prototypes-31": (lambda: condense(X, Y, n_prototypes=31), ValueError, "between 1 and 30.*got 31"),
    "prototypes-share": (
        lambda: condense(X, Y, n_prototypes=0.5),
        TypeError,
        "n_prototypes must be an integer",
    ),
    "per-class-0": (
        lambda: condense(X, Y, min_per_class=0),
        ValueError,
        "min_per_class must be at least 1",
    ),
    "per-class-true": (
        lambda: condense(X, Y, min_per_class=True),
        TypeError,
        "must be an integer, got True",
    ),
    "step-0": (lambda: condense(X, Y, step=0), ValueError, r"step must be in \(0, 1\], got 0"),
    "step-2": (lambda: condense(X, Y, step=2), ValueError, r"step must be in \(0, 1\], got 2"),
    "average-pooled": (
        lambda: condense(X, Y, average="pooled"),
        ValueError,
        "average must be one of 'item', 'class', got 'pooled'",
    ),
    "regression": (lambda: condense(X, Y, "regression"), ValueError, "'regression' has real targets"),
    "variant-unknown": (lambda: condense(X, Y, "nearest"), ValueError, "nearest"),
    "groups": (
        lambda: condense(X, Y, "nn", LeaveGroupsOut(Y)),
        ValueError,
        "condense draws single samples from the pool",
    ),
    "size-too-large": (
        lambda: condense(X, Y, "nn", Subsample(30)),
        ValueError,
        "train_size must be between 1 and 29",
    ),
    "class-drawn-whole": (
        lambda: condense(X, Y, "nn", StratifiedSubsample(per_class={0: 10, 1: 1, 2: 1})),
        ValueError,
        "draws all 10 samples of class 0.*at least one must be left",
    ),
    "one-sample": (lambda: condense(X[:1], Y[:1]), ValueError, "X must have at least 2 samples"),
    "too-many-neighbors": (
        lambda: condense(X, Y, "knn", Subsample(3), n_neighbors=5),
        ValueError,
        "n_neighbors must be between 1 and 3",
    ),
    "labels-short": (lambda: condense(X, Y[:-1]), ValueError, "X has 30 samples, but y has 29 labels"),
    "labels-real": (lambda: condense(X, Y + 0.5), TypeError, "class labels must be whole numbers"),
    "nan-in-x": (lambda: condense(np.where(X > 1, NAN, X), Y), ValueError, "every value must be finite"),
    "parameter-unknown": (lambda: condense(X, Y, k=3), TypeError, "has no parameter 'k'"),
    "ties-unknown": (lambda: condense(X, Y, ties="first"), ValueError, "ties must be one of"),
    "jobs-0": (lambda: condense(X, Y, n_jobs=0), ValueError, "n_jobs"),
    "size-of-path": (lambda: condense(X, Y).kept_at(1), ValueError, "n_prototypes must be between"),
    "runs-neighbors": (
        lambda: condensed_cv(Neighbors.from_data(X), Y),
        TypeError,
        "condensed_cv needs the samples themselves",
    ),
    "runs-0": (lambda: condensed_cv(X, Y, n_repeats=0), ValueError, "n_repeats must be at least 1"),
    "runs-seed": (lambda: condensed_cv(X, Y, random_state="a"), TypeError, "random_state must be None"),
    "runs-outer": (lambda: condensed_cv(X, Y, outer="5"), TypeError, "cv must be a number of folds"),
    "estimator-k": (lambda: Condense(0).fit(X, Y), ValueError, "n_neighbors must be at least 1, got 0"),
    "estimator-precomputed": (
        lambda: Condense(metric="precomputed").fit(X @ X.T, Y),
        ValueError,
        "prototypes are rows of X",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), list(REFUSED.values()), ids=list(REFUSED))
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_of_a_training_set_name_it():
    with pytest.raises(ValueError, match="train_size must be between") as caught:
        condensed_cv(X, Y, "nn", Subsample(25), outer=KFold(2), n_repeats=1, random_state=0)
    assert caught.value.__notes__ == ["on the 15 training samples of run 0, fold 0"]
