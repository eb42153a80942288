"""`report`, the public function, its result, and its stages under one bar of progress."""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba.core import event

from .._base import __version__
from .._base.files import written_whole
from .._base.formatting import plain
from .._base.labels import single_class
from .._base.parallel import Bar, one_bar, shared_bar
from .._base.validation import check, check_choice, check_integer
from .._core.driver import AVERAGES
from .._core.luck.inference import check_level
from .._core.luck.scorings import check_precision
from ..designs import Subsample
from ..kernel import COMPILES
from ..neighbors import CopiesWarning
from ._errors import classes_section, in_words, items_section, ties_section
from ._facts import data_section, method_section
from ._scores import checked_scorings, learning_section, regression_section, scores_section
from ._settings import choose_setting, tuned_section
from ._study import Study, smallest_without, studied
from ._table import Table, read_input
from ._text import SCALED, USUAL_SCALINGS, quoted

SECTIONS = (
    "data", "tuned", "scores", "settings", "learning", "classes", "items", "ties", "regression", "method",
)  # fmt: skip
"""In the order of the page."""
ENDINGS = (".html", ".htm", ".json")
"""Of the files that `Report.save` writes."""


class Report:
    """Everything that `report` found out, as a dictionary and as one page of HTML.

    Made by `report`. In a notebook it shows itself.

    Examples
    --------
    >>> from knnccv import report
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> page = report(wine.X, wine.y)
    >>> page.to_html()[:15]
    '<!DOCTYPE html>'
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def to_dict(self) -> dict[str, Any]:
        """Return every number on the page, in the types that JSON has; None where there is no value."""
        copy: dict[str, Any] = plain(self._content)
        return copy

    def to_html(self) -> str:
        """Return the page: one HTML document that loads nothing.

        Raises
        ------
        ImportError
            If jinja2 or altair is missing: ``pip install "knnccv[report]"``.
        """
        from ._page import render_page

        return render_page(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file. An existing file is replaced as a whole, or not at all.

        Parameters
        ----------
        path : path
            The file. It ends in ``.html`` or ``.htm``, or in ``.json`` for `to_dict` as JSON.

        Raises
        ------
        ValueError
            If it has another ending.
        OSError
            If it cannot be written.
        ImportError
            As `to_html`.
        """
        target = Path(path)
        check_ending("path", target)
        as_json = target.suffix.lower() == ".json"
        text = json.dumps(self._content, indent=1, ensure_ascii=False) if as_json else self.to_html()
        with written_whole(target) as part:
            # UTF-8 has no halves of surrogate pairs; as escapes they mean the same in JSON.
            part.write_text(text, encoding="utf-8", errors="backslashreplace")

    def indices(self, reason: str | None = None) -> list[int]:
        """Return the numbers of all samples to look at, in ascending order, counted from 0.

        If more than 100,000 samples have the same reason, only the worst of them.

        Parameters
        ----------
        reason : str, optional
            Only samples with this reason, such as "never right". Default: those with any reason.

        Raises
        ------
        ValueError
            If no sample has this reason; the message lists those that occur.
        """
        found, task = self._content["items"]["indices"], self._content["task"]
        by_reason = {in_words(key, task): items for key, items in found.items() if items}
        if reason is None:
            return sorted(set().union(*by_reason.values()))
        known = ", ".join(map(repr, sorted(by_reason))) or "none"
        check(reason in by_reason, f"reason must be one of {known}", reason)
        return list(by_reason[reason])

    def _repr_html_(self) -> str:
        from ._page import render_summary

        return render_summary(self.to_dict())

    def __repr__(self) -> str:
        found = [self._content[name] for name in SECTIONS[:-1]]
        lines = [each["conclusion"] for each in found if each is not None]
        lines = [*self._content["data"]["warnings"], *lines]
        return "\n".join([f"<Report on {quoted(self._content['name'])}>", *lines])


def check_ending(name: str, path: Path) -> None:
    """Raise ValueError unless a path, the argument `name`, ends as a page or its numbers do."""
    must = f"{name} must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
    check(path.suffix.lower() in ENDINGS, must, str(path))


def report(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    groups: Any = None,
    train_size: int | float | None = None,
    n_neighbors: Any = None,
    average: str | None = None,
    scoring: Any = None,
    precision: float | None = None,
    scaling: Any = "all",
    confidence_level: float = 0.95,
    feature_names: Sequence[str] | None = None,
    categorical: Any = None,
    name: str = "data",
    max_items: int = 100_000,
    n_jobs: int | None = None,
    progress: Progress = False,
    random_state: int = 0,
) -> Report:
    """Report how well nearest neighbors predict a table: one page to look at, and all its numbers.

    It answers with exact scores: how good is the best and the default setting, which number of neighbors,
    scaling and metric, would more data help, which samples are trouble, and how far to trust this.

    Parameters
    ----------
    X : array or pandas.DataFrame of shape (n_items, n_features)
        At least 5 rows. Text and the category type of pandas are categories, truth values are the numbers 0
        and 1. Tables with categories or missing values (None, NaN) are measured by `HEOM` and `HVDM`.
    y : array of shape (n_items,)
        Class labels, or the numbers to predict. None may be missing.
    task : {"classification", "regression"}, optional
        Default: "regression" if y holds numbers that are not all whole, or more than 50 different numbers;
        otherwise "classification".
    groups : array of shape (n_items,), optional
        The group of every sample, such as its patient; at least two different ones. Samples of one group
        are tested together: every training set holds all samples of the other groups (`LeaveGroupsOut`).
    train_size : int or float, optional
        Training samples of the score, as `Subsample` takes them; any of the samples, whatever their
        classes. Default: 0.8 (that of `complete_cv`: five stratified folds); not with `groups`.
    n_neighbors : int or sequence of int, optional
        The K to compare. Default: 1 to 15, and 21 and 31 where they are at most a tenth of the
        training samples.
    average : {"pooled", "item", "class"}, optional
        What has equal weight in the score that chooses the setting: the samples (accuracy; the same for
        "pooled" and "item"), or the classes (balanced accuracy). Default: "class" if the largest class has
        more than twice as many samples as the others on average, otherwise "pooled".
    scoring : str or sequence of str, optional
        Names of scikit-learn's scorings, such as "f1_macro" or "r2", that the page also shows for the best
        setting (needs scikit-learn). Scorings of one class ("f1") are of the rarer of two classes
        if none of them is 1. Default: "f1" of the rarer class and "roc_auc" for two classes of which one
        has more than twice as many samples, if scikit-learn is there; otherwise none.
    precision : float, optional
        The wanted standard error of those by random runs, as in `knnccv.sklearn.expected_score`.
    scaling : {"all", None, "standard", "minmax", "maxabs", "robust"} or list of them, default "all"
        The scalings to compare, the default setting's first; "all" are None, "standard" and "minmax". Mixed
        tables are scaled by their distance.
    confidence_level : float, default 0.95
        Of all intervals.
    feature_names : sequence of str, optional
        Default: the columns of the data frame, or x0, x1, …
    categorical : sequence of column names or numbers, or bool mask, optional
        Columns whose numbers are names of categories.
    name : str, default "data"
        The title of the data.
    max_items : int, default 100,000
        Of more samples a random subsample of this size is reported on, which the page says. Large mixed
        tables, and large ones whose distances are often equal, are cut further.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use.
    progress : bool or callable, default False
        True shows a bar over the tasks of all stages (needs tqdm). A callable gets the name of the stage
        that begins, the number of stages done and the number of all stages; the name is empty at the end.
    random_state : int, default 0
        Seed of the subsamples, and of the random halves of intervals.

    Returns
    -------
    Report

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is allowed.

    Notes
    -----
    Scalings are fitted to all samples, without the labels. HVDM compares categories by the classes that
    they occur with. With groups it is fitted without each of them; otherwise its scores can be optimistic,
    and it is never chosen as the best.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = knnccv.report(wine.X, wine.y, name="wine", n_neighbors=[1, 5]).to_dict()
    >>> found["scores"]["best"]["scaling"], round(found["scores"]["default"]["score"], 3)
    ('standard', 0.692)
    """
    check_progress(progress)
    table = read_input(X, y, feature_names, categorical, groups)
    asked = Question(
        *(task, train_size, n_neighbors, average, scoring, precision, max_items, n_jobs, random_state),
        *(scaling, confidence_level),
    )
    found = report_on(table, name, asked, progress)
    if text := found.to_dict()["data"]["repeated_rows"]:
        warnings.warn(text, CopiesWarning, stacklevel=2)
    return found


class Question(NamedTuple):
    """What is asked of a table: the arguments of `report`, of the same names."""

    task: str | None = None
    train_size: int | float | None = None
    n_neighbors: Any = None
    average: str | None = None
    scoring: Any = None
    precision: float | None = None
    max_items: int = 100_000
    n_jobs: int | None = None
    random_state: int = 0
    scaling: Any = "all"
    confidence_level: float = 0.95


def report_on(given: Table, name: str, asked: Question, progress: Progress = False) -> Report:
    """As `report`, on a table that was read."""
    started = time.perf_counter()
    check_precision(asked.precision, None)
    whole = given.with_task(asked.task)
    table, cut = studied(whole, asked.max_items, asked.random_state)
    size = checked_size(asked.train_size, table)
    weighing = checked_average(asked.average, table)
    scalings, level = checked_scalings(asked.scaling, table), check_level(asked.confidence_level)
    study = Study(table, size, asked.n_jobs, asked.random_state, weighing, scalings, level)
    sections: dict[str, Callable[[Study], Any]] = {
        "data": partial(data_section, cut=cut, whole=whole),
        "settings": partial(choose_setting, wanted=checked_neighbors(asked.n_neighbors, size)),
        "scores": partial(
            scores_section, precision=asked.precision, wanted=checked_scorings(asked.scoring, study)
        ),
        "tuned": tuned_section,
        "learning": learning_section,
        "classes": classes_section,
        "items": items_section,
        "ties": ties_section,
        "regression": regression_section,
        "method": partial(method_section, started=started),
    }
    with warnings.catch_warnings(action="ignore", category=CopiesWarning):  # the page says it, and `report`
        found = run_stages({name: partial(section, study) for name, section in sections.items()}, progress)
    first = {"knnccv": __version__, "task": table.task, "name": str(name)}
    return Report(first | {section: found[section] for section in SECTIONS})


SHARE = 0.8
"""Of the samples that train, by default."""
SMALL_K = 15
LARGER_K = (21, 31)


def checked_size(train_size: int | float | None, table: Table) -> int:
    """The number of training samples; without one group, the smallest number.

    Raises
    ------
    ValueError, TypeError
        As `Subsample`; or if there are groups and a size.
    """
    if table.group_codes is not None:
        msg = f"leave out train_size: every group is tested once, got train_size={train_size} and groups"
        check(train_size is None, msg)
        return smallest_without(table.group_codes)
    design = Subsample(SHARE if train_size is None else train_size)
    (kind,) = design.training_sets(single_class(table.n_items))
    return int(kind.n_train[0])


def checked_neighbors(n_neighbors: Any, train_size: int) -> list[int]:
    """The K to compare, in ascending order.

    Raises
    ------
    ValueError, TypeError
        If one is not an integer from 1 to the training size.
    """
    if n_neighbors is None:
        most = max(train_size // 10, 1)
        larger = [k for k in LARGER_K if k <= most]
        return [*range(1, min(SMALL_K, train_size) + 1), *larger]
    given = [n_neighbors] if isinstance(n_neighbors, Integral) else list(np.ravel(n_neighbors).tolist())
    check(given, "n_neighbors must name at least one number of neighbors, got none")
    limit = "the number of training samples"
    return sorted({check_integer("n_neighbors", k, 1, train_size, limit) for k in given})


def checked_scalings(scaling: Any, table: Table) -> tuple[str | None, ...]:
    """The scalings to compare.

    Raises
    ------
    ValueError
        If one is unknown, or the table is mixed.
    """
    if isinstance(scaling, str) and scaling == "all":
        return USUAL_SCALINGS
    msg = f"leave out scaling={scaling!r}: the distance of tables with categories or gaps has its own"
    check(not table.is_mixed, msg)
    asked = scaling if isinstance(scaling, (list, tuple)) else [scaling]
    are_known = asked and all(one in [*SCALED] for one in asked)
    check(are_known, f"scaling must be 'all', or some of {', '.join(map(repr, SCALED))}", scaling)
    return tuple(dict.fromkeys(asked))


def checked_average(average: str | None, table: Table) -> str:
    """What has equal weight; by default the classes if they are unequal, otherwise the samples.

    Raises
    ------
    ValueError
        If it is not among `AVERAGES`, or a regression has no classes to weigh.
    """
    if average is None:
        return "class" if table.is_unequal else "pooled"
    check_choice("average", average, AVERAGES)
    msg = "leave out average='class': the task is regression, which has no classes"
    check(table.task != "regression" or average != "class", msg)
    return average


Hook = Callable[[str, int, int], None]
Progress = bool | Hook


def run_stages(stages: dict[str, Callable[[], Any]], progress: Progress) -> dict[str, Any]:
    """Run the stages one after the other, and return what each returns.

    Parameters
    ----------
    stages : dict of str to callable
        Their names and what they do.
    progress : bool or callable
        True shows a bar (needs tqdm): the name of the stage, and the tasks within all stages so far; a
        function that is compiled is a task as well, with a name. A callable gets the name of the stage that
        begins, the number of stages that are done and the number of all stages; at the end the name is
        empty.

    Raises
    ------
    ImportError
        If a bar is asked for and tqdm is missing.
    """
    found: dict[str, Any] = {}
    with _hook(progress) as hook:
        for name, step in stages.items():
            hook(name, len(found), len(stages))
            found[name] = step()
        hook("", len(stages), len(stages))
    return found


def check_progress(progress: Progress) -> None:
    """Raise TypeError unless `progress` is a bool or a callable."""
    must = "progress must be True, False or a callable of (stage, done, total)"
    check(isinstance(progress, bool) or callable(progress), must, progress, TypeError)


@contextlib.contextmanager
def _hook(progress: Progress) -> Iterator[Hook]:
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda _name, _done, _total: None
    else:
        with one_bar(progress, "task"):
            bar = shared_bar()
            assert bar is not None
            compilations = _Compilations(bar)

            def show(name: str, done: int, total: int) -> None:
                compilations.stage = f"{name} ({done + 1}/{total})" if name else f"{done}/{total}"
                bar.describe(compilations.stage)

            with event.install_listener(COMPILES, compilations):
                yield show


class _Compilations(event.Listener):
    """Shows that functions are compiled, each as a task of the bar."""

    def __init__(self, bar: Bar) -> None:
        self.stage = ""
        self._bar = bar
        self._depth = 0  # functions are compiled within others, by one thread at a time

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (Numba passes it)
        if self._depth == 0:
            self._bar.describe(f"{self.stage}, compiling")
        self._depth += 1
        self._bar.begin(1)

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self._depth -= 1
        self._bar.update()
        if self._depth == 0:
            self._bar.describe(self.stage)
