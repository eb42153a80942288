"""Small seeded problems, and the designs that suit them, in the library's words and in naive's."""

from dataclasses import dataclass
from functools import cached_property

import naive
import numpy as np

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    RebalancedLeaveOneOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    get_variant,
)
from knnccv._core.driver import validate_problem
from knnccv._core.luck.runs import draw_runs
from knnccv.designs import DESIGNS
from knnccv.sklearn._splitters import ByClass, Shares, StratifiedShuffle  # noqa: F401 - of splitters, not public

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
REGRESSION = [("regression", {"n_neighbors": 1}), ("regression", {"n_neighbors": 3})]


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


def problem(seed, most=7):
    """4 to 7 samples of 2 to 4 classes; asymmetric dissimilarities, with ties and duplicates in most."""
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(4, most + 1))
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


def groups_of(problem, seed):
    """2 to 5 groups of unequal sizes, their labels in no order."""
    rng = np.random.default_rng([seed, 1])
    n_items = len(problem.y)
    n_groups = int(rng.integers(2, min(5, n_items) + 1))
    groups = rng.integers(0, n_groups, n_items)
    groups[rng.permutation(n_items)[:n_groups]] = np.arange(n_groups)
    return np.array(list("dbeac"))[groups]


def makers(problem, seed):
    """Pairs of the library's design and a function of the labels that enumerates it for these samples."""
    rng = np.random.default_rng(seed)
    y = problem.y.tolist()
    n_items, counts = len(y), {c: y.count(c) for c in problem.classes}
    sizes = [1, n_items - 1, int(rng.integers(1, n_items))]
    pairs = [(Subsample(n), lambda y, n=n: naive.subsample(len(y), n)) for n in sizes]
    p = int(rng.integers(1, n_items))
    pairs.append((LeaveOut(p), lambda y: naive.leave_out(len(y), p)))
    k = int(rng.integers(2, n_items + 1))
    pairs.append((KFold(k), lambda y: naive.kfold(len(y), k)))
    largest = max(counts.values())
    if largest >= 2:
        folds = int(rng.integers(2, largest + 1))
        pairs.append((StratifiedKFold(folds), lambda y: naive.stratified_kfold(y, folds)))
    taken = {c: int(rng.integers(0, count + 1)) for c, count in counts.items()}
    if 0 < sum(taken.values()) < n_items:
        pairs.append((StratifiedSubsample(per_class=taken), lambda y: naive.stratified(y, taken)))
    if min(counts.values()) >= 2:
        pairs.append((StratifiedSubsample(0.5), lambda y: naive.stratified(y, shares(y, 0.5))))
    return pairs


def shares(y, share):
    """How many samples of each class train, if this share of them does; ValueError if none do."""
    sizes = {c: int(y.count(c) * share) for c in set(y)}
    if 0 in sizes.values():
        msg = "a class without training samples"
        raise ValueError(msg)
    return sizes


def designs(problem, seed):
    """Pairs of the library's design and its enumeration."""
    return [(design, make(problem.y.tolist())) for design, make in makers(problem, seed)]


def special_designs(problem, seed):
    """More pairs: groups that are left out, classes with one more sample, and one sample of every class."""
    rng = np.random.default_rng([seed, 2])
    y, groups = problem.y.tolist(), groups_of(problem, seed)
    n_items, counts = len(y), [y.count(c) for c in problem.classes]
    pairs = [
        (LeaveGroupsOut(groups, p), naive.leave_groups_out(groups, p)) for p in range(1, len(set(groups)))
    ]
    if min(counts) >= 2:
        listed = naive.stratified(y, {c: n - 1 for c, n in zip(problem.classes, counts, strict=True)})
        pairs.append((RebalancedLeaveOneOut(), listed))
    base = [int(rng.integers(0, n)) for n in counts]
    some = sorted(rng.permutation(len(counts))[: int(rng.integers(2, len(counts) + 1))].tolist())
    extra = int(rng.integers(1, len(some)))
    if sum(base) + extra < n_items:
        n_test = n_items - sum(base) - extra
        design = StratifiedShuffle("some", Shares(tuple(base), tuple(some), extra), n_test)
        alpha = dict(zip(problem.classes, base, strict=True))
        pairs.append((design, naive.one_more(y, alpha, [problem.classes[c] for c in some], extra)))
    return pairs


@dataclass(frozen=True)
class Question:
    """A score that the library computes and naive lists."""

    where: str
    D: np.ndarray
    y: np.ndarray
    rule: str
    parameters: dict
    design: object
    listed: naive.Design
    ties: str

    def ask(self, average="pooled", **more):
        """The library's answer."""
        asked = {"ties": self.ties, "average": average, "metric": "precomputed", "n_jobs": 1}
        return complete_cv(self.D, self.y, self.rule, self.design, **{**asked, **self.parameters, **more})

    @cached_property
    def scores(self):
        """Naive's scores of all samples by all training sets."""
        parameters = plain(self.parameters)
        return naive.scores(self.D, self.y, self.rule, self.listed, self.ties, **parameters)

    def known_as(self, average):
        """Naive's word for this average: each sample alike where one of every class is left out."""
        rebalanced = isinstance(self.design, RebalancedLeaveOneOut)
        return "item" if rebalanced and average == "pooled" else average

    @property
    def fixed(self):
        """Whether classes do not matter in the choice of training sets."""
        return isinstance(self.design, Subsample | LeaveOut | KFold | LeaveGroupsOut)

    @property
    def length(self):
        """At how many training samples the rule looks."""
        return naive.places(self.rule, self.parameters)

    def expected(self, average="pooled"):
        """Naive's answer."""
        return naive.total(self.scores, self.y, self.listed, self.known_as(average))


def smallest(listed):
    """The size of the smallest training set."""
    return min(len(training) for outcome in listed.outcomes for training in outcome)


def questions(seed, rules=SETTINGS, every=1, pairs=None, case=None):
    """All questions about one problem, or every few of them: each rule, design and tie rule.

    Seeds that follow each other meet other rules in every design.
    """
    case = problem(seed) if case is None else case
    targets = np.random.default_rng([seed, 3]).integers(-3, 4, (len(case.y), 2))
    if pairs is None:
        pairs = designs(case, seed) + special_designs(case, seed)
    for d, (design, listed) in enumerate(pairs):
        for s, (rule, setting) in enumerate(rules):
            if (s + d + seed) % every or setting.get("n_neighbors", 1) > smallest(listed):
                continue
            y = case.y
            if rule == "regression":
                y = targets if seed % 2 else targets[:, 0]
            for ties in get_variant(rule).tie_rules:
                where = f"seed {seed}: {rule} {setting} {design} {ties}"
                found = Question(
                    where, case.distances, y, rule, case.parameters(setting), design, listed, ties
                )
                if found.fixed or rule != "regression":
                    yield found


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


def drawn_folds(design, y, n_runs, seed, variant="nn"):
    """The fold that tests every sample in the runs that the library draws from this seed."""
    problem = validate_problem(y, len(y), variant, design, None, "pooled", {})
    return draw_runs(problem, n_runs, np.random.default_rng(seed)).all_folds()


def copies(n_items, n_points, n_classes=3, seed=0):
    """Rows that are copies of a few points, in no order, with labels that are unequally many."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (n_points, 2)).astype(float)
    points[:, 0] += np.arange(n_points) / 8  # distinct, and some are tied
    y = rng.choice(n_classes, n_items, p=np.arange(1, n_classes + 1) / sum(range(n_classes + 1)))
    y[:n_classes] = np.arange(n_classes)
    return points[rng.integers(0, n_points, n_items)], y


# tables of features on which search engines could go wrong


def grid(n_items=70, d=3, seed=0):
    return np.random.default_rng(seed).integers(-2, 3, (n_items, d)).astype(float)


def adversarial():
    rng = np.random.default_rng(0)
    yield "smooth", rng.normal(size=(1200, 3))
    yield "integer grid", rng.integers(0, 5, (1200, 3)).astype(float)
    yield "decimal grid", rng.integers(0, 40, (1200, 2)) * 0.1
    yield "far from the origin", 1e8 + rng.normal(size=(1200, 4))
    yield "huge offset", 1e15 + rng.integers(0, 50, (1200, 2))
    yield "duplicates", np.repeat(rng.normal(size=(240, 3)), 5, axis=0)
    yield "one heap", np.zeros((1200, 2))
    yield "tiny", rng.normal(size=(1200, 9)) * 1e-200
    yield "denormal", np.ldexp(rng.integers(0, 9, (1200, 2)).astype(float), -1074)
    yield "two clusters", np.concatenate([rng.normal(size=(1190, 2)), 1e12 + rng.normal(size=(10, 2))])
    yield "many features", rng.normal(size=(1200, 14))


def reference_order(D):
    """All other samples by (distance, index), by full sorts."""
    n_items = len(D)
    rows = [[j for j in np.argsort(D[x], kind="stable") if j != x] for x in range(n_items)]
    return np.array(rows)


def engine(near, depth):
    """Class name of the engine that serves lists of this depth; between two tables, after a search."""
    if hasattr(near, "engines"):
        return next(type(one).__name__ for one in near.engines if one.serves(depth))
    return type(near._engine(depth)).__name__


def by_brute_force(near):
    """The same neighbors, searched by brute force at every depth."""
    assert type(near._engines[-1]).__name__ == "BruteForce"
    near._engines = near._engines[-1:]
    return near
