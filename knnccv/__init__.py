"""Complete cross-validation of nearest-neighbor rules: the exact mean over all test/train splits.

Start with `complete_cv`. Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

_HOME = {
    "BootstrapScore": "bootstrap",
    "Comparison": "inference",
    "Comparisons": "inference",
    "CompleteCV": "results",
    "ConfidenceInterval": "inference",
    "Design": "designs",
    "Influence": "influence",
    "InferenceWarning": "inference",
    "ItemValues": "valuation",
    "KFold": "designs",
    "LeaveGroupsOut": "designs",
    "LeaveOut": "designs",
    "MonteCarloCV": "montecarlo",
    "Neighbors": "neighbors",
    "PermutationTest": "montecarlo",
    "RebalancedLeaveOneOut": "designs",
    "Report": "reporting",
    "SampledCV": "results",
    "ScreenedCV": "montecarlo",
    "SlowComputationWarning": "driver",
    "SplitSpread": "runs",
    "StandardError": "inference",
    "StratifiedKFold": "designs",
    "StratifiedSubsample": "designs",
    "Subsample": "designs",
    "Surface": "curves",
    "TieReport": "results",
    "TrainingSets": "designs",
    "TunedScore": "tuning",
    "Variant": "kernel",
    "bootstrap_score": "bootstrap",
    "compare": "inference",
    "compare_all": "inference",
    "complete_cv": "results",
    "get_variant": "variants",
    "item_values": "valuation",
    "loo_curve": "curves",
    "loo_identity": "curves",
    "monte_carlo_cv": "montecarlo",
    "permutation_test": "montecarlo",
    "register": "variants",
    "registered_variants": "variants",
    "report": "reporting",
    "screened_cv": "montecarlo",
    "surface": "curves",
    "tuned_score": "tuning",
    "unregister": "variants",
    "variant_names": "variants",
    "warm": "_warmup",
}
_MODULES = (
    "datasets",
    "episodes",
    "hvdm",
    "plot",
    "reporting",
    "retrieval",
    "rib",
    "rivals",
    "selection",
    "sklearn",
    "testing",
)

__all__ = sorted([*_HOME, "__version__", *_MODULES])

if TYPE_CHECKING:
    from . import (
        datasets,
        episodes,
        hvdm,
        plot,
        reporting,
        retrieval,
        rib,
        rivals,
        selection,
        sklearn,
        testing,
    )
    from ._warmup import warm
    from .bootstrap import BootstrapScore, bootstrap_score
    from .curves import Surface, loo_curve, loo_identity, surface
    from .designs import (
        Design,
        KFold,
        LeaveGroupsOut,
        LeaveOut,
        RebalancedLeaveOneOut,
        StratifiedKFold,
        StratifiedSubsample,
        Subsample,
        TrainingSets,
    )
    from .driver import SlowComputationWarning
    from .inference import (
        Comparison,
        Comparisons,
        ConfidenceInterval,
        InferenceWarning,
        StandardError,
        compare,
        compare_all,
    )
    from .influence import Influence
    from .kernel import Variant
    from .montecarlo import (
        MonteCarloCV,
        PermutationTest,
        ScreenedCV,
        monte_carlo_cv,
        permutation_test,
        screened_cv,
    )
    from .neighbors import Neighbors
    from .reporting import Report, report
    from .results import CompleteCV, SampledCV, TieReport, complete_cv
    from .runs import SplitSpread
    from .tuning import TunedScore, tuned_score
    from .valuation import ItemValues, item_values
    from .variants import get_variant, register, registered_variants, unregister, variant_names


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
