"""Bad variants, bad parameters of the built-in ones, and bad registrations."""

import numpy as np
import scipy.sparse as sp
from bad_input import (
    INF,
    LOSS,
    NAN,
    Abstract,
    Nameless,
    NoKernel,
    NotAVariant,
    PlainKernel,
    SecondNN,
    Untypable,
    WrongKernel,
    changed,
    masked,
    refusal_test,
)

from knnccv import KFold, StratifiedKFold, StratifiedSubsample, Subsample, get_variant, register, unregister
from knnccv.kernel import Variant

ARGUMENTS = {
    # variant
    "variant-unknown": (
        lambda: {"variant": "forest"},
        ValueError,
        "there is no variant 'forest'; choose from: .*knn",
    ),
    "variant-misspelt": (lambda: {"variant": "knnn"}, ValueError, "no variant 'knnn'.*did you mean 'knn'"),
    "variant-upper-case": (lambda: {"variant": "KNN"}, ValueError, "no variant 'KNN'; choose from"),
    "variant-empty": (lambda: {"variant": ""}, ValueError, "there is no variant ''; choose from"),
    "variant-none": (lambda: {"variant": None}, TypeError, r"expects a knnccv.kernel.Variant.*got None"),
    "variant-int": (lambda: {"variant": 5}, TypeError, r"expects a knnccv.kernel.Variant.*got 5"),
    "variant-bytes": (
        lambda: {"variant": b"knn"},
        TypeError,
        r"expects a knnccv.kernel.Variant.*got b'knn'",
    ),
    "variant-list": (
        lambda: {"variant": ["nn"]},
        TypeError,
        r"expects a knnccv.kernel.Variant.*got \['nn'\]",
    ),
    "variant-other-class": (
        lambda: {"variant": NotAVariant},
        TypeError,
        "expects a .*Variant.*NotAVariant",
    ),
    "variant-other-instance": (
        lambda: {"variant": NotAVariant()},
        TypeError,
        "expects a .*Variant.*NotAVariant",
    ),
    "variant-base-class": (lambda: {"variant": Variant}, TypeError, "Variant.* is incomplete"),
    "variant-abstract": (lambda: {"variant": Abstract}, TypeError, "Abstract.* is incomplete"),
    "variant-without-kernel": (
        lambda: {"variant": NoKernel},
        TypeError,
        "'no-kernel'.*neither a fixed nor",
    ),
    "variant-wrong-kernel": (lambda: {"variant": WrongKernel}, TypeError, "'wrong-kernel'.*4 arguments"),
    "variant-plain-kernel": (
        lambda: {"variant": PlainKernel},
        TypeError,
        "'plain-kernel'.*knnccv.kernel.jit",
    ),
    "variant-kernel-returns-text": (
        lambda: {"variant": Untypable},
        TypeError,
        "'untypable' does not fit the signature",
    ),
    "variant-nameless": (
        lambda: {"variant": Nameless},
        TypeError,
        "Nameless.*non-empty string as its name",
    ),
    "variant-kernel-missing-for-design": (
        lambda: {"variant": SecondNN, "cv": StratifiedKFold(2)},
        ValueError,
        "variant 'nn' has no kernel for stratified",
    ),
    # parameters of the variants
    "n_neighbors-0": (
        lambda: {"variant": "knn", "n_neighbors": 0},
        ValueError,
        "n_neighbors must be (at least|between) 1.*got 0",
    ),
    "n_neighbors-negative": (
        lambda: {"variant": "knn", "n_neighbors": -1},
        ValueError,
        "n_neighbors must be (at least|between) 1.*got -1",
    ),
    "n_neighbors-float": (
        lambda: {"variant": "knn", "n_neighbors": 1.5},
        TypeError,
        "n_neighbors must be an integer, got 1.5",
    ),
    "n_neighbors-whole-float": (
        lambda: {"variant": "knn", "n_neighbors": 3.0},
        TypeError,
        "n_neighbors must be an integer, got 3.0",
    ),
    "n_neighbors-str": (
        lambda: {"variant": "knn", "n_neighbors": "3"},
        TypeError,
        "n_neighbors must be an integer, got '3'",
    ),
    "n_neighbors-none": (
        lambda: {"variant": "knn", "n_neighbors": None},
        TypeError,
        "n_neighbors must be an integer, got None",
    ),
    "n_neighbors-true": (
        lambda: {"variant": "knn", "n_neighbors": True},
        TypeError,
        "n_neighbors must be an integer, got True",
    ),
    "n_neighbors-list": (
        lambda: {"variant": "knn", "n_neighbors": [3]},
        TypeError,
        r"n_neighbors must be an integer, got \[3\]",
    ),
    "n_neighbors-beyond-subsample": (
        lambda: {"variant": "knn", "n_neighbors": 7},
        ValueError,
        "n_neighbors must be between 1 and 6, the size of the training set, got 7",
    ),
    "n_neighbors-default-beyond-subsample": (
        lambda: {"variant": "knn", "cv": Subsample(4)},
        ValueError,
        "n_neighbors must be between 1 and 4, the size of the training set, got 5",
    ),
    "n_neighbors-huge": (
        lambda: {"variant": "knn", "n_neighbors": 10**30},
        ValueError,
        "n_neighbors must be between 1 and 6, .*got 10{30}",
    ),
    "n_neighbors-beyond-smallest-fold": (
        lambda: {"variant": "knn", "n_neighbors": 10, "cv": KFold(5)},
        ValueError,
        "n_neighbors must be between 1 and 9, the size of the training set, got 10",
    ),
    "n_neighbors-beyond-stratified": (
        lambda: {"variant": "knn", "n_neighbors": 4, "cv": StratifiedSubsample(per_class=1)},
        ValueError,
        "n_neighbors must be between 1 and 3, the size of the training set, got 4",
    ),
    "n_neighbors-beyond-stratified-kfold": (
        lambda: {"variant": "knn", "n_neighbors": 9, "cv": 3},
        ValueError,
        "n_neighbors must be between 1 and [78], the size of the training set, got 9",
    ),
    "n_neighbors-for-nn": (
        lambda: {"n_neighbors": 3},
        TypeError,
        "variant 'nn' has no parameter 'n_neighbors'; it takes: loss",
    ),
    "rank-0": (
        lambda: {"variant": "rank", "rank": 0},
        ValueError,
        "rank must be (at least|between) 1.*got 0",
    ),
    "rank-negative": (
        lambda: {"variant": "rank", "rank": -4},
        ValueError,
        "rank must be (at least|between) 1.*got -4",
    ),
    "rank-float": (lambda: {"variant": "rank", "rank": 2.5}, TypeError, "rank must be an integer, got 2.5"),
    "rank-str": (lambda: {"variant": "rank", "rank": "3"}, TypeError, "rank must be an integer, got '3'"),
    "rank-none": (
        lambda: {"variant": "rank", "rank": None},
        TypeError,
        "rank must be an integer, got None",
    ),
    "rank-true": (
        lambda: {"variant": "rank", "rank": True},
        TypeError,
        "rank must be an integer, got True",
    ),
    "rank-for-knn": (
        lambda: {"variant": "knn", "n_neighbors": 3, "rank": 2},
        TypeError,
        "variant 'knn' has no parameter 'rank'; it takes: n_neighbors, loss",
    ),
    "loss-for-rank": (
        lambda: {"variant": "rank", "loss": LOSS},
        TypeError,
        "variant 'rank' has no parameter 'loss'; it takes: rank",
    ),
    "unknown-parameter": (
        lambda: {"weights": "distance"},
        TypeError,
        "has no parameter 'weights'; it takes",
    ),
    "misspelt-argument": (lambda: {"njobs": 2}, TypeError, "has no parameter 'njobs'"),
    "loss-too-small": (
        lambda: {"loss": LOSS[:2, :2]},
        ValueError,
        r"loss must have shape \(3, 3\) for 3 classes .*got shape \(2, 2\)",
    ),
    "loss-too-large": (
        lambda: {"loss": np.ones((4, 4))},
        ValueError,
        r"loss must have shape \(3, 3\).*\(4, 4\)",
    ),
    "loss-not-square": (lambda: {"loss": LOSS[:2]}, ValueError, r"loss must have shape \(3, 3\).*\(2, 3\)"),
    "loss-1-D": (lambda: {"loss": [0, 1, 2]}, ValueError, r"loss must have shape \(3, 3\).*\(3,\)"),
    "loss-3-D": (lambda: {"loss": LOSS[None]}, ValueError, r"loss must have shape \(3, 3\).*\(1, 3, 3\)"),
    "loss-scalar": (lambda: {"loss": 1.0}, ValueError, r"loss must have shape \(3, 3\).*\(\)"),
    "loss-empty": (lambda: {"loss": []}, ValueError, r"loss must have shape \(3, 3\).*\(0,\)"),
    "loss-name": (lambda: {"loss": "zero-one"}, (TypeError, ValueError), "loss must be None or a matrix"),
    "loss-ragged": (
        lambda: {"loss": [[0, 1, 2], [1, 0]]},
        ValueError,
        "loss must be None or a matrix of real",
    ),
    "loss-nan": (
        lambda: {"loss": changed(LOSS, (1, 2), NAN, float)},
        ValueError,
        r"loss\[1, 2\] is nan; every value must be finite",
    ),
    "loss-inf": (
        lambda: {"loss": changed(LOSS, (1, 2), -INF, float)},
        ValueError,
        r"loss\[1, 2\] is -inf; every value must be finite",
    ),
    "loss-object-nan": (
        lambda: {"loss": changed(LOSS, (1, 2), NAN, object)},
        ValueError,
        r"loss\[1, 2\] is nan; every value must be finite",
    ),
    "loss-none-inside": (
        lambda: {"loss": changed(LOSS, (1, 2), None, object)},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-words": (
        lambda: {"loss": [["a", "b", "c"]] * 3},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-numeric-strings": (
        lambda: {"loss": LOSS.astype(str)},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-complex": (
        lambda: {"loss": LOSS + 1j},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-complex-without-imaginary-part": (
        lambda: {"loss": LOSS + 0j},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-masked": (
        lambda: {"loss": masked(LOSS, (0, 1))},
        (TypeError, ValueError),
        "masked entries in loss",
    ),
    "loss-beyond-float64": (
        lambda: {"loss": [[10**400] * 3] * 3},
        (TypeError, ValueError),
        r"loss\[0, 0\] is 1000.*integers beyond",
    ),
    "loss-longdouble-beyond-float64": (
        lambda: {"loss": changed(LOSS, (0, 1), np.longdouble("1e4000"), np.longdouble)},
        ValueError,
        r"loss\[0, 1\] is inf; every value must be finite",
    ),
    "loss-generator": (
        lambda: {"loss": (row for row in LOSS)},
        (TypeError, ValueError),
        "loss must be None or a matrix of real numbers|loss must have shape",
    ),
    "loss-dict": (
        lambda: {"loss": {0: [0, 1, 2], 1: [1, 0, 2], 2: [1, 2, 0]}},
        (TypeError, ValueError),
        "loss must be None or a matrix",
    ),
    "loss-sparse": (
        lambda: {"loss": sp.csr_matrix(LOSS)},
        (TypeError, ValueError),
        "loss must be None or a matrix",
    ),
    "loss-datetime": (
        lambda: {"loss": LOSS.astype("M8[D]")},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-timedelta": (
        lambda: {"loss": LOSS.astype("m8[D]")},
        TypeError,
        "loss must be None or a matrix of real numbers",
    ),
    "loss-for-knn": (
        lambda: {"variant": "knn", "n_neighbors": 3, "loss": LOSS[:2, :2]},
        ValueError,
        r"loss must have shape \(3, 3\)",
    ),
    "loss-for-classes-not-there": (
        lambda: {"loss": LOSS, "y": [0, 2] * 6},
        ValueError,
        r"loss must have shape \(2, 2\) for 2 classes .*got shape \(3, 3\)",
    ),
}


CALLS = {
    # register, get_variant
    "register-str": (lambda: register("nn"), TypeError, r"register\(\) expects a .*Variant.*got 'nn'"),
    "register-none": (lambda: register(None), TypeError, r"register\(\) expects a .*Variant.*got None"),
    "register-other-class": (
        lambda: register(NotAVariant),
        TypeError,
        r"register\(\) expects .*NotAVariant",
    ),
    "register-taken": (lambda: register(SecondNN), ValueError, "the name 'nn' is taken by .*SecondNN"),
    "register-without-kernel": (lambda: register(NoKernel), TypeError, "'no-kernel'.*neither"),
    "register-wrong-kernel": (lambda: register(WrongKernel), TypeError, "'wrong-kernel'.*4 arguments"),
    "register-untypable": (
        lambda: register(Untypable),
        TypeError,
        "'untypable' does not fit the signature",
    ),
    "register-nameless": (lambda: register(Nameless), TypeError, "Nameless.*non-empty string"),
    "get_variant-misspelt": (
        lambda: get_variant("rnak"),
        ValueError,
        "no variant 'rnak'.*did you mean 'rank'",
    ),
    "get_variant-confidance": (lambda: get_variant("confidance"), ValueError, "did you mean 'confidence'"),
    "get_variant-nonsense": (
        lambda: get_variant("nonsense"),
        ValueError,
        "no variant 'nonsense'; choose from: [^;]*$",
    ),
    "get_variant-none": (
        lambda: get_variant(None),
        TypeError,
        "expects a knnccv.kernel.Variant or a name.*got None",
    ),
    "unregister-unknown": (lambda: unregister("forest"), KeyError, "there is no variant 'forest'"),
}

test_bad_input_is_refused = refusal_test(ARGUMENTS, CALLS)
