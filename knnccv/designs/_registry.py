"""All designs, and the design that an argument `cv` stands for."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ._base import Design
from ._groups import LeaveGroupsOut
from ._splits import KFold, LeaveOut, RebalancedLeaveOneOut, StratifiedKFold, StratifiedSubsample, Subsample

DESIGNS: tuple[type[Design], ...] = (
    Subsample,
    StratifiedSubsample,
    KFold,
    StratifiedKFold,
    LeaveOut,
    RebalancedLeaveOneOut,
    LeaveGroupsOut,
)
"""All designs of the library. `Design` says what each tells about itself."""


def as_design(cv: Any, *, stratified: bool = True) -> Design:
    """Return the design that `cv` stands for: itself, or this number of folds.

    Raises
    ------
    TypeError, ValueError
        If `cv` is neither a design nor an integer.
    """
    if isinstance(cv, Design):
        return cv
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        return StratifiedKFold(int(cv)) if stratified else KFold(int(cv))
    if (cv if isinstance(cv, type) else type(cv)).__module__.startswith("sklearn."):
        msg = (
            f"cv is scikit-learn's {cv!r}; use knnccv's own design of that name, or "
            "knnccv.sklearn.expected_score(estimator, X, y, cv=...), which takes scikit-learn's"
        )
        raise TypeError(msg)
    names = ", ".join(design.__name__ for design in DESIGNS)
    msg = f"cv must be a number of folds or a design ({names}), got {_shown(cv)}"
    raise TypeError(msg)


def _shown(cv: Any) -> str:
    """The given object as text; for a class of designs, with an example of a design."""
    if not (isinstance(cv, type) and issubclass(cv, Design)):
        return repr(cv)
    example = f"{cv.__name__}({cv.example})"
    return f"the class {cv.__name__}; give one of its designs, such as {example}"
