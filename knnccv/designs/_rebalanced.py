"""Leave-one-out whose training sets have the same class counts, whichever sample is tested."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .._labels import EncodedLabels
from .._typing import Array
from ._base import Design, OneKind, TrainingSets


@dataclass(frozen=True)
class RebalancedLeaveOneOut(OneKind):
    """Leave out one sample of every class together, so that all training sets have the same class counts.

    A sample is tested by all training sets that leave out it and one sample of every other class.

    Raises
    ------
    ValueError
        When it is used: if a class has fewer than two samples.

    Notes
    -----
    Plain leave-one-out (`LeaveOut`) removes a sample from its own class alone: in its training set this
    class is rarer than where a sample of another class is tested. A rule that leans to the frequent class
    is then wrong more often than by chance: with two classes of equal size and features that say nothing,
    the majority vote of all training samples is wrong about every sample. Here a class has N_c - 1 samples
    in every training set, so that its frequency tells nothing about the tested sample.

    This is `StratifiedSubsample` with ``per_class`` N_c - 1, except that ``average="pooled"``, like "item",
    gives all samples equal weight, as in leave-one-out. (A split tests one sample of every class, so that
    splits would give the classes equal weight; this is ``average="class"``.)

    Austin, Pe'er & Korem, "Distributional bias compromises leave-one-out cross-validation", Science
    Advances 11, 2025 (rebalanced leave-one-out, with one training set for each tested sample; here the
    exact mean over all of them).

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv import LeaveOut, RebalancedLeaveOneOut, complete_cv
    >>> noise, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    >>> for design in (LeaveOut(1), RebalancedLeaveOneOut()):
    ...     print(round(complete_cv(noise, y, "knn", design, n_neighbors=37).score, 3))
    0.275
    0.513
    """

    stratifies = True
    example = ""
    depends_on = "counts"

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return one kind, with the classes as strata."""
        counts = tuple(int(count) for count in labels.counts)
        for name, count in zip(labels.classes.tolist(), counts, strict=True):
            if count == 1:
                msg = (
                    "rebalanced leave-one-out needs at least two samples of every class, but class "
                    f"{name!r} has one"
                )
                raise ValueError(msg)
        n_train = tuple(max(count - 1, 0) for count in counts)  # a half may have none of a class
        return (TrainingSets(Fraction(1), n_train, counts, stratified=True),)

    def item_weights(self, labels: EncodedLabels, average: Any) -> tuple[tuple[Fraction, ...], ...] | None:
        """Return equal weights of all samples for "pooled"."""
        if average != "pooled":
            return None
        n_items = int(labels.counts.sum())
        return (tuple(Fraction(1, n_items) for _ in labels.counts),)

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:  # noqa: ARG002
        """Return the same design: it leaves out one sample of every class of the half."""
        return self

    def in_words(self) -> str:
        """Return the design in words."""
        return "leave one sample of every class out"
