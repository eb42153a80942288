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
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

TITLES = {
    "start_up": "Start-up",
    "kernels": "Kernels",
    "neighbors": "Neighbor search",
    "scaling": "Growth with the number of samples",
    "memory": "Memory",
    "peers": "Compared with other programs",
    "surface": "Surfaces",
    "rib": "Mixed tables",
    "scores": "Scores",
}
"""Headings for the files of benchmarks, in the order of the page; other files follow."""


class Commit(NamedTuple):
    """A commit on which something was measured."""

    hash: str
    date: datetime
    machine: str


class Case(NamedTuple):
    """A benchmark with one choice of parameters, and its value at each commit (NaN: not measured)."""

    benchmark: str
    parameters: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def ratio(self):
        """The newest value divided by the oldest, NaN if there are not two."""
        known = [value for value in self.values if not math.isnan(value)]
        if len(known) < 2:
            return math.nan
        if known[0] == known[-1]:
            return 1.0
        return known[-1] / known[0] if known[0] else math.inf


def benchmarks_folder(docs):
    """The folder with ``asv.conf.json`` and the results."""
    return Path(os.environ.get("KNNCCV_BENCHMARKS", Path(docs).resolve().parent / "asv_benchmarks"))


def read_history(results):
    """The commits of a results folder, oldest first, and all cases; two empty lists if there are none.

    If several machines have recorded results, the one with the most commits is taken. Results of an
    earlier version of a benchmark are left out.
    """
    index = Path(results) / "benchmarks.json"
    if not index.is_file():
        return [], []
    known = json.loads(index.read_text(encoding="utf-8"))
    machines = {}
    for path in sorted(Path(results).glob("*/*.json")):
        if path.name != "machine.json":
            one = json.loads(path.read_text(encoding="utf-8"))
            machines.setdefault(path.parent.name, []).append(one)
    if not machines:
        return [], []
    machine, runs = max(machines.items(), key=lambda item: len(item[1]))
    runs.sort(key=lambda run: run["date"])
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
    return commits, [Case(*key, tuple(values)) for key, values in found.items()]


def by_file(cases):
    """The cases of each file of benchmarks, in the order of `TITLES`."""
    files = {}
    for case in cases:
        files.setdefault(case.benchmark.split(".")[0], []).append(case)
    order = [*TITLES, *sorted(set(files) - set(TITLES))]
    return {name: files[name] for name in order if name in files}


def table(cases):
    """Rows (benchmark, number of cases, typical ratio, smallest, largest) of newest to oldest values."""
    rows = []
    for name, group in itertools.groupby(sorted(cases), key=lambda case: case.benchmark):
        members = list(group)
        ratios = [case.ratio for case in members if not math.isnan(case.ratio)]
        shown = ["", "", ""]
        if ratios:
            shown = [f"{number:.3g}" for number in (statistics.median(ratios), min(ratios), max(ratios))]
        rows.append((name.partition(".")[2], str(len(members)), *shown))
    return rows


def picture(commits, cases):
    """Values relative to each case's first one, over the commits; an SVG as bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    places = range(len(commits))
    with mpl.rc_context({"svg.hashsalt": "knnccv", "font.size": 9}):
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        axes = figure.subplots()
        relative = []
        for case in cases:
            first = next((value for value in case.values if value > 0), math.nan)
            relative.append([value / first if value > 0 else math.nan for value in case.values])
            axes.plot(places, relative[-1], color="#8fa9cc", linewidth=0.8, alpha=0.6)
        middle = [
            statistics.median(known) if (known := [v for v in column if not math.isnan(v)]) else math.nan
            for column in zip(*relative, strict=True)
        ]
        axes.plot(places, middle, "o-", color="#b3261e", markersize=3, linewidth=1.5)
        axes.set_yscale("log", base=2)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 0.7), max(high, 1.4))
        subdivisions = (1, 1.25, 1.5, 1.75) if high < 4 * low else (1,)
        axes.yaxis.set_major_locator(LogLocator(base=2, subs=subdivisions))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xticks(places, [commit.hash[:7] for commit in commits], rotation=60, ha="right")
        axes.set_ylabel("relative to the first commit")
        axes.spines[["top", "right"]].set_visible(False)
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
        f"{first.machine}. Thin lines are single cases (a benchmark with its parameters), the red line is "
        "their median. Tables give the newest value divided by the oldest: smaller is faster."
    )
    found = [nodes.paragraph("", text)]
    if can_publish(folder):
        link = (
            '<p><a href="performance/index.html">All benchmarks, interactively</a>, as asv shows them.</p>'
        )
        found.append(nodes.raw("", link, format="html"))
    for name, members in by_file(cases).items():
        title = TITLES.get(name, name)
        section = nodes.section(ids=[f"history-{name.replace('_', '-')}"], names=[name])
        section += nodes.title("", title)
        if name == "scores":
            changed = sum(case.ratio != 1 and not math.isnan(case.ratio) for case in members)
            text = f"{changed} of {len(members)} scores differ between the oldest and the newest commit."
            section += nodes.paragraph("", text)
        data = base64.b64encode(picture(commits, members)).decode()
        image = f'<img class="history" alt="{title}: values of {len(members)} cases by commit" '
        section += nodes.raw("", f'{image}src="data:image/svg+xml;base64,{data}">', format="html")
        section += _table_node(("benchmark", "cases", "median", "smallest", "largest"), table(members))
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
