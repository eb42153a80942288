"""The output of the command ``retrieval``, as text or as JSON."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._formatting import bound_text
from .._training_set_count import magnitude
from .._version import __version__
from .score_answer import SAFE_INTEGER

if TYPE_CHECKING:
    from ..retrieval import Retrieval, SampledRetrieval
    from .retrieval_data import Question

SHOWN_RANKS = (1, 5, 10, 20)
MEAN_OF = 10
TIES = {"random": "averaged over all orders", "index": "in the order of the gallery"}


@dataclass(frozen=True, eq=False)
class Answer:
    """Exact scores, and what was asked for beside them."""

    question: Question
    exact: Retrieval
    args: argparse.Namespace
    seconds: float
    runs: SampledRetrieval | None = None
    compared: tuple[str, Retrieval] | None = None

    def as_json(self) -> dict[str, Any]:
        """The answer in types that JSON has; what is not defined is null."""
        question, exact, args = self.question, self.exact, self.args
        count = exact.n_galleries
        return {
            "knnccv": __version__,
            "data": question.name,
            "n_queries": question.near.n_queries,
            "n_gallery": question.near.n_gallery,
            "n_identities": len(np.unique(question.gallery_ids)),
            "metric": question.metric,
            "protocol": exact.protocol,
            "gallery": exact.gallery,
            "mask": exact.mask,
            "rank": exact.rank,
            "ap": exact.ap,
            "ties": exact.ties,
            "average": args.average,
            "max_rank": args.max_rank,
            "tol": args.tol,
            "n_scored": int(exact.valid.sum()),
            "left_out": exact.n_left_out,
            "tied": exact.tied,
            "certified": all(exact[name].certified for name in exact),
            "n_galleries": int(count) if count <= SAFE_INTEGER else str(count),
            "scores": {name: self._score_as_json(name) for name in exact},
            "cmc": plain(exact.cmc) if "cmc" in exact.scores else None,
            "cmc_std": self._deviation_as_json(),
            "sampled": self._sampled_as_json(),
            "comparison": self._compared_as_json(),
            "seconds": self.seconds,
        }

    def as_text(self) -> str:
        """The answer as lines of text."""
        question, exact = self.question, self.exact
        identities = len(np.unique(question.gallery_ids))
        measured = question.metric + " distance" if question.metric != "distances" else "given distances"
        lines = [
            (
                "Data",
                f"{question.name}: {question.near.n_queries} queries, {question.near.n_gallery} gallery "
                f"items of {identities} identities",
            ),
            ("", measured),
            ("Protocol", exact.protocol),
            ("Gallery", exact.gallery),
        ]
        if exact.n_galleries > 1:
            lines.append(("", f"{magnitude(exact.n_galleries)} different galleries, all of them averaged"))
        lines += [
            ("Mask", exact.mask),
            ("Ranks", f"of {'images' if exact.rank == 'image' else 'identities'}; AP: {exact.ap}"),
            ("", f"tied items {TIES[exact.ties]}; mean over {exact.average}"),
            ("Queries", f"{int(exact.valid.sum())} scored, {exact.n_left_out} left out (no right item)"),
        ]
        if exact.tied:
            lines.append(("", f"{exact.tied} have right and wrong items at equal distances"))
        for name in exact:
            lines += self._score_lines(name)
        lines += self._sampled_lines() + self._compared_lines()
        lines.append(("Time", f"{self.seconds:.2f} s"))
        return "\n".join(f"{name:<11}{text}" for name, text in lines)

    def _score_as_json(self, name: str) -> dict[str, Any]:
        found = self.exact[name]
        return {
            "score": plain(found.score),
            "error_bound": plain(found.error_bound),
            "standard_error": plain(self._luck(name)),
        }

    def _luck(self, name: str) -> Any:
        """The standard error over identities, or NaN."""
        return self.exact[name].standard_error if self.args.jackknife else math.nan

    def _deviation(self, n_repeats: int = 1) -> Any:
        """The exact deviation of a sampled CMC, or None where there is none."""
        known = self.exact.per_query and "cmc" in self.exact.scores
        return self.exact.cmc_std(n_repeats) if known else None

    def _deviation_as_json(self) -> dict[str, Any] | None:
        if self._deviation() is None:
            return None
        return {"of_one": plain(self._deviation()), "of_mean_of_ten": plain(self._deviation(MEAN_OF))}

    def _sampled_as_json(self) -> dict[str, Any] | None:
        if self.runs is None:
            return None
        runs = self.runs
        scores = {
            name: {
                "mean": plain(runs.mean(name)),
                "std_of_one": plain(runs.std(name)),
                "std_of_mean_of_ten": plain(runs.standard_error(name, MEAN_OF)),
            }
            for name in runs.trials
        }
        return {"n_repeats": self.args.repeats, "seed": self.args.seed, "scores": scores}

    def _compared_as_json(self) -> dict[str, Any] | None:
        if self.compared is None:
            return None
        other, theirs = self.compared
        scores = {}
        for name in self.exact:
            found = self.exact.difference(theirs, name)
            scores[name] = {
                "other_score": plain(theirs[name].score),
                "difference": plain(found.difference),
                "standard_error": plain(found.standard_error),
                "error_bound": plain(found.error_bound),
            }
        return {"data": other, "scores": scores}

    def _score_lines(self, name: str) -> list[tuple[str, str]]:
        found = self.exact[name]
        bound = f"error at most {bound_text(found.error_bound)}"
        if not found.certified:
            bound = "the lists are approximate: no bound of the error"
        if np.ndim(found.score) == 0:
            lines = [(name, f"{100 * found.score:.4f} %  {bound}")]
        else:
            lines = [(name, at_ranks(found.score, "{:.2f} %")), ("", bound)]
        if self._deviation() is not None and name == "cmc":
            one, ten = (100 * self._deviation(n)[0] for n in (1, MEAN_OF))
            lines.append(
                ("", f"rank-1 of one random gallery scatters by {one:.2f} points, of ten by {ten:.2f}")
            )
        if self.args.jackknife:
            luck = self._luck(name)
            shown = at_ranks(luck, "{:.2f}") if np.ndim(luck) else f"{100 * luck:.2f}"
            lines.append(("", f"standard error {shown} points for other identities (jackknife)"))
        return lines

    def _sampled_lines(self) -> list[tuple[str, str]]:
        if self.runs is None:
            return []
        lines = [("Sampled", f"{self.args.repeats} random galleries (seed {self.args.seed}), in points:")]
        for name in self.runs.trials:
            mean, one, ten = (
                100 * np.ravel(values)[0]
                for values in (
                    self.runs.mean(name),
                    self.runs.std(name),
                    self.runs.standard_error(name, MEAN_OF),
                )
            )
            shown = "rank-1" if name == "cmc" else name
            text = (
                f"{shown} mean {mean:.2f}; one gallery scatters by {one:.2f}, the mean of ten by {ten:.2f}"
            )
            lines.append(("", text))
        return lines

    def _compared_lines(self) -> list[tuple[str, str]]:
        if self.compared is None:
            return []
        other, theirs = self.compared
        lines = [("Compared", f"with {other}, in points (the first minus the second):")]
        for name in self.exact:
            found = self.exact.difference(theirs, name)
            shown = "rank-1" if name == "cmc" else name
            text = f"{shown} {100 * np.ravel(found.difference)[0]:+.2f}"
            error = np.ravel(found.standard_error)[0]
            if not math.isnan(error):
                text += f", standard error {100 * error:.2f} (jackknife over identities)"
            lines.append(("", text))
        return lines


def at_ranks(curve: Any, form: str) -> str:
    """The values of a curve at ranks 1, 5, 10 and 20, in percent."""
    ranks = [rank for rank in SHOWN_RANKS if rank <= len(curve)]
    return ", ".join(f"rank-{rank} {form.format(100 * curve[rank - 1])}" for rank in ranks)


def plain(value: Any) -> Any:
    """A number or a list of numbers of JSON; null for what is not finite."""
    if np.ndim(value):
        return [plain(one) for one in value]
    number = float(value)
    return number if math.isfinite(number) else None
