"""Small seeded problems, and the designs that suit them, in the library's words and in naive's."""

from dataclasses import dataclass
from fractions import Fraction

import naive
import numpy as np

from knnccv import KFold, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample, complete_cv
from knnccv.designs import DESIGNS
from knnccv.driver import validate_problem
from knnccv.runs import draw_runs

BUILT_IN = ["confidence", "knn", "nn", "rank", "regression"]  # whatever else happens to be installed
SETTINGS = [
    ("nn", {}),
    ("nn", {"loss": True}),
    ("knn", {"n_neighbors": 1}),
    ("knn", {"n_neighbors": 2}),
    ("knn", {"n_neighbors": 3}),
    ("knn", {"n_neighbors": 4}),
    ("knn", {"n_neighbors": 3, "loss": True}),
    ("knn", {"n_neighbors": 4, "vote_ties": "random"}),
    ("knn", {"n_neighbors": 2, "loss": True, "vote_ties": "random"}),
    ("confidence", {"n_neighbors": 1}),
    ("confidence", {"n_neighbors": 3}),
    ("confidence", {"n_neighbors": 2, "score": "brier"}),
    ("confidence", {"n_neighbors": 4, "score": "brier"}),
    ("confidence", {"n_neighbors": 3, "score": "log_loss"}),
    ("rank", {"rank": 1}),
    ("rank", {"rank": 2}),
    ("rank", {"rank": 4}),
]


@dataclass(frozen=True)
class Problem:
    distances: np.ndarray
    y: np.ndarray
    loss: np.ndarray

    @property
    def classes(self):
        return [int(c) for c in np.unique(self.y)]

    def parameters(self, setting):
        """The setting, with this problem's loss matrix where it asks for one."""
        return {name: self.loss if value is True else value for name, value in setting.items()}


def problem(seed):
    """4 to 7 samples of 2 to 4 classes; asymmetric dissimilarities, with ties and duplicates in most."""
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(4, 8))
    n_classes = int(rng.integers(2, 5))
    y = rng.integers(0, n_classes, n_items)
    y[:2] = [0, 1]
    kind = seed % 4
    if kind == 0:
        distances = rng.random((n_items, n_items))
    elif kind == 1:
        distances = rng.integers(0, 3, (n_items, n_items)).astype(float)
    elif kind == 2:
        points = rng.integers(0, 3, (n_items, 2))
        distances = np.abs(points[:, None] - points[None]).sum(axis=-1).astype(float)
    else:
        points = rng.normal(size=(n_items, 2))
        points[1] = points[0]  # a duplicate, of another class
        points[-1] = points[0]
        distances = np.abs(points[:, None] - points[None]).sum(axis=-1)
    n_classes = len(np.unique(y))
    loss = rng.integers(-2, 6, (n_classes, n_classes))
    return Problem(distances, y, loss)


def designs(problem, seed):
    """Pairs of the library's design and its enumeration."""
    rng = np.random.default_rng(seed)
    y = problem.y.tolist()
    n_items = len(y)
    counts = {c: y.count(c) for c in problem.classes}
    pairs = [(Subsample(size), naive.subsample(n_items, size)) for size in (1, n_items - 1)]
    size = int(rng.integers(1, n_items))
    pairs.append((Subsample(size), naive.subsample(n_items, size)))
    p = int(rng.integers(1, n_items))
    pairs.append((LeaveOut(p), naive.leave_out(n_items, p)))
    k = int(rng.integers(2, n_items + 1))
    pairs.append((KFold(k), naive.kfold(n_items, k)))
    largest = max(counts.values())
    if largest >= 2:
        k = int(rng.integers(2, largest + 1))
        pairs.append((StratifiedKFold(k), naive.stratified_kfold(y, k)))
    sizes = {c: int(rng.integers(0, count + 1)) for c, count in counts.items()}
    if 0 < sum(sizes.values()) < n_items:
        pairs.append((StratifiedSubsample(per_class=sizes), naive.stratified(y, sizes)))
    if min(counts.values()) >= 2:
        half = {c: count // 2 for c, count in counts.items()}
        pairs.append((StratifiedSubsample(0.5), naive.stratified(y, half)))
    return pairs


def one_of_each(groups):
    """A design of every class, with the arguments of its example; `groups` are those of the samples."""
    return [eval(f"kind({kind.example})", {"kind": kind, "groups": groups}) for kind in DESIGNS]


def plain(parameters):
    """Parameters as naive takes them: no arrays."""
    return {
        name: value.tolist() if hasattr(value, "tolist") else value for name, value in parameters.items()
    }


def blobs(seed, n_items, n_classes, spread=1.0, uneven=False):
    """Overlapping classes in three dimensions, each of two samples at least."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_classes)) if uneven else None
    y = rng.choice(n_classes, size=n_items, p=shares)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    return rng.normal(size=(n_items, 3)) + spread * rng.normal(size=(n_classes, 3))[y], y


def check_votes(seed, kinds):
    """Compare votes of every number of neighbors with the enumeration, in designs of these kinds."""
    case = problem(seed)
    for design, listed in designs(case, seed):
        if not isinstance(design, kinds):
            continue
        smallest = min(len(training) for outcome in listed.outcomes for training in outcome)
        for k in range(1, smallest + 1):
            inputs = case.distances.tolist(), case.y.tolist(), "knn", listed, "pooled", "index"
            expected = naive.complete(*inputs, n_neighbors=k)
            found = complete_cv(
                case.distances, case.y, "knn", design, metric="precomputed", ties="index", average="pooled",
                n_neighbors=k,
            )  # fmt: skip
            assert abs(Fraction(found.score) - expected) <= found.error_bound


def drawn_folds(design, y, n_runs, seed, variant="nn"):
    """The fold that tests every sample in the runs that the library draws from this seed."""
    problem = validate_problem(y, len(y), variant, design, None, "pooled", {})
    return draw_runs(problem, n_runs, np.random.default_rng(seed)).all_folds()
