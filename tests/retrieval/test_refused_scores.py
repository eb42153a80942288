"""Bad scores of one's own: an error that says what was wrong and what is allowed."""

import numpy as np
import pytest

from knnccv.retrieval import AtRank, First, Reciprocal, Table, _forms, expected_retrieval

NAN = float("nan")
CASES = {
    "a fractional c": (lambda: Reciprocal(1.5), TypeError, "c must be an integer, got 1.5"),
    "a negative c": (lambda: Reciprocal(-1), ValueError, "c must be between 0 and 10000, got -1"),
    "a large c": (lambda: Reciprocal(10**5), ValueError, "between 0 and 10000"),
    "of others": (lambda: Reciprocal(1, "second"), ValueError, "of must be one of 'every', 'first'"),
    "a negative slope": (lambda: Reciprocal(1, slope=-1), ValueError, "slope must be finite and at least"),
    "no slope": (lambda: Reciprocal(1, slope=None), TypeError, "slope must be a real number"),
    "an infinite constant": (lambda: Reciprocal(1, constant=np.inf), ValueError, "constant must be finite"),
    "all zero": (lambda: Reciprocal(1, constant=0, slope=0), ValueError, "must not both be 0"),
    "a denominator of 0": (lambda: Reciprocal(0), ValueError, "constant must be 0 if c is 0, .* got 1.0"),
    "a value at the top": (lambda: Reciprocal(0, constant=0, at_top=NAN), ValueError, "at_top must be fin"),
    "a divisor of Reciprocal": (
        lambda: Reciprocal(1, normalize="k"), ValueError, "normalize must be one of '1', 'R'"
    ),
    "no weights": (lambda: AtRank([]), ValueError, r"one for each rank, got an array of shape \(0,\)"),
    "weights of two dimensions": (lambda: First([[1, 2]]), ValueError, r"got an array of shape \(1, 2\)"),
    "weights of text": (lambda: AtRank("abc"), TypeError, "weights must be a sequence of numbers"),
    "a missing weight": (lambda: First([1, NAN]), ValueError, r"weights\[1\] is nan"),
    "a divisor of AtRank": (lambda: AtRank([1], normalize="r"), ValueError, r"'min\(k,R\)', 'ideal', got"),
    "no ideal": (
        lambda: AtRank([1, -1], normalize="ideal"), ValueError, "must be positive; that of the first 2 is 0"
    ),
    "the last": (lambda: First([1], "last"), ValueError, "of must be one of 'first', 'every', got 'last'"),
    "a table of one dimension": (lambda: Table([1, 2]), ValueError, r"phi must be an array of shape"),
    "an empty table": (lambda: Table(np.zeros((0, 3))), ValueError, r"got an array of shape \(0, 3\)"),
    "an infinite table": (lambda: Table([[np.inf]]), ValueError, r"phi\[0, 0\] is inf"),
    "a function of no table": (
        lambda: Table(lambda R: R, name="x"), ValueError, r"phi\(1\) of the score 'x' must be an array"
    ),
    "a name that is no text": (lambda: First([1], name=3), TypeError, "name of a score must be text"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_arguments(case):
    call, error, match = CASES[case]
    with pytest.raises(error, match=match):
        call()


def score(*scores):
    return expected_retrieval([[0.1, 0.2, 0.3]], [7], [8, 7, 7], scores=scores)


REFUSED = {
    "two without a name": ((First([1]), First([2])), ValueError, r"names, got \('first', 'first'\)"),
    "the name of a built-in score": ((First([1], name="ap"),), ValueError, "'ap' is the name of a"),
    "a class": ((First,), TypeError, "objects of Reciprocal, AtRank, First and Table, got"),
    "a function": ((lambda _: 1,), TypeError, "objects of Reciprocal"),
    "AP@k": (("ap@10",), ValueError, r"take 'ap@k/r', .*, or 'ap@k/min'"),
    "no depth": (("ap@k/r",), ValueError, "'ap@k/r', 'ap@k/min'"),
    "depth 0": (("ap@0/min",), ValueError, "k from 1"),
    "a large depth": (("ap@10001/r",), ValueError, "the depth of 'ap@10001/r' must be between 1 and 10000"),
    "a larger depth": (("ndcg@1000001",), ValueError, "the depth of 'ndcg@1000001' must be between 1 and"),
    "another divisor": (("ap@3/hits",), ValueError, "scores must be of"),
    "a table that fails later": (
        (Table(lambda R: np.full((R, R), 1.0 if R == 1 else np.nan), name="late"),), ValueError,
        r"phi\(2\) of the score 'late'\[0, 0\] is nan",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_scores(case):
    scores, error, match = REFUSED[case]
    with pytest.raises(error, match=match):
        score(*scores)


def test_forms_are_values():
    assert First([1, 2]) == First((1.0, 2.0))
    assert hash(Reciprocal(1)) == hash(Reciprocal(1, "every"))
    assert Reciprocal(1).normalize == "R"
    assert Reciprocal(1, "first").normalize == "1"
    table = np.ones((2, 2))
    form = Table(table)
    table[0, 0] = 5
    assert form.values(3)[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        form.phi[0, 0] = 2
    with pytest.raises(AttributeError):
        form.name = "other"


class Point:
    """An entry point."""

    dist = None

    def __init__(self, name, value, found):
        self.name, self.value, self.found = name, value, found

    def load(self):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def test_scores_of_installed_packages(monkeypatch):
    points = [
        Point("half-life", "good:SCORE", First([1, 0.5], name="half-life")),
        Point("broken", "bad:SCORE", RuntimeError("no such file")),
        Point("misnamed", "odd:SCORE", First([1])),
        Point("no score", "odd:NAME", "first"),
        Point("twice", "one:SCORE", First([1], name="twice")),
        Point("twice", "two:SCORE", First([1], name="twice")),
        Point("ap", "bold:SCORE", First([1], name="ap")),
    ]

    def entry_points(*, group, name=None):
        assert group == "knnccv.retrieval_scores"
        return [point for point in points if name in (None, point.name)]

    monkeypatch.setattr(_forms, "entry_points", entry_points)
    assert score("half-life")["half-life"].score == 0.5
    assert score("ap")["ap"].score == (1 / 2 + 2 / 3) / 2
    with pytest.raises(ImportError, match=r"'broken' of bad:SCORE \(package an unnamed package\)"):
        score("broken")
    for name in ("misnamed", "no score"):
        with pytest.raises(TypeError, match=f"must be a Reciprocal, AtRank, First or Table named {name!r}"):
            score(name)
    with pytest.raises(ValueError, match="two installed packages offer a score named 'twice': one:SCORE"):
        score("twice")
    with pytest.raises(ValueError, match="'half-life', 'misnamed'"):
        score("half-live")
