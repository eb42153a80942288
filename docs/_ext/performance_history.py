"""The page "Performance history": what asv has recorded, commit by commit.

The folder of benchmarks is ``asv_benchmarks`` beside ``docs``, or what the variable ``KNNCCV_BENCHMARKS``
names. Its results are drawn into the page. Where asv and the repository are at hand as well, ``asv
publish`` writes its interactive pages into the folder ``performance`` of the site.
"""

import base64
import importlib.util
import io
import itertools
import json
import math
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

SECTIONS = {
    "Start-up": ("start_up.Import.track_import_seconds", "start_up.FirstResult.track_first_result_seconds"),
    "First call (cold)": ("start_up.Cold",),
    "Scores": ("kernels.Score", "kernels.Groups"),
    "Neighbors": ("neighbors",),
    "Surfaces": ("surface.Surface.time",),
    "Runs": ("runs.Runs.time_runs", "runs.Tuned"),
    "Retrieval": ("retrieval.Retrieval.time_scores",),
    "Size of the library": ("size",),
    "Values of scores": ("scores",),
}
"""What the page shows: headings, and how the names of their benchmarks begin."""

VALUES = "Values of scores"


class Commit(NamedTuple):
    """A commit on which something was measured."""

    hash: str
    date: datetime
    machine: str


class Case(NamedTuple):
    """A benchmark with one choice of parameters, and its value at each commit (NaN: not measured)."""

    benchmark: str
    parameters: tuple[str, ...]
    unit: str
    values: tuple[float, ...]

    @property
    def name(self):
        """The class of the benchmark, and the parameters."""
        chosen = ", ".join(text.strip("\"'") for text in self.parameters)
        return self.benchmark.split(".")[1] + (f": {chosen}" if chosen else "")

    @property
    def known(self):
        """The values that were measured."""
        return [value for value in self.values if not math.isnan(value)]

    @property
    def ratio(self):
        """The newest value divided by the oldest."""
        first, *_, last = 2 * self.known
        return last / first if first else math.nan


def benchmarks_folder(docs):
    """The folder with ``asv.conf.json`` and the results."""
    return Path(os.environ.get("KNNCCV_BENCHMARKS", Path(docs).resolve().parent / "asv_benchmarks"))


def read_history(results):
    """The commits of a results folder, oldest first, and all cases; two empty lists if there are none.

    If several machines have recorded results, the one that measured the newest commit is taken: times of
    different machines are not comparable. Results of an earlier version of a benchmark are left out, and so
    are cases that were measured once.
    """
    index = Path(results) / "benchmarks.json"
    if not index.is_file():
        return [], []
    known = json.loads(index.read_text(encoding="utf-8"))
    paths = [path for path in sorted(Path(results).glob("*/*.json")) if path.name != "machine.json"]
    runs = [json.loads(path.read_text(encoding="utf-8")) | {"machine": path.parent.name} for path in paths]
    if not runs:
        return [], []
    runs.sort(key=lambda run: run["date"])
    machine = runs[-1]["machine"]
    runs = [run for run in runs if run["machine"] == machine]
    commits = [
        Commit(run["commit_hash"], datetime.fromtimestamp(run["date"] / 1000, UTC), machine) for run in runs
    ]
    found = {}
    for number, run in enumerate(runs):
        for name, stored in run["results"].items():
            row = dict(zip(run["result_columns"], stored, strict=False))
            if name not in known or row.get("version") != known[name]["version"] or not row["result"]:
                continue
            cases = itertools.product(*row["params"])
            for parameters, value in zip(cases, row["result"], strict=True):
                values = found.setdefault((name, parameters), [math.nan] * len(runs))
                values[number] = math.nan if value is None else float(value)
    cases = [
        Case(name, parameters, known[name]["unit"], tuple(v)) for (name, parameters), v in found.items()
    ]
    return commits, [case for case in cases if len(case.known) > 1]


def by_section(cases):
    """The cases of each section, in the order of `SECTIONS`; other benchmarks are left out."""
    found = {
        title: sorted(case for case in cases if case.benchmark.startswith(names))
        for title, names in SECTIONS.items()
    }
    return {title: members for title, members in found.items() if members}


def quantity(value, unit):
    """A value with its unit, of three digits."""
    if unit != "seconds":
        return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    scale, shown = (1, "s") if value >= 1 else (1e-3, "ms")
    return f"{value / scale:.3g} {shown}"


def table(cases):
    """Rows (case, oldest value, newest value, their ratio)."""
    return [
        (case.name, *(quantity(case.known[at], case.unit) for at in (0, -1)), f"{case.ratio:.2f}")
        for case in cases
    ]


def picture(commits, cases):
    """The values over the commits, in equal distances, with a line where a day begins; an SVG as bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    places = range(len(commits))
    with mpl.rc_context({"svg.hashsalt": "knnccv", "font.size": 9}):
        figure = Figure(figsize=(8, 3.2), layout="constrained")
        axes = figure.subplots()
        for case in sorted(cases, key=lambda case: -case.known[-1]):
            measured = [
                (place, value) for place, value in zip(places, case.values, strict=True) if value > 0
            ]
            axes.plot(*zip(*measured, strict=True), "o-", markersize=3, linewidth=1.2, label=case.name)
        values = [value for case in cases for value in case.known if value > 0]
        low, high = min(values), max(values)
        if high > 4 * low:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_minor_formatter(lambda *_: "")
        else:
            axes.set_ylim(0, 1.15 * high)
        axes.yaxis.set_major_formatter(lambda value, _: quantity(value, cases[0].unit))
        axes.set_xticks(places, [commit.hash[:7] for commit in commits], rotation=60, ha="right")
        for place, commit in enumerate(commits):
            if not place or commit.date.date() != commits[place - 1].date.date():
                axes.axvline(place - 0.5, color="#cccccc", linewidth=0.8, zorder=0)
                at = {"xy": (place - 0.45, 1), "xycoords": ("data", "axes fraction")}
                axes.annotate(f"{commit.date:%m-%d}", **at, va="bottom", color="#666666")
        axes.set_xlim(-0.5, len(commits) - 0.5)
        axes.spines[["top", "right"]].set_visible(False)
        columns = 1 if max(len(case.name) for case in cases) > 40 else 3
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.06), ncols=columns, frameon=False)
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def can_publish(folder):
    """Return True if ``asv publish`` can run: it needs asv, the repository and results."""
    in_repository = (folder / "asv.conf.json").is_file() and (folder.parent / ".git").exists()
    installed = importlib.util.find_spec("asv") is not None
    return in_repository and installed and bool(read_history(folder / "results")[0])


def publish(app, error):
    """Write asv's own pages into the site."""
    folder = benchmarks_folder(app.srcdir)
    if error or app.builder.format != "html" or not can_publish(folder):
        return
    command = [sys.executable, "-m", "asv", "publish", "--no-pull"]
    command += ["--html-dir", str(Path(app.outdir, "performance").resolve())]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        from sphinx.util import logging

        logging.getLogger(__name__).warning("asv publish failed:\n%s", done.stdout + done.stderr)


def content(folder):
    """The page below its introduction, as docutils nodes."""
    from docutils import nodes

    commits, cases = read_history(folder / "results")
    if not commits:
        text = (
            "This site was built without recorded results. The folder asv_benchmarks of the repository has "
            "the benchmarks and explains how to record them."
        )
        return [nodes.note("", nodes.paragraph("", text))]
    first, last = commits[0], commits[-1]
    text = (
        f"{len(commits)} commits from {first.date:%Y-%m-%d} to {last.date:%Y-%m-%d}, recorded on "
        f"{first.machine}. Tables give the oldest and the newest value, and the newest divided by the "
        "oldest: below 1 is faster or smaller."
    )
    found = [nodes.paragraph("", text)]
    if can_publish(folder):
        link = (
            '<p><a href="performance/index.html">All benchmarks, interactively</a>, as asv shows them.</p>'
        )
        found.append(nodes.raw("", link, format="html"))
    for title, members in by_section(cases).items():
        section = nodes.section(ids=[nodes.make_id(f"history {title}")], names=[title])
        section += nodes.title("", title)
        if title == VALUES:
            changed = [case for case in members if case.known[0] != case.known[-1]]
            text = f"{len(changed)} of {len(members)} differ between the oldest and the newest commit."
            section += nodes.paragraph("", text)
            members = changed
        else:
            data = base64.b64encode(picture(commits, members)).decode()
            image = f'<img class="history" alt="{title}: values of {len(members)} cases by commit" '
            section += nodes.raw("", f'{image}src="data:image/svg+xml;base64,{data}">', format="html")
        if members:
            section += _table_node(("case", "oldest", "newest", "ratio"), table(members))
        found.append(section)
    return found


def _table_node(head, rows):
    """A table of plain texts; the first column is code."""
    from docutils import nodes

    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=4 if number == 0 else 1) for number in range(len(head))]
    parts = []
    for part, lines in ((nodes.thead(), [head]), (nodes.tbody(), rows)):
        for line in lines:
            row = nodes.row()
            for number, text in enumerate(line):
                code = number == 0 and part.tagname == "tbody"
                shown = nodes.literal(text, text) if code else nodes.Text(text)
                row += nodes.entry("", nodes.paragraph("", "", shown))
            part += row
        parts.append(part)
    group += parts
    return nodes.table("", group)


def setup(app):
    """Offer the directive ``performance-history``, which fills the page."""
    from sphinx.util.docutils import SphinxDirective

    class PerformanceHistory(SphinxDirective):
        """The recorded results, drawn."""

        def run(self):
            self.env.note_reread()
            return content(benchmarks_folder(self.env.srcdir))

    app.add_directive("performance-history", PerformanceHistory)
    app.connect("build-finished", publish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
