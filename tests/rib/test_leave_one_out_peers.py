"""Leave-one-out counts of TiMBL and WEKA, if installed, against knnccv's distances and their tie rules.

Both let more than k samples vote where distances tie (WEKA all at the k-th distance, TiMBL all at the k
smallest distances); without ties the counts are those of `RIBClassifier`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from knnccv.hvdm import HEOM
from knnccv.rib import RIBClassifier

WEKA = Path(os.environ.get("WEKA_JAR", "/usr/share/java/weka.jar"))


def columns(path, separator=","):
    lines = path.read_text(encoding="utf-8").split("\n")
    return np.array([line.split(separator) for line in lines if line.strip()], dtype=object)


@pytest.fixture(scope="module")
def tables(data_folder):
    """Return the attributes as text, the class labels, and whether the attributes are numeric."""
    folder = data_folder / "uci31"
    wine = columns(folder / "wine" / "wine.data")
    glass = columns(folder / "glass" / "glass.data")
    voting = columns(folder / "voting" / "house-votes-84.data")
    return {
        "wine": (wine[:, 1:], wine[:, 0], True),
        "glass": (glass[:, 1:-1], glass[:, -1], True),
        "voting": (voting[:, 1:], voting[:, 0], False),
    }


def squares_to_others(texts, numeric, unknown):
    """Compute squared HEOM distances, rounded so that tied ones are equal; infinite on the diagonal."""
    if numeric:
        heom = HEOM().fit(texts.astype(float))
    else:
        texts = np.where(texts == "?", None, texts) if unknown else texts
        heom = HEOM(nominal=range(texts.shape[1])).fit(texts)
    items, distances = heom.neighbors().kneighbors(len(texts) - 1)
    squares = np.full((len(texts), len(texts)), np.inf)
    np.put_along_axis(squares, items.astype(int), distances**2, axis=1)
    return squares.round(12)


@pytest.mark.skipif(
    not (shutil.which("java") and WEKA.is_file()), reason=f"WEKA is not at {WEKA} (WEKA_JAR)"
)
@pytest.mark.parametrize("name", ["wine", "glass", "voting"])
def test_weka(name, tables, tmp_path):
    texts, labels, numeric = tables[name]
    classes = sorted(set(labels))
    lines = [f"@relation {name}"]
    for a in range(texts.shape[1]):
        values = sorted(set(texts[:, a]) - {"?"})
        lines.append(f"@attribute a{a} {'numeric' if numeric else '{' + ','.join(values) + '}'}")
    lines += [f"@attribute class {{{','.join(classes)}}}", "@data"]
    lines += [",".join([*row, label]) for row, label in zip(texts, labels, strict=True)]
    path = tmp_path / f"{name}.arff"
    path.write_text("\n".join(lines), encoding="utf-8")
    squares = squares_to_others(texts, numeric, unknown=True)
    for k in (1, 3, 5, 10):
        command = ["java", "-cp", str(WEKA), "weka.classifiers.lazy.IBk", "-t", str(path)]
        command += ["-x", str(len(texts)), "-o", "-v", "-K", str(k)]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        theirs = int(re.search(r"Correctly Classified Instances\s+(\d+)", out).group(1))
        right = 0
        for row, own in zip(squares, labels, strict=True):
            votes = Counter(labels[row <= np.sort(row)[k - 1]])
            right += max(classes, key=lambda c: votes[c]) == own
        assert right == theirs
        if numeric:
            rib = RIBClassifier(
                "heom", search=None, kernel="majority", n_neighbors=k, vote_ties="smallest"
            ).fit(texts.astype(float), labels)
            assert round(rib.lcv_ * len(texts)) == theirs


@pytest.mark.skipif(not shutil.which("timbl"), reason="TiMBL is not installed")
def test_timbl_with_overlaps(tables, tmp_path):
    texts, labels, _ = tables["voting"]
    path = tmp_path / "voting.csv"
    rows = [",".join([*row, label]) for row, label in zip(texts, labels, strict=True)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    squares = squares_to_others(texts, numeric=False, unknown=False)
    overall = Counter(labels)
    for k in (1, 2, 5, 10):
        command = ["timbl", "-f", str(path), "-F", "C4.5", "-t", "leave_one_out", "-mO", "-w", "nw"]
        command += ["-a", "IB1", "-k", str(k), "-o", str(tmp_path / "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        theirs = int(re.search(r"\((\d+)/435\)", done.stdout + done.stderr).group(1))
        right = 0
        for row, own in zip(squares, labels, strict=True):
            kinds = np.unique(row)
            last = len(kinds) - 1
            first, second = (Counter(labels[row <= kinds[min(at, last)]]) for at in (k - 1, k))
            best = [c for c in first if first[c] == max(first.values())]
            if len(best) > 1:
                more = [c for c in second if second[c] == max(second.values())]
                overall[own] -= 1
                best = more if len(more) == 1 else sorted(best, key=lambda c: -overall[c])
                overall[own] += 1
            right += best[0] == own
        assert right == theirs
