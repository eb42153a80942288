"""`Variant`, the base class of every nearest-neighbor rule, built in or from a plugin, and its `Score`."""

from __future__ import annotations

import difflib
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._base.typing import Array, Kernel
from .._base.validation import check
from ._signature import BY_DISTANCE, DECIDES, Tables, Task

MEMBERS = {
    "": ("fixed", "stratified"),
    BY_DISTANCE: ("fixed_by_distance", "stratified_by_distance"),
    DECIDES: ("decide",),
}
"""The members of a variant that are functions, by their form."""


@dataclass(frozen=True)
class Score:
    """What the score of one classification is, see `Variant.score`. By default an accuracy.

    Attributes
    ----------
    name : str
        The name in results, reports and plots, such as "top-2 accuracy".
    low, high : float
        The smallest and the largest score of one classification. They choose the confidence interval:
        Wilson's for finite ones, Hall's if `low` alone is finite, and Wald's if both are infinite.
    is_loss : bool or None
        Whether smaller scores are better. None: neither smaller nor larger ones are, as of a prediction.
    is_share : bool
        Whether the score is the share of correct answers.
    is_mean : bool
        Whether the score over many training sets is the mean of the scores of each; a variance is not.
    monotone : float
        The largest number of classes for which a right sample that comes nearer never makes the score
        worse, infinity for any. The two ends of `CompleteCV.tie_report` are then exact; they always are for
        one neighbor.
    largest : callable or None
        ``largest(values)``, the largest absolute score for targets of shape (n_items, n_outputs), where
        `low` or `high` is infinite. None: the squared diagonal of the box that holds all targets.

    Examples
    --------
    >>> from knnccv.kernel import Score
    >>> Score("error rate", is_loss=True).high
    1.0
    """

    name: str = "accuracy"
    low: float = 0.0
    high: float = 1.0
    is_loss: bool | None = False
    is_share: bool = False
    is_mean: bool = True
    monotone: float = 0
    largest: Callable[[Array], float] | None = None

    def __post_init__(self) -> None:
        """Refuse a range that is none."""
        check(self.low <= self.high, f"low must be at most high, got low={self.low} and high={self.high}")

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest score; None if there is no bound."""
        return None if math.isinf(self.low) and math.isinf(self.high) else (self.low, self.high)

    def largest_for(self, values: Array) -> float:
        """The largest absolute score of one classification for these targets."""
        end = max(abs(self.low), abs(self.high))
        if math.isfinite(end):
            return end
        msg = f"give the score {self.name!r} finite ends or largest=, got {self.low} to {self.high}"
        check(self.largest is not None or values.size, msg)
        return squared_diagonal(values) if self.largest is None else float(self.largest(values))


ACCURACY = Score(is_share=True)


def loss_score(loss: Any) -> Score:
    """The expected loss of a matrix."""
    matrix = np.asarray(loss, dtype=float)
    return Score("expected loss", float(matrix.min()), float(matrix.max()), is_loss=True)


def squared_diagonal(values: Array) -> float:
    """The largest squared error in the box that holds all targets, summed over the outputs."""
    spread = np.ptp(values, axis=0)
    return float((spread * spread).sum())


class Link(NamedTuple):
    """A kernel of a chain, see `Variant.chain`.

    ``kernel``
        A jitted function.
    ``tables``
        The tables that it reads; None for those of `Variant.tables`.
    ``form``
        "": a kernel as in `Variant.fixed`. `BY_DISTANCE`: as in `Variant.fixed_by_distance`. `JOINT`:
        ``kernel(order, labels, target, constraints, scores, tails)`` fills the scores, and the
        probabilities that the listed samples do not decide, for all tasks; all scores `NOT_SERVED` leave
        the sample to the next kernel.
    """

    kernel: Kernel
    tables: Tables | None = None
    form: str = ""


class Variant(ABC):
    """A nearest-neighbor rule: its kernels, and the numbers that they need.

    Subclass it, set `name`, at least one of the kernels or `decide`, and `n_nearest`; see
    ``registry/README.md``.

    Attributes
    ----------
    name : str
        The name by which users select it.
    parameters : mapping of str to object
        The names of its parameters with their defaults.
    target : str
        "classes", or "values" where y holds real numbers (`Labels.values`); then there are no strata.
    tie_rules : tuple of str
        The tie rules, of ``"index"`` and ``"random"``, that every kernel implements.
    heeds_extra : bool
        True if the stratified kernel reads ``constraints.extra``.
    fields : NamedTuple class or None
        The names of ``constraints.integers``: `tables` returns an instance as ``Tables(integers=...)``, the
        kernels read it by `read_as`. None leaves the integers without names and unchecked.
    fixed, stratified : kernel or None
        The kernels for training sets of one fixed size, and of a fixed size per class.
    fixed_by_distance, stratified_by_distance : kernel or None
        The same for rules that need distances: ``kernel(order, distances, labels, target, constraints)``,
        where ``distances`` (depth,) belong to ``order.items``. NaN means that this sample takes too long;
        it is then sampled with `decide`. They are used where `fixed` or `stratified` is None.
    decide : jitted function or None
        ``decide(items, distances, labels, target, constraints)`` returns the score of one training set:
        ``items`` int64 (k,) and ``distances`` float64 (k,) are its nearest samples, the nearest first.
        With it a score is estimated from random training sets where there is no kernel.

    Examples
    --------
    >>> from knnccv import Variant, get_variant
    >>> isinstance(get_variant("knn"), Variant)
    True
    """

    name: ClassVar[str]
    parameters: ClassVar[Mapping[str, Any]] = {}
    target: ClassVar[str] = "classes"
    tie_rules: ClassVar[tuple[str, ...]] = ("index",)
    heeds_extra: ClassVar[bool] = False
    fields: ClassVar[type[Any] | None] = None
    fixed: ClassVar[Kernel | None] = None
    stratified: ClassVar[Kernel | None] = None
    fixed_by_distance: ClassVar[Kernel | None] = None
    stratified_by_distance: ClassVar[Kernel | None] = None
    decide: ClassVar[Kernel | None] = None

    @abstractmethod
    def n_nearest(self, **parameters: Any) -> int:
        """The number of nearest training samples that decide the score (K, R)."""

    def radius(self, **parameters: Any) -> float | None:
        """The distance within which all training samples decide, for rules whose kernels see distances.

        Lists are then searched up to this distance, instead of to the `n_nearest`, and ties do not matter.
        Infinity: all samples are listed. None, the default: the `n_nearest` decide.
        """
        return None

    def check(self, task: Task, **parameters: Any) -> None:  # noqa: B027 (most rules have nothing to check)
        """Raise ValueError or TypeError if the parameters do not suit these training sets."""

    def check_targets(self, values: Array, **parameters: Any) -> None:  # noqa: B027
        """Raise ValueError or TypeError if the parameters do not suit the targets, (n_items, n_outputs)."""

    def for_classes(self, classes: Array, counts: Array, **parameters: Any) -> Mapping[str, Any]:
        """The parameters where some are given by label, such as weights of classes; unchanged by default.

        Called before `check`, which gets what is returned here, as do all other functions.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            The labels, sorted; the class codes are their places.
        counts : int64 ndarray of shape (n_classes,)
            The number of samples of every class.
        **parameters
            The variant's parameters.

        Returns
        -------
        mapping of str to object
            The parameters.
        """
        return parameters

    def score(self, **parameters: Any) -> Score:
        """What the score is, and how large it can be: a `Score`.

        By default the expected loss if there is a `loss`, a mean squared error for real targets, otherwise
        an accuracy.
        """
        loss = parameters.get("loss")
        if loss is not None:
            return loss_score(loss)
        if self.target == "values":
            return Score("mean squared error", high=math.inf, is_loss=True)
        return ACCURACY

    def over_kinds(
        self, scores: Array, weights: Array, ask: Callable[..., Array], n_outputs: int, **parameters: Any
    ) -> Array:
        """Correct the scores of several kinds of training sets before their weighted mean is taken.

        Some scores, such as a variance if the folds differ in size, are not the mean of the scores over
        each kind. A design that leaves out several groups has one kind: its
        kernel is called for one training set at a time, and `scores` are the means over these.

        Parameters
        ----------
        scores : ndarray of shape (n_kinds, n_items)
            The scores of the kernels; Fractions in exact mode.
        weights : ndarray of shape (n_kinds, n_items)
            The weight of every kind for a sample; the weights sum to 1 over the kinds.
        ask : callable
            ``ask(**parameters)`` returns the scores, (n_kinds, n_items), under other parameters.
        n_outputs : int
            The number of real targets of a sample.
        **parameters
            The variant's parameters.

        Returns
        -------
        ndarray of shape (n_kinds, n_items)
            `scores` by default.
        """
        return scores

    def profile(self, **parameters: Any) -> str:
        """The profile of the data from which `knnccv.surface` can compute the score without the kernels.

        "votes": a plurality of K votes, ties to the smallest label. "rank": correct if the class is among
        the R nearest. "error": the squared error of the mean of K targets, summed over the outputs.
        "share": the share of the K votes for the class. "brier": the Brier score of the shares. "" (the
        default): none; a surface calls the kernels. Subclasses do not inherit it: the kernels of a subclass
        are called unless it defines `profile` itself.
        """
        return ""

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The numbers that the kernel reads, of type ``task.number``."""
        return Tables()

    def settings(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with their defaults filled in.

        Raises
        ------
        TypeError
            If a parameter is not known.
        """
        unknown = sorted(set(parameters) - set(self.parameters))
        if unknown:
            allowed = ", ".join(self.parameters) or "none"
            closest = difflib.get_close_matches(unknown[0], self.parameters, n=1)
            hint = f"; did you mean {closest[0]!r}?" if closest else ""
            if unknown[0] == "p":
                hint = "; parameters of a metric go into metric_params"
            if unknown[0] == "groups":
                hint = "; pass LeaveGroupsOut(groups) as cv"
            msg = f"variant {self.name!r} has no parameter {unknown[0]!r}; it takes: {allowed}{hint}"
            raise TypeError(msg)
        return {**self.parameters, **parameters}

    def kernel_for(self, task: Task) -> Kernel:
        """The kernel for these training sets.

        Raises
        ------
        ValueError
            If the variant has none.
        """
        kernel = _unbound(type(self), "stratified" if task.stratified else "fixed")
        if kernel is None:
            raise ValueError(self._no_kernel(task))
        if task.n_extra and not self.heeds_extra:
            kind = "classes that get one extra training sample at random"
            msg = f"variant {self.name!r} has no kernel for {kind}"
            raise ValueError(msg)
        return kernel

    def _no_kernel(self, task: Task) -> str:
        kind = "stratified" if task.stratified else "fixed-size"
        if self.distance_kernel_for(task) is not None:
            return (
                f"variant {self.name!r} has a score, intervals and comparisons only, as it scores {kind} "
                "training sets by the distances, which are not known here; for the rest take a variant "
                "such as 'knn'"
            )
        if self.decision() is not None:
            return (
                f"variant {self.name!r} has no exact kernel for {kind} training sets; "
                "complete_cv(..., method='auto') estimates its score, by its function decide"
            )
        other = "Subsample, KFold or LeaveOut" if task.stratified else "a stratified design"
        return f"variant {self.name!r} has no kernel for {kind} training sets; try {other}"

    def distance_kernel_for(self, task: Task) -> Kernel | None:
        """The kernel that sees distances, for these training sets; None if there is none.

        `kernel_for` is used instead where it finds a kernel.
        """
        if task.n_extra and not self.heeds_extra:
            return None
        return _unbound(type(self), "stratified_by_distance" if task.stratified else "fixed_by_distance")

    def decision(self) -> Kernel | None:
        """The function `decide` itself, or None."""
        return _unbound(type(self), "decide")

    def needs_distances(self, **parameters: Any) -> bool:
        """Return True if a function that gets distances reads them, as it is assumed by default.

        Then neighbor lists without distances are refused.
        """
        return True

    def prepare_distances(self, distances: Array, **parameters: Any) -> Array | None:
        """Turn the distances of drawn training samples into what `decide` gets in their place.

        For rules that call a Python function of the distances: it is called once for many training sets.

        Parameters
        ----------
        distances : float64 ndarray of shape (n_draws, k)
            The distances of the k nearest training samples of every drawn training set, ascending.
        **parameters
            The variant's parameters.

        Returns
        -------
        ndarray of shape (n_draws, k), or None
            None, the default, leaves the distances as they are.
        """
        return None

    def prepares_distances(self, **parameters: Any) -> bool:
        """Return True if `prepare_distances` has something to do; by default if the class defines it."""
        return type(self).prepare_distances is not Variant.prepare_distances

    def chain(self, tasks: Sequence[Task], **parameters: Any) -> Sequence[Link]:
        """The kernels for these training sets, in the order in which they are tried.

        A sample for which a kernel returns `NOT_SERVED` goes to the next one; the last one serves all. So
        a kernel that is fast, or fast to compile, may leave rare cases to others.

        Parameters
        ----------
        tasks : sequence of Task
            One kind of training sets. Or all kinds of a design, at most 8, which differ in `n_train` alone:
            then only joint kernels are asked for. What they leave goes to the last kernel of every kind.
        **parameters
            The variant's parameters.

        Returns
        -------
        sequence of Link
            By default the kernel of `kernel_for`, or that of `distance_kernel_for` where there is no other;
            nothing for several tasks.

        Raises
        ------
        ValueError
            If the variant has no kernel.
        """
        if len(tasks) > 1:
            return ()
        by_distance = self.distance_kernel_for(tasks[0])
        if by_distance is not None and not is_blind(self, tasks[0]):
            return (Link(by_distance, form=BY_DISTANCE),)
        return (Link(self.kernel_for(tasks[0])),)

    def removals(self, task: Task, removed: int, **parameters: Any) -> Link | None:
        """A kernel for the score without each listed sample, with its tables, or None.

        ``kernel(order, labels, target, constraints, out)`` sets ``out[r]`` to the score of the target if
        the sample at position r did not exist, for every position whose sample is of the class `removed`;
        of any class if the task is not stratified, where `removed` is -1. It returns the score if a
        sample beyond the list did not exist, 0 if none can be there, or `NOT_SERVED`.

        Parameters
        ----------
        task : Task
            The training sets of the other samples: ``counts`` do not include the removed one.
        removed : int
            The class of the missing sample.
        **parameters
            The variant's parameters.
        """
        return None

    def __repr__(self) -> str:
        name = getattr(self, "name", None)
        return f"<variant {name!r}: {type(self).__module__}.{type(self).__qualname__}>"

    def compiled_functions(self) -> list[tuple[Kernel, str]]:
        """All kernels of the variant, and its function `decide`, each with its form."""
        found = ((_unbound(type(self), name), form) for form, names in MEMBERS.items() for name in names)
        return [(function, form) for function, form in found if function is not None]

    def kernels(self) -> list[Kernel]:
        """All kernels of the variant that see no distances."""
        return [function for function, form in self.compiled_functions() if not form]


def is_blind(variant: Variant, task: Task) -> bool:
    """Return True if the variant has a kernel for the task that sees no distances."""
    try:
        variant.kernel_for(task)
    except ValueError:
        return False
    return True


def chain_of(variant: Variant, tasks: Sequence[Task], parameters: Mapping[str, Any]) -> Sequence[Link]:
    """`Variant.chain`; that of the base class if a subclass overrides what the chain goes with."""
    if _goes_with("chain", type(variant)):
        return variant.chain(tasks, **parameters)
    return Variant.chain(variant, tasks, **parameters)


def removals_of(variant: Variant, task: Task, removed: int, parameters: Mapping[str, Any]) -> Link | None:
    """`Variant.removals`; None if a subclass overrides what the kernel goes with."""
    return variant.removals(task, removed, **parameters) if _goes_with("removals", type(variant)) else None


def _goes_with(special: str, owner: type[Variant]) -> bool:
    """Return True if no subclass overrides the kernels, the tables or K without this method."""
    homes = {
        name: next(i for i, base in enumerate(owner.__mro__) if name in vars(base))
        for name in (special, "fixed", "stratified", "kernel_for", "tables", "n_nearest")
    }
    return homes.pop(special) <= min(homes.values())


def profile_of(variant: Variant, parameters: Mapping[str, Any]) -> str:
    """`Variant.profile`, if the variant's own class defines it."""
    return variant.profile(**parameters) if "profile" in vars(type(variant)) else ""


def _unbound(owner: type, name: str) -> Kernel | None:
    """The kernel itself; getattr on an instance would bind a plain function as a method."""
    found: Kernel | None = inspect.getattr_static(owner, name)
    return found.__func__ if isinstance(found, staticmethod) else found
