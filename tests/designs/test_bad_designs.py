"""Bad designs."""

from collections import Counter
from fractions import Fraction

import numpy as np
import sklearn.model_selection
from bad_input import INF, NAN, refusal_test

from knnccv import KFold, LeaveGroupsOut, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample

ARGUMENTS = {
    # cv
    "cv-0": (lambda: {"cv": 0}, ValueError, "n_splits must be at least 2, got 0"),
    "cv-1": (lambda: {"cv": 1}, ValueError, "n_splits must be at least 2, got 1"),
    "cv-negative": (lambda: {"cv": -1}, ValueError, "n_splits must be at least 2, got -1"),
    "cv-true": (lambda: {"cv": True}, TypeError, "cv must be a number of folds or a design .*got True"),
    "cv-numpy-true": (lambda: {"cv": np.True_}, TypeError, "cv must be a number of folds .*True"),
    "cv-float": (lambda: {"cv": 2.5}, TypeError, "cv must be a number of folds .*got 2.5"),
    "cv-whole-float": (lambda: {"cv": 5.0}, TypeError, "cv must be a number of folds .*got 5.0"),
    "cv-str": (lambda: {"cv": "5"}, TypeError, "cv must be a number of folds .*got '5'"),
    "cv-none": (lambda: {"cv": None}, TypeError, "cv must be a number of folds .*got None"),
    "cv-too-many-folds": (
        lambda: {"cv": 5},
        ValueError,
        "n_splits must be between 2 and 4, .*largest class, got 5",
    ),
    "cv-huge": (lambda: {"cv": 10**30}, ValueError, "n_splits must be between 2 and 4, .*got 10{30}"),
    "cv-all-labels-differ": (
        lambda: {"cv": 2, "y": np.arange(12)},
        ValueError,
        "class of at least two samples, but all labels differ",
    ),
    "cv-sklearn-splitter": (
        lambda: {"cv": sklearn.model_selection.KFold(3)},
        TypeError,
        r"cv is scikit-learn's KFold\(.*use knnccv's own",
    ),
    "cv-class": (
        lambda: {"cv": KFold},
        TypeError,
        r"cv must be a number of folds or a design .*class KFold; .* such as KFold\(5\)$",
    ),
    "cv-class-StratifiedKFold": (
        lambda: {"cv": StratifiedKFold},
        TypeError,
        r"such as StratifiedKFold\(5\)$",
    ),
    "cv-class-Subsample": (lambda: {"cv": Subsample}, TypeError, r"such as Subsample\(0\.5\)$"),
    "cv-class-StratifiedSubsample": (
        lambda: {"cv": StratifiedSubsample},
        TypeError,
        r"such as StratifiedSubsample\(0\.5\)$",
    ),
    "cv-class-LeaveOut": (lambda: {"cv": LeaveOut}, TypeError, r"such as LeaveOut\(1\)$"),
    "cv-class-LeaveGroupsOut": (
        lambda: {"cv": LeaveGroupsOut},
        TypeError,
        r"such as LeaveGroupsOut\(groups\)$",
    ),
    "cv-sklearn-class": (
        lambda: {"cv": sklearn.model_selection.KFold},
        TypeError,
        r"cv is scikit-learn's <class .*use knnccv's own",
    ),
    "cv-list-of-splits": (
        lambda: {"cv": [(np.arange(6), np.arange(6, 12))]},
        TypeError,
        "cv must be a number of folds or a design",
    ),
    # Subsample
    "subsample-0": (lambda: {"cv": Subsample(0)}, ValueError, "train_size must be at least 1, got 0"),
    "subsample-negative": (
        lambda: {"cv": Subsample(-3)},
        ValueError,
        "train_size must be at least 1, got -3",
    ),
    "subsample-N": (
        lambda: {"cv": Subsample(12)},
        ValueError,
        "train_size must be between 1 and 11 for 12 samples, got 12",
    ),
    "subsample-N+1": (
        lambda: {"cv": Subsample(13)},
        ValueError,
        "train_size must be between 1 and 11 for 12 samples, got 13",
    ),
    "subsample-huge": (
        lambda: {"cv": Subsample(10**25)},
        ValueError,
        "between 1 and 11 for 12 samples, got 10{25}",
    ),
    "subsample-1.0": (lambda: {"cv": Subsample(1.0)}, ValueError, r"train_size .*in \(0, 1\), got 1.0"),
    "subsample-0.0": (lambda: {"cv": Subsample(0.0)}, ValueError, r"train_size .*in \(0, 1\), got 0.0"),
    "subsample-1.5": (lambda: {"cv": Subsample(1.5)}, ValueError, r"train_size .*in \(0, 1\), got 1.5"),
    "subsample-6.0": (lambda: {"cv": Subsample(6.0)}, ValueError, r"train_size .*in \(0, 1\), got 6.0"),
    "subsample-minus-0.2": (
        lambda: {"cv": Subsample(-0.2)},
        ValueError,
        r"train_size .*in \(0, 1\), got -0.2",
    ),
    "subsample-nan": (lambda: {"cv": Subsample(NAN)}, ValueError, r"train_size .*in \(0, 1\), got nan"),
    "subsample-inf": (lambda: {"cv": Subsample(INF)}, ValueError, r"train_size .*in \(0, 1\), got inf"),
    "subsample-Fraction(3,2)": (
        lambda: {"cv": Subsample(Fraction(3, 2))},
        ValueError,
        r"in \(0, 1\), got 3/2",
    ),
    "subsample-str": (lambda: {"cv": Subsample("3")}, TypeError, "train_size must be a number .*got '3'"),
    "subsample-none": (
        lambda: {"cv": Subsample(None)},
        TypeError,
        "train_size must be a number .*got None",
    ),
    "subsample-true": (
        lambda: {"cv": Subsample(True)},
        TypeError,
        "train_size must be a number .*got True",
    ),
    "subsample-numpy-true": (
        lambda: {"cv": Subsample(np.True_)},
        TypeError,
        "train_size must be a number .*True",
    ),
    "subsample-complex": (
        lambda: {"cv": Subsample(0.5j)},
        TypeError,
        "train_size must be a number .*got 0.5j",
    ),
    "subsample-array": (
        lambda: {"cv": Subsample(np.array([3]))},
        TypeError,
        r"train_size must be a number .*got array\(\[3\]\)",
    ),
    "subsample-list": (
        lambda: {"cv": Subsample([0.5])},
        TypeError,
        r"train_size must be a number .*\[0.5\]",
    ),
    "subsample-rounds-to-0": (
        lambda: {"cv": Subsample(0.05)},
        ValueError,
        r"train_size must be between 1 and 11 for 12 samples, got 0.05 \(0 samples\)",
    ),
    # StratifiedSubsample
    "stratified-neither": (
        lambda: {"cv": StratifiedSubsample()},
        TypeError,
        "give either train_size .* or per_class .*got train_size=None, per_class=None",
    ),
    "stratified-both": (
        lambda: {"cv": StratifiedSubsample(0.5, per_class=2)},
        TypeError,
        "give either train_size .* or per_class .*got train_size=0.5, per_class=2",
    ),
    "stratified-int": (
        lambda: {"cv": StratifiedSubsample(6)},
        TypeError,
        "train_size must be a fraction .*got 6; for a number of samples use per_class=6",
    ),
    "stratified-true": (
        lambda: {"cv": StratifiedSubsample(True)},
        TypeError,
        "train_size must be .*got True",
    ),
    "stratified-str": (
        lambda: {"cv": StratifiedSubsample("0.5")},
        TypeError,
        "train_size must be .*got '0.5'",
    ),
    "stratified-1.0": (lambda: {"cv": StratifiedSubsample(1.0)}, ValueError, r"in \(0, 1\), got 1.0"),
    "stratified-0.0": (lambda: {"cv": StratifiedSubsample(0.0)}, ValueError, r"in \(0, 1\), got 0.0"),
    "stratified-nan": (lambda: {"cv": StratifiedSubsample(NAN)}, ValueError, r"in \(0, 1\), got nan"),
    "stratified-empty-class": (
        lambda: {"cv": StratifiedSubsample(0.2)},
        ValueError,
        r"train_size=0.2 leaves no training sample of class 0 \(4 samples\)",
    ),
    "per_class-0": (
        lambda: {"cv": StratifiedSubsample(per_class=0)},
        ValueError,
        "per_class must be at least 1, got 0",
    ),
    "per_class-negative": (
        lambda: {"cv": StratifiedSubsample(per_class=-1)},
        ValueError,
        "per_class must be at least 1, got -1",
    ),
    "per_class-too-big": (
        lambda: {"cv": StratifiedSubsample(per_class=5)},
        ValueError,
        "per_class must be at most the size of the class: class 0 has 4 samples, got 5",
    ),
    "per_class-all": (
        lambda: {"cv": StratifiedSubsample(per_class=4)},
        ValueError,
        "per_class puts all 12 samples into the training set",
    ),
    "per_class-float": (
        lambda: {"cv": StratifiedSubsample(per_class=2.0)},
        TypeError,
        "per_class must be an integer.*got 2.0",
    ),
    "per_class-str": (
        lambda: {"cv": StratifiedSubsample(per_class="2")},
        TypeError,
        "per_class must be an integer.*got '2'",
    ),
    "per_class-true": (
        lambda: {"cv": StratifiedSubsample(per_class=True)},
        TypeError,
        "per_class must be an integer.*got True",
    ),
    "per_class-list": (
        lambda: {"cv": StratifiedSubsample(per_class=[2, 2, 2])},
        TypeError,
        r"per_class must be an integer or a mapping.*got \[2, 2, 2\]",
    ),
    "per_class-empty-mapping": (
        lambda: {"cv": StratifiedSubsample(per_class={})},
        ValueError,
        r"per_class must name every class and no other: missing \[0, 1, 2\]",
    ),
    "per_class-missing-label": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 2, 2: 1})},
        ValueError,
        r"per_class must name every class .*missing \[1\]",
    ),
    "per_class-unknown-label": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 2, 1: 1, 2: 1, 7: 1})},
        ValueError,
        r"per_class must name every class .*unknown \[7\]",
    ),
    "per_class-labels-as-strings": (
        lambda: {"cv": StratifiedSubsample(per_class={"0": 2, "1": 1, "2": 1})},
        ValueError,
        r"per_class must name every class .*missing \[0, 1, 2\], unknown \['0', '1', '2'\]",
    ),
    "per_class-float-count": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 2.0, 1: 1, 2: 1})},
        TypeError,
        r"per_class\[0\] must be an integer, got 2.0",
    ),
    "per_class-none-count": (
        lambda: {"cv": StratifiedSubsample(per_class={0: None, 1: 1, 2: 1})},
        TypeError,
        r"per_class\[0\] must be an integer, got None",
    ),
    "per_class-true-count": (
        lambda: {"cv": StratifiedSubsample(per_class={0: True, 1: 1, 2: 1})},
        TypeError,
        r"per_class\[0\] must be an integer, got True",
    ),
    "per_class-negative-count": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 2, 1: -1, 2: 1})},
        ValueError,
        r"per_class\[1\] must be at least 0, got -1",
    ),
    "per_class-count-too-big": (
        lambda: {"cv": StratifiedSubsample(per_class=Counter({0: 2, 1: 1, 2: 9}))},
        ValueError,
        "class 2 has 4 samples, got 9",
    ),
    "per_class-mapping-all": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 4, 1: 4, 2: 4})},
        ValueError,
        "puts all 12 samples into the training set",
    ),
    "per_class-mapping-none": (
        lambda: {"cv": StratifiedSubsample(per_class={0: 0, 1: 0, 2: 0})},
        ValueError,
        "per_class leaves the training set empty",
    ),
    # LeaveOut, KFold, StratifiedKFold
    "leave-out-0": (lambda: {"cv": LeaveOut(0)}, ValueError, "p must be at least 1, got 0"),
    "leave-out-negative": (lambda: {"cv": LeaveOut(-1)}, ValueError, "p must be at least 1, got -1"),
    "leave-out-N": (
        lambda: {"cv": LeaveOut(12)},
        ValueError,
        "p must be between 1 and 11 for 12 samples, got 12",
    ),
    "leave-out-float": (lambda: {"cv": LeaveOut(1.5)}, TypeError, "p must be an integer, got 1.5"),
    "leave-out-str": (lambda: {"cv": LeaveOut("1")}, TypeError, "p must be an integer, got '1'"),
    "leave-out-none": (lambda: {"cv": LeaveOut(None)}, TypeError, "p must be an integer, got None"),
    "leave-out-true": (lambda: {"cv": LeaveOut(True)}, TypeError, "p must be an integer, got True"),
    "kfold-0": (lambda: {"cv": KFold(0)}, ValueError, "n_splits must be at least 2, got 0"),
    "kfold-1": (lambda: {"cv": KFold(1)}, ValueError, "n_splits must be at least 2, got 1"),
    "kfold-N+1": (
        lambda: {"cv": KFold(13)},
        ValueError,
        "n_splits must be between 2 and 12 for 12 samples, got 13",
    ),
    "kfold-float": (lambda: {"cv": KFold(3.0)}, TypeError, "n_splits must be an integer, got 3.0"),
    "kfold-none": (lambda: {"cv": KFold(None)}, TypeError, "n_splits must be an integer, got None"),
    "kfold-true": (lambda: {"cv": KFold(True)}, TypeError, "n_splits must be an integer, got True"),
    "stratified-kfold-1": (
        lambda: {"cv": StratifiedKFold(1)},
        ValueError,
        "n_splits must be at least 2, got 1",
    ),
    "stratified-kfold-too-many": (
        lambda: {"cv": StratifiedKFold(5)},
        ValueError,
        "n_splits must be between 2 and 4, .*got 5",
    ),
    "stratified-kfold-str": (
        lambda: {"cv": StratifiedKFold("3")},
        TypeError,
        "n_splits must be an integer, got '3'",
    ),
}
CALLS = {}

test_bad_input_is_refused = refusal_test(ARGUMENTS, CALLS)
