"""The picture of the architecture, drawn from the contracts of layers in ``pyproject.toml``.

Run ``python docs/_ext/architecture.py`` after a change of the contracts. A test compares the stored picture
with what this script draws.
"""

import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "docs" / "architecture.svg"
DATA_PATH = {"neighbors", "designs", "driver", "kernel", "results"}
"""The rooms that every score passes through."""
FOLDERS = ("_core", "scores", "luck")
WIDTH, MARGIN, NUMBERS, HEIGHT, GAP = 580, 10, 26, 30, 6
PER_ROW = 3
STYLE = """
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1d2733; }
.number, .note { font-family: system-ui, "DejaVu Sans", sans-serif; font-size: 12px; fill: #55606d; }
rect { fill: #e6ecf5; stroke: #8fa9cc; }
.path { fill: #c4d4ea; stroke: #30588c; stroke-width: 1.8; }
.registry { fill: #fff; stroke-dasharray: 4 3; }
.page { fill: #fff; stroke: none; }
"""


def layers(pyproject=ROOT / "pyproject.toml"):
    """The floors, from the top down; each a list of rooms. What is in `FOLDERS` stands in their place."""
    contracts = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    inside = {one["containers"][0]: one["layers"] for one in contracts if one["type"] == "layers"}

    def floors(container):
        for layer in inside[container]:
            names = [name.strip() for name in layer.split("|")]
            if names[0] in (*FOLDERS, "driver"):
                yield from floors(f"{container}.{names[0]}")
            if names[0] not in FOLDERS:
                yield names

    return list(floors("knnccv"))


def draw(levels):
    """The picture as SVG text."""
    shapes = []
    top = MARGIN
    for number, names in zip(range(len(levels), 0, -1), levels, strict=True):
        middle = top + HEIGHT / 2 + 5
        shapes.append(f'<text class="number" x="{MARGIN}" y="{middle:g}">{number}</text>')
        for start in range(0, len(names), PER_ROW):
            shapes += _boxes(names[start : start + PER_ROW], top)
            top += HEIGHT + GAP
        top += GAP
    left = MARGIN + NUMBERS
    shapes.append(
        _box("knnccv_variants: found by entry points", left, top, WIDTH - left - MARGIN, "registry")
    )
    top += HEIGHT + GAP + 14
    note = "Imports go down only. Dark: the path of every score."
    shapes.append(f'<text class="note" x="{left}" y="{top}">{note}</text>')
    height = top + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">\n<title>Layers of the package knnccv</title>\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="8"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def _boxes(names, top):
    """A row of packages that fill the width."""
    left = MARGIN + NUMBERS
    width = (WIDTH - left - MARGIN - GAP * (len(names) - 1)) / len(names)
    return [
        _box(name, left + i * (width + GAP), top, width, "path" if name in DATA_PATH else "")
        for i, name in enumerate(names)
    ]


def _box(text, left, top, width, kind):
    """A rectangle with a text in its middle."""
    kind = f' class="{kind}"' if kind else ""
    return (
        f'<rect{kind} x="{left:.1f}" y="{top}" width="{width:.1f}" height="{HEIGHT}" rx="4"/>'
        f'<text x="{left + width / 2:.1f}" y="{top + 20}" text-anchor="middle">{escape(text)}</text>'
    )


if __name__ == "__main__":
    TARGET.write_text(draw(layers()), encoding="utf-8")
