"""What a variant is."""

from __future__ import annotations

import difflib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from .._typing import Array, Kernel
from ._signature import Constraints
from ._tables import Tables, Task


class Variant(ABC):
    """A nearest-neighbor rule: its kernels, and the numbers that they need.

    Subclass it, set `name`, at least one of the kernels, and `n_nearest`; see ``registry/README.md``.

    Attributes
    ----------
    name : str
        How users ask for it.
    parameters : mapping of str to object
        The names of its parameters with their defaults.
    target : str
        "classes", or "values" where y holds real numbers (`Labels.values`); then there are no strata.
    tie_rules : tuple of str
        Those of ``"index"`` and ``"random"`` that the kernels honor.
    heeds_extra : bool
        Whether the stratified kernel heeds ``constraints.extra``.
    fixed, stratified : kernel or None
        The kernels for training sets of one fixed size, and of a fixed size per class.
    """

    name: ClassVar[str]
    parameters: ClassVar[Mapping[str, Any]] = {}
    target: ClassVar[str] = "classes"
    tie_rules: ClassVar[tuple[str, ...]] = ("index",)
    heeds_extra: ClassVar[bool] = False
    fixed: ClassVar[Kernel | None] = None
    stratified: ClassVar[Kernel | None] = None

    @abstractmethod
    def n_nearest(self, **parameters: Any) -> int:
        """How many of the nearest training samples decide the score (K, R)."""

    def check(self, task: Task, **parameters: Any) -> None:  # noqa: B027 (most rules have nothing to check)
        """Raise ValueError or TypeError if the parameters do not suit these training sets."""

    def check_targets(self, values: Array, **parameters: Any) -> None:  # noqa: B027
        """Raise ValueError or TypeError if they do not suit the targets, (n_items, n_outputs)."""

    def largest_score(self, **parameters: Any) -> float:
        """The largest absolute score that one classification can have."""
        return 1.0

    def range_is_exact(self, n_classes: int, **parameters: Any) -> bool:
        """Whether right samples first, among equally similar ones, can only raise the score, for any T."""
        return self.n_nearest(**parameters) == 1

    def largest_for(self, values: Array, **parameters: Any) -> float:
        """`largest_score` where it depends on the targets, `values` of shape (n_items, n_outputs)."""
        return self.largest_score(**parameters)

    def measure(self, **parameters: Any) -> str:
        """What the score is, for people to read, such as "top-2 accuracy".

        What contains the word "accuracy" is a share of right answers. Of a surface the number of neighbors
        is "K", or "R" for a `rank`. By default "expected loss" where there is a `loss`, else "score".
        """
        return "expected loss" if parameters.get("loss") is not None else "score"

    def over_kinds(
        self,
        scores: Array,
        weights: Array,
        ask: Callable[..., Array],
        n_outputs: int,
        **parameters: Any,
    ) -> Array:
        """The scores of several kinds of training sets, as their weighted mean should take them.

        For rules whose score over all training sets is no mean of that over each kind (folds that differ in
        size), such as a variance. Where several groups are left out there is one kind, and the kernel has
        been asked of one training set at a time: `scores` are the means over these.

        Parameters
        ----------
        scores : ndarray of shape (n_kinds, n_items)
            What the kernels found; Fractions in exact mode.
        weights : ndarray of shape (n_kinds, n_items)
            What the kinds count for a sample; they sum to 1 over the kinds.
        ask : callable
            ``ask(**parameters)`` gives the scores, (n_kinds, n_items), under other parameters.
        n_outputs : int
            How many real targets a sample has.
        **parameters
            The variant's.

        Returns
        -------
        ndarray of shape (n_kinds, n_items)
            `scores` by default.
        """
        return scores

    def profile(self, **parameters: Any) -> str:
        """The profile of the data from which `knnccv.surface` weighs the score, if one serves the rule.

        "votes": a plurality of K votes, ties to the smallest label. "rank": right if the class is among
        the R nearest. "" (the default): none; a surface calls the kernels. A subclass does not inherit
        this: where it does not define `profile` itself, its kernels are called.
        """
        return ""

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The numbers that the kernel needs, as ``task.number``."""
        return Tables()

    def settings(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with their defaults filled in.

        Raises
        ------
        TypeError
            If one is not known.
        """
        unknown = sorted(set(parameters) - set(self.parameters))
        if unknown:
            allowed = ", ".join(self.parameters) or "none"
            closest = difflib.get_close_matches(unknown[0], self.parameters, n=1)
            hint = f"; did you mean {closest[0]!r}?" if closest else ""
            if unknown[0] == "p":
                hint = "; a metric's go into metric_params"
            msg = f"variant {self.name!r} has no parameter {unknown[0]!r}; it takes: {allowed}{hint}"
            raise TypeError(msg)
        return {**self.parameters, **parameters}

    def kernel_for(self, task: Task) -> Kernel:
        """The kernel that serves these training sets.

        Raises
        ------
        ValueError
            If the variant has none.
        """
        kernel = _unbound(type(self), "stratified" if task.stratified else "fixed")
        if kernel is None:
            kind = "stratified" if task.stratified else "fixed-size"
            other = "Subsample, KFold or LeaveOut" if task.stratified else "a stratified design"
            msg = f"variant {self.name!r} has no kernel for {kind} training sets; try {other}"
            raise ValueError(msg)
        if task.n_extra and not self.heeds_extra:
            msg = (
                f"variant {self.name!r} has no kernel for classes that get one training sample more by lot"
            )
            raise ValueError(msg)
        return kernel

    def light_kernel(self, task: Task, constraints: Constraints) -> Kernel | None:
        """A kernel that compiles faster and answers infinity where `kernel_for`'s must be asked, if any."""
        return None

    def __repr__(self) -> str:
        name = getattr(self, "name", None)
        return f"<variant {name!r}: {type(self).__module__}.{type(self).__qualname__}>"

    def kernels(self) -> list[Kernel]:
        """The kernels that the variant has."""
        both = (_unbound(type(self), name) for name in ("fixed", "stratified"))
        return [kernel for kernel in both if kernel is not None]


def profile_of(variant: Variant, parameters: Mapping[str, Any]) -> str:
    """`Variant.profile`, if the variant's own class defines it."""
    return variant.profile(**parameters) if "profile" in vars(type(variant)) else ""


def _unbound(owner: type, name: str) -> Kernel | None:
    """The kernel itself; getattr on an instance would bind a plain function as a method."""
    found: Kernel | None = inspect.getattr_static(owner, name)
    return found.__func__ if isinstance(found, staticmethod) else found
