"""CMC curves of retrieval results, with bands for what random galleries scatter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from .._validation import check_integer
from ._canvas import EXACT_COLOR, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIELDS = ("scores", "cmc", "cmc_std", "rank")


def cmc(
    results: Any,
    ax: Axes | None = None,
    *,
    trials: Any = None,
    n_repeats: int | None = None,
    max_rank: int | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw cumulative match characteristics (CMC): the share of queries found by each rank.

    Parameters
    ----------
    results : Retrieval, or mapping of str to Retrieval
        The results of `knnccv.retrieval.expected_retrieval`; a mapping names their curves in a legend.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.
    trials : SampledRetrieval, or mapping of str to SampledRetrieval, optional
        The results of `knnccv.retrieval.sampled_retrieval`, under the names of `results`, for bands of
        plus and minus one standard deviation around the exact curves. Results without trials have no
        band.
    n_repeats : int, optional
        The bands are those of the mean of this many random galleries, such as 10. They need no `trials` if
        galleries are drawn anew for every query (`Retrieval.cmc_std`). Default: 1 with `trials`, no bands
        otherwise.
    max_rank : int, optional
        The last rank to draw. Default: all.
    **kwargs
        For ``Axes.plot``, of every curve.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    TypeError
        If a result, `trials` or `ax` has another type.
    KeyError
        If "cmc" is not among the scores of a result.
    ValueError
        If `results` is empty; `trials` names a result that is not there, or has fewer ranks; a number is
        below 1; or bands are wanted that need `trials`.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import knnccv
    >>> from knnccv.retrieval import Gallery, expected_retrieval
    >>> ids = np.arange(40) % 8
    >>> distances = np.random.default_rng(0).random((40, 40)) + 0.5 * (ids[:, None] != ids)
    >>> result = expected_retrieval(distances, ids, ids, Gallery(per_identity=1), max_rank=8)
    >>> axes = knnccv.plot.cmc(result, n_repeats=10)
    >>> axes.get_xlabel(), len(axes.lines[0].get_xdata())
    ('rank', 8)
    """
    named = isinstance(results, Mapping)
    curves: dict[str, Any] = {str(name): one for name, one in results.items()} if named else {"": results}
    if not curves:
        msg = "results must have at least one result"
        raise ValueError(msg)
    for one in curves.values():
        _check_result(one)
    sampled = _trials(trials, curves, named)
    if n_repeats is not None:
        n_repeats = check_integer("n_repeats", n_repeats, 1)
    last = None if max_rank is None else check_integer("max_rank", max_rank, 1)
    widths = {name: _width(name, one, sampled.get(name), n_repeats) for name, one in curves.items()}
    with canvas(ax) as axes:
        import matplotlib as mpl
        from matplotlib.ticker import MaxNLocator

        given = mpl.cbook.normalize_kwargs(dict(kwargs), mpl.lines.Line2D)
        shades = mpl.colormaps["viridis"](np.linspace(0, 0.88, len(curves)))
        for color, (name, one) in zip(
            shades if len(curves) > 1 else [EXACT_COLOR], curves.items(), strict=True
        ):
            curve = np.asarray(one.cmc)[:last]
            ranks = np.arange(1, len(curve) + 1)
            style = {"color": color, "marker": ".", "label": name or "expected CMC"} | given
            (line,) = axes.plot(ranks, curve, **style)
            width = widths[name]
            if width is not None:
                low, high = np.clip([curve - width[:last], curve + width[:last]], 0, 1)
                axes.fill_between(ranks, low, high, color=line.get_color(), alpha=0.18, lw=0)
        counted = {one.rank for one in curves.values()}
        axes.set_xlabel("rank (identities)" if counted == {"identity"} else "rank")
        axes.set_ylabel("share of queries found (CMC)")
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        banded = any(width is not None for width in widths.values())
        if named or banded:
            _legend(axes, (n_repeats or 1) if banded else 0)
    return axes


def _legend(axes: Axes, n_repeats: int) -> None:
    """The names of the curves, and of the bands if there are any."""
    from matplotlib.patches import Patch

    handles: list[Any] = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    if n_repeats:
        of = "one random gallery" if n_repeats == 1 else f"the mean of {n_repeats} random galleries"
        handles.append(Patch(color="gray", alpha=0.3, lw=0, label=f"± standard deviation of {of}"))
    axes.legend(handles=handles, loc="lower right", frameon=False, fontsize="small")


def _check_result(result: Any) -> None:
    missing = [name for name in FIELDS if not hasattr(type(result), name) and not hasattr(result, name)]
    if missing:
        msg = (
            "results must be a result of expected_retrieval, or a mapping of names to such results, such "
            "as {'ours': r, 'theirs': s}; "
            f"{type(result).__name__} has no {', '.join(missing)}"
        )
        raise TypeError(msg)


def _trials(trials: Any, curves: Mapping[str, Any], named: bool) -> dict[str, Any]:
    """Trials by the name of their result."""
    if trials is None:
        return {}
    if named and not isinstance(trials, Mapping):
        msg = f"trials must be a mapping with the names of the results, got {trials!r}"
        raise TypeError(msg)
    found = {str(name): one for name, one in trials.items()} if named else {"": trials}
    for name, one in found.items():
        if name not in curves:
            msg = f"trials must have the names of results ({', '.join(curves)}), got {name!r}"
            raise ValueError(msg)
        if not hasattr(one, "trials") or not hasattr(one, "std"):
            msg = f"trials must be a result of sampled_retrieval, got {one!r}"
            raise TypeError(msg)
    return found


def _width(name: str, result: Any, runs: Any, n_repeats: int | None) -> Array | None:
    """Half the width of a band at every rank, or None."""
    if runs is not None:
        deviation = np.asarray(runs.std("cmc")) / np.sqrt(n_repeats or 1)
        if len(deviation) < len(result.cmc):
            of = f" of {name!r}" if name else ""
            msg = f"trials{of} have {len(deviation)} ranks, the result has {len(result.cmc)}"
            raise ValueError(msg)
        return np.asarray(deviation[: len(result.cmc)])
    if n_repeats is None:
        return None
    return np.asarray(result.cmc_std(n_repeats))
