"""Complete cross-validation of nearest-neighbor rules: the exact mean over all test/train splits.

Start with `complete_cv`. Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

_NAMES = {
    "": "datasets episodes hvdm plot reporting retrieval rib rivals selection sklearn testing",
    "_warmup": "warm",
    "bootstrap": "BootstrapScore bootstrap_score",
    "curves": "Surface loo_curve loo_identity surface",
    "designs": "Design KFold LeaveGroupsOut LeaveOut RebalancedLeaveOneOut StratifiedKFold "
    "StratifiedSubsample Subsample TrainingSets",
    "driver": "SlowComputationWarning",
    "inference": "Comparison Comparisons ConfidenceInterval InferenceWarning PredictionScores "
    "StandardError compare compare_all predictions_on",
    "influence": "Influence",
    "kernel": "Variant",
    "montecarlo": "MonteCarloCV PermutationTest ScreenedCV monte_carlo_cv permutation_test screened_cv",
    "neighbors": "Neighbors",
    "reporting": "Report report",
    "results": "CompleteCV SampledCV TieReport complete_cv",
    "runs": "SplitSpread",
    "tuning": "TunedScore tuned_score",
    "valuation": "ItemValues item_values",
    "variants": "get_variant register registered_variants unregister variant_names",
}
"""The public names by the file or package that has them; that of "" are packages themselves."""

_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_HOME, "__version__"])

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
        PredictionScores,
        StandardError,
        compare,
        compare_all,
        predictions_on,
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
    if name not in _HOME:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    home = importlib.import_module(f".{_HOME[name] or name}", __name__)
    value = getattr(home, name) if _HOME[name] else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
