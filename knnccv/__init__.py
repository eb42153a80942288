"""Complete cross-validation of nearest-neighbour rules: the exact mean over all test/train splits.

Start with `complete_cv`. Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "CompleteCV": "result",
    "Design": "designs",
    "KFold": "designs",
    "LeaveGroupsOut": "_groups",
    "LeaveOut": "designs",
    "MonteCarloCV": "result",
    "Neighbors": "neighbors",
    "ScreenedCV": "_screened",
    "SlowComputationWarning": "_cost",
    "StratifiedKFold": "designs",
    "StratifiedSubsample": "designs",
    "Subsample": "designs",
    "Surface": "_surface_result",
    "TieReport": "_ties",
    "TrainingSets": "designs",
    "Variant": "kernel",
    "complete_cv": "driver",
    "get_variant": "variants",
    "loo_curve": "_loo",
    "loo_identity": "_loo",
    "monte_carlo_cv": "montecarlo",
    "register": "variants",
    "registered_variants": "variants",
    "screened_cv": "_screened",
    "surface": "_surface",
    "unregister": "variants",
    "variant_names": "variants",
    "warm": "_warm",
}
_MODULES = ("datasets", "hvdm", "plot", "rib", "sklearn", "testing")

__all__ = sorted([*_HOME, "__version__", *_MODULES])

if TYPE_CHECKING:
    from . import datasets, hvdm, plot, rib, sklearn, testing
    from ._cost import SlowComputationWarning
    from ._groups import LeaveGroupsOut
    from ._loo import loo_curve, loo_identity
    from ._screened import ScreenedCV, screened_cv
    from ._surface import surface
    from ._surface_result import Surface
    from ._ties import TieReport
    from ._warm import warm
    from .designs import (
        Design,
        KFold,
        LeaveOut,
        StratifiedKFold,
        StratifiedSubsample,
        Subsample,
        TrainingSets,
    )
    from .driver import complete_cv
    from .kernel import Variant
    from .montecarlo import monte_carlo_cv
    from .neighbors import Neighbors
    from .result import CompleteCV, MonteCarloCV
    from .variants import (
        get_variant,
        register,
        registered_variants,
        unregister,
        variant_names,
    )


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
