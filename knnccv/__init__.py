"""Complete cross-validation of nearest-neighbor rules: the exact mean over all test/train splits.

Start with `complete_cv`. Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

_NAMES = {
    "": "datasets episodes hvdm plot reporting retrieval rib selection sklearn testing",
    "_warmup": "warm",
    "bootstrap": "BootstrapScore bootstrap_score",
    "curves": "Surface loo_curve surface",
    "designs": "Design KFold LeaveGroupsOut LeaveOut RebalancedLeaveOneOut StratifiedKFold "
    "StratifiedSubsample Subsample TrainingSets",
    "driver": "SlowComputationWarning",
    "inference": "Comparison Comparisons ConfidenceInterval InferenceWarning PredictionScores "
    "StandardError compare compare_all predictions_on",
    "influence": "Influence",
    "kernel": "Variant",
    "montecarlo": "PermutationTest ScreenedCV monte_carlo_cv permutation_test screened_cv",
    "neighbors": "Neighbors",
    "reporting": "Report report",
    "results": "CompleteCV SampledCV TieReport complete_cv",
    "runs": "ScoredRuns SplitSpread",
    "tuning": "TunedScore tuned_score",
    "valuation": "ItemValues item_values",
    "variants": "get_variant register registered_variants unregister variant_names",
}
"""The public names by the file or package that has them; that of "" are packages themselves."""

_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_HOME, "__version__"])

if TYPE_CHECKING:  # `as` exports a name to type checkers
    from . import datasets as datasets
    from . import episodes as episodes
    from . import hvdm as hvdm
    from . import plot as plot
    from . import reporting as reporting
    from . import retrieval as retrieval
    from . import rib as rib
    from . import selection as selection
    from . import sklearn as sklearn
    from . import testing as testing
    from ._warmup import warm as warm
    from .bootstrap import BootstrapScore as BootstrapScore
    from .bootstrap import bootstrap_score as bootstrap_score
    from .curves import Surface as Surface
    from .curves import loo_curve as loo_curve
    from .curves import surface as surface
    from .designs import Design as Design
    from .designs import KFold as KFold
    from .designs import LeaveGroupsOut as LeaveGroupsOut
    from .designs import LeaveOut as LeaveOut
    from .designs import RebalancedLeaveOneOut as RebalancedLeaveOneOut
    from .designs import StratifiedKFold as StratifiedKFold
    from .designs import StratifiedSubsample as StratifiedSubsample
    from .designs import Subsample as Subsample
    from .designs import TrainingSets as TrainingSets
    from .driver import SlowComputationWarning as SlowComputationWarning
    from .inference import Comparison as Comparison
    from .inference import Comparisons as Comparisons
    from .inference import ConfidenceInterval as ConfidenceInterval
    from .inference import InferenceWarning as InferenceWarning
    from .inference import PredictionScores as PredictionScores
    from .inference import StandardError as StandardError
    from .inference import compare as compare
    from .inference import compare_all as compare_all
    from .inference import predictions_on as predictions_on
    from .influence import Influence as Influence
    from .kernel import Variant as Variant
    from .montecarlo import PermutationTest as PermutationTest
    from .montecarlo import ScreenedCV as ScreenedCV
    from .montecarlo import monte_carlo_cv as monte_carlo_cv
    from .montecarlo import permutation_test as permutation_test
    from .montecarlo import screened_cv as screened_cv
    from .neighbors import Neighbors as Neighbors
    from .reporting import Report as Report
    from .reporting import report as report
    from .results import CompleteCV as CompleteCV
    from .results import SampledCV as SampledCV
    from .results import TieReport as TieReport
    from .results import complete_cv as complete_cv
    from .runs import ScoredRuns as ScoredRuns
    from .runs import SplitSpread as SplitSpread
    from .tuning import TunedScore as TunedScore
    from .tuning import tuned_score as tuned_score
    from .valuation import ItemValues as ItemValues
    from .valuation import item_values as item_values
    from .variants import get_variant as get_variant
    from .variants import register as register
    from .variants import registered_variants as registered_variants
    from .variants import unregister as unregister
    from .variants import variant_names as variant_names


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
