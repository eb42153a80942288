"""The pictures of the page: Vega-Lite specifications, written with altair from the answer's numbers.

Names that come from the data are values of the pictures and never fields of them. Colors come from the
page's style: a series has the number of its color, and the page's script gives the colors of light or dark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._charts import Picture
from ._curve_charts import learning_chart, leave_one_out_chart, settings_chart
from ._score_charts import confusion_chart, parts_chart, scores_chart, ties_chart, tuned_chart


def draw_pictures(answer: dict[str, Any]) -> dict[str, Picture]:
    """The pictures of an answer, by name; those that do not apply are left out.

    Raises
    ------
    ImportError
        If altair is missing.
    """
    drawings: dict[str, Callable[[dict[str, Any]], Picture | None]] = {
        "scores": scores_chart,
        "settings": settings_chart,
        "tuned": tuned_chart,
        "learning": learning_chart,
        "confusion": confusion_chart,
        "ties": ties_chart,
        "parts": parts_chart,
        "loo": leave_one_out_chart,
    }
    pictures = {name: draw(answer) for name, draw in drawings.items()}
    return {name: picture for name, picture in pictures.items() if picture is not None}
