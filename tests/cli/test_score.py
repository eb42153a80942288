"""The command score: its JSON and its text have the numbers of the library."""

from __future__ import annotations

import csv as text_files
import json
import math
import re
import warnings
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from command_line import (
    FIRST,
    LABEL,
    PLAIN,
    PRICE,
    PRICES,
    ROWS,
    FewWords,
    Refused,
    X,
    csv,
    elsewhere,
    knnccv,
    numbers,
    run,
    scaled,
    wine,
    write,
)
from sklearn import model_selection as ms
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    RebalancedLeaveOneOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    compare,
    complete_cv,
    monte_carlo_cv,
    surface,
)
from knnccv.datasets import load_wine
from knnccv.neighbors import SupervisedDistanceWarning
from knnccv.neighbors.hvdm import HEOM, HVDM
from knnccv.sklearn import expected_score

LOSS = [[0, 1, 2], [3, 0, 1], [1, 1, 0]]
WINE = [
    ("", {}),
    ("--variant nn --train-size 100", {"variant": "nn", "cv": Subsample(100)}),
    ("--cv 4", {"cv": StratifiedKFold(4)}),
    ("--cv 4 --stratify", {"cv": StratifiedKFold(4)}),
    ("--cv 4 --no-stratify", {"cv": KFold(4)}),
    ("--no-stratify --metric manhattan", {"cv": KFold(5), "metric": "manhattan"}),
    ("--train-size 0.5 --n-neighbors 3", {"cv": Subsample(0.5), "n_neighbors": 3}),
    ("--train-size 0.5 --stratify", {"cv": StratifiedSubsample(0.5)}),
    ("--variant nn --per-class 3", {"variant": "nn", "cv": StratifiedSubsample(per_class=3)}),
    ("--per-class '2=4, 1=3,3=5'", {"cv": StratifiedSubsample(per_class={2: 4, 1: 3, 3: 5})}),
    ("--leave-out 2", {"cv": LeaveOut(2)}),
    ("--leave-out 1 --stratify", {"cv": RebalancedLeaveOneOut()}),
    ("--variant rank --rank 2", {"variant": "rank", "rank": 2}),
    ("--variant nn --ties index", {"variant": "nn", "ties": "index"}),
    ("--metric minkowski --p 3", {"metric": "minkowski", "metric_params": {"p": 3}}),
    ("--average class --jobs 1", {"average": "class"}),
    ("--priors 1=0.5,2=0.25,3=0.25", {"average": {1: 0.5, 2: 0.25, 3: 0.25}}),
    ("--variant nn --parameter loss=[[0,1,2],[3,0,1],[1,1,0]]", {"variant": "nn", "loss": LOSS}),
    ("--variant confidence --parameter score=brier", {"variant": "confidence", "score": "brier"}),
]
HOMES = [
    ("", {"cv": KFold(5)}),
    ("--cv 3 --n-neighbors 2", {"cv": KFold(3), "n_neighbors": 2}),
    ("--cv 3 --no-stratify", {"cv": KFold(3)}),
    ("--train-size 6 --ties index", {"cv": Subsample(6), "ties": "index"}),
    ("--leave-out 2 --parameter part=variance", {"cv": LeaveOut(2), "part": "variance"}),
]
GROUPS = list("uvvwwwuvxxwu")
GROUPED = [
    ("", {"cv": LeaveGroupsOut(GROUPS)}),
    ("--leave-out 1 --no-stratify", {"cv": LeaveGroupsOut(GROUPS)}),
    ("--variant nn --leave-out 2", {"variant": "nn", "cv": LeaveGroupsOut(GROUPS, 2)}),
    ("--variant rank --rank 2", {"variant": "rank", "rank": 2, "cv": LeaveGroupsOut(GROUPS)}),
    ("--average class", {"average": "class", "cv": LeaveGroupsOut(GROUPS)}),
    ("--ties index --drop who", {"ties": "index", "cv": LeaveGroupsOut(GROUPS)}),
]
AGE = [None if i % 5 == 3 else (7 * i) % 11 / 2 for i in range(24)]
WARD = [None if i in (5, 8) else ["north", "south", "none"][i * i % 3] for i in range(24)]
CODE = [i % 4 for i in range(24)]
PATIENTS = list(zip(AGE, WARD, CODE, strict=True))
OUTCOME = [["well", "ill"][(i * i + i // 3) % 2] for i in range(24)]


def patients(gap=""):
    """The table of the patients with this mark of missing values."""
    columns = [[gap if cell is None else cell for cell in column] for column in (AGE, WARD, CODE)]
    return csv("age ward code outcome", *columns, OUTCOME)


def check_same(question, features, y, table, asked):
    """The JSON and the text of a question have the numbers of `complete_cv` and of `monte_carlo_cv`."""
    exact = complete_cv(features, y, **asked)
    runs = monte_carlo_cv(features, y, n_runs=3, random_state=7, **asked)
    answer = numbers(f"{question} --repeats 3 --seed 7", table)
    for name in ("score", "error_bound", "measure", "ties", "design", "variant"):
        assert answer[name] == getattr(exact, name), (question, name)
    assert str(answer["n_train_sets"]) == str(exact.n_train_sets), question
    assert answer["random_runs"]["scores"] == runs.scores.tolist(), question
    assert answer["random_runs"]["std_error"] == runs.std_error
    assert answer["n_items"] == len(y)
    text = knnccv(f"{question} --repeats 3 --seed 7", table)
    percent = "accuracy" in exact.measure

    def shown(value):
        return f"{100 * value:.2f} %" if percent else f"{value:.4g}"

    off = runs.score - exact.score
    off = f"{100 * off:+.2f} points" if percent else f"{off:+.4g}"
    for part in (
        f"{100 * exact.score:.4f} %  ({exact.score:.12f}" if percent else f"{exact.score:.10g}",
        f"{shown(runs.score)} ± {shown(runs.std)}  (mean ± standard deviation)",
        f"{shown(runs.score)} ± {shown(runs.std_error)}  (± standard error)",
        f"{off} from the exact {exact.measure}",
    ):
        assert part in text, (question, part)

    return answer


def test_every_option_is_the_argument_of_the_library():
    features, y = wine()
    for options, asked in WINE:
        check_same(f"score {options}", features, y, None, asked)
    unscaled = load_wine().X
    check_same("score --scaling none", unscaled, y, None, {})
    for options, asked in HOMES:
        answer = check_same(
            f"score t.csv --target price --variant regression {options}",
            X,
            PRICE,
            PRICES,
            {"variant": "regression", **asked},
        )
        assert answer["classes"] is None
    table = csv("x y who label", *X.T.astype(int), GROUPS, LABEL)
    for options, asked in GROUPED:
        answer = check_same(f"score t.csv --target label --groups who {options}", X, LABEL, table, asked)
        assert answer["groups"] == "who"


def test_files_are_standardized_where_that_is_asked_for():
    features = np.column_stack([X * [1, 1000] + [0, 3], np.full(12, 0.1)])
    known = np.column_stack([scaled(features[:, :2]), np.zeros(12)])  # the last column is constant
    table = csv("a b c label", *features.T, LABEL)
    for option, given in (("", features), ("--scaling none", features), ("--scaling standard", known)):
        answer = numbers(f"score t.csv --target label --variant nn --repeats 0 {option}", table)
        assert answer["score"] == complete_cv(given, LABEL, "nn").score
        assert answer["scaling"] == ("standard" if given is known else None)
    question = "score t.csv --target price --variant regression --scaling standard --repeats 0"
    assert numbers(question, PRICES)["score"] == complete_cv(scaled(X), PRICE, "regression").score


def test_mixed_tables_are_measured_by_heom_whatever_marks_their_gaps():
    near = HEOM(nominal=[1]).fit(PATIENTS).neighbors()
    question = "score t.csv --target outcome --metric heom"
    for gap in ("", "?", "NA", "nan", "null", "N/A"):
        table = patients(gap)
        answer = numbers(f"{question} --repeats 3 --seed 7", table)
        assert answer["score"] == complete_cv(near, OUTCOME).score
        runs = monte_carlo_cv(near, OUTCOME, n_runs=3, random_state=7)
        assert answer["random_runs"]["scores"] == runs.scores.tolist()
        assert (answer["categorical_features"], answer["n_missing"]) == (["ward"], 7)
        assert f" 7 missing values ({gap or 'empty'}: 7)\n" in knnccv(question, table)
    answer = numbers(f"{question} --categorical code", table)
    coded = HEOM(nominal=[1, 2]).fit(PATIENTS).neighbors()
    assert answer["score"] == complete_cv(coded, OUTCOME).score != complete_cv(near, OUTCOME).score
    rows = [row for row in patients().splitlines() if row[0] != ","]
    kept = [row for row in PATIENTS if row[0] is not None]
    question = "score t.csv --target age --drop outcome --metric heom --variant regression --repeats 0"
    near = HEOM(nominal=[0]).fit([row[1:] for row in kept]).neighbors()
    expected = complete_cv(near, [row[0] for row in kept], "regression").score
    assert numbers(question, "\n".join(rows))["score"] == expected


def test_hvdm_says_where_its_score_is_optimistic():

    near = HVDM(nominal=[1]).fit(PATIENTS, OUTCOME).neighbors()
    for design, cv in (("--cv 5", 5), ("--leave-out 1", LeaveOut(1))):
        question = f"score t.csv --target outcome --metric hvdm {design}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SupervisedDistanceWarning)
            expected = complete_cv(near, OUTCOME, cv=cv).score
        assert numbers(question, patients())["score"] == expected
        text = knnccv(question, patients())
        assert text.count("knnccv: note: ") == text.count("The score is optimistic") == (cv == 5)
        assert ("fitted to the labels of all samples: the score is optimistic" in text) == (cv == 5)


def test_hvdm_is_fitted_without_each_left_out_group():
    rng, group = np.random.default_rng(0), np.repeat(np.arange(8), 3)
    codes, y = rng.integers(4, size=24), np.where(group % 2, "ill", "well")
    table = csv("x who label", ["abcd"[code] for code in codes], group, y)
    question = "score t.csv --target label --groups who --metric hvdm --repeats 3"
    found = numbers(question, table)
    assert "optimistic" not in knnccv(question, table)
    assert "the score is optimistic" in knnccv(f"{question} --leave-out 2", table)
    near = HVDM(nominal=[0]).fit(codes[:, None].astype(float), y).neighbors(groups=group)
    assert found["score"] == complete_cv(near, y, "knn", LeaveGroupsOut(group)).score
    in_sight = HVDM(nominal=[0]).fit(codes[:, None].astype(float), y).neighbors()
    with pytest.warns(SupervisedDistanceWarning):
        optimistic = complete_cv(in_sight, y, "knn", LeaveGroupsOut(group))
    assert found["score"] != optimistic.score


def test_exact_scores_are_fractions():
    question = "score t.csv --target label --variant nn --leave-out 3 --exact --confusion"
    answer, rounded = numbers(question, PLAIN), numbers(question.replace("--exact", ""), PLAIN)
    assert float(Fraction(answer["fraction"])) == answer["score"]
    assert answer["error_bound"] == 0
    assert f"exactly {answer['fraction']}\n" in knnccv(question, PLAIN)
    np.testing.assert_allclose(answer["confusion"]["matrix"], rounded["confusion"]["matrix"], rtol=1e-12)
    numbered = [{"u": "1.0", "v": 2}.get(group, group) for group in GROUPS]
    table = csv("x price who", FIRST, [x / 4 for x in FIRST], numbered)
    answer = numbers("score t.csv --target price --variant regression --groups -1 --exact", table)
    features = np.array(FIRST, float)[:, None]
    found = complete_cv(features, features[:, 0] / 4, "regression", LeaveGroupsOut(GROUPS), exact=True)
    assert answer["fraction"] == f"{found.fraction.numerator}/{found.fraction.denominator}"


def test_numbers_of_few_and_many_training_sets_and_runs():
    question = "score t.csv --target label --variant nn --repeats"
    one, none = numbers(f"{question} 1", PLAIN), numbers(f"{question} 0", PLAIN)
    assert (one["random_runs"]["std"], none["random_runs"]) == (None, None)
    assert one["n_train_sets"] == int(one["n_train_sets"])
    table = csv("x label", range(15_000), [x % 7 % 2 for x in range(15_000)])
    answer = numbers(f"{question} 0 --train-size 0.5", table)
    assert f"{answer['n_train_sets']} different training" in knnccv(f"{question} 0 --train-size 0.5", table)
    exponent = int(answer["n_train_sets"].split("e+")[1])
    assert exponent == int(answer["log10_n_train_sets"]) > 4300
    price = "score t.csv --target 2 --variant regression --n-neighbors 1 --repeats 0"
    huge = csv("", *X.T, [f"{int(4 * price)}e18" for price in PRICE])
    assert numbers(price, huge)["score"] == pytest.approx(
        numbers(price, PRICES)["score"] * 16e36, rel=1e-12
    )


@pytest.mark.slow
def test_both_kinds_of_luck_and_a_comparison():
    features, y = wine()
    question = "score --variant nn --repeats 0 --interval 0.8 --seed 3 --rope 0.02"
    question += " --compare knn:n_neighbors=9,vote_ties=smallest"
    found, other = complete_cv(features, y, "nn"), complete_cv(features, y, n_neighbors=9)
    interval, spread = found.confidence_interval(0.8, random_state=3), found.split_std(random_state=3)
    compared = compare(found, other, random_state=3)
    low, high = compared.confidence_interval(0.8)
    likely = compared.probability(0.02)
    answer = numbers(question)
    assert answer["interval"] == {
        "low": interval.low,
        "high": interval.high,
        "confidence_level": 0.8,
        "method": "wilson",
        "target": interval.target,
    }
    assert answer["standard_error"] == found.standard_error(random_state=3)
    assert answer["split_std"] == spread.to_dict()
    told = answer["comparison"]
    assert told["with"] == "knn(n_neighbors=9, vote_ties=smallest)"
    for name in ("difference", "pvalue"):
        assert told[name] == getattr(compared, name)
    assert told["standard_error"] == compared.standard_error()
    assert (told["interval"]["low"], told["interval"]["high"], told["rope"]) == (low, high, 0.02)
    assert list(told["probability"].values()) == list(likely)
    text = knnccv(question)
    for part in (
        f"80 % [{100 * interval.low:.2f} %, {100 * interval.high:.2f} %] (luck of the data)",
        f"one random run around this exact score: {100 * spread.std:.2f} points",
        f"smallest): accuracy {100 * other.score:.2f} %\n",
        f"{100 * (found.score - other.score):+.2f} points  (this rule minus the other)",
        f"80 % [{100 * low:+.2f}, {100 * high:+.2f}] points (luck of the data)",
        f"p-value      {compared.pvalue:.2g}  (",
        f"this rule {likely.first:.2f}, neither {likely.equivalent:.2f}, the other {likely.second:.2f}",
    ):
        assert part in text, part
    likely = compared.probability(0.01)
    question = question.replace(" --rope 0.02", "").replace(" --interval 0.8", "")
    answer = numbers(question)
    assert (answer["comparison"]["rope"], answer["interval"], answer["split_std"]) == (0.01, None, None)
    assert f"neither {likely.equivalent:.2f}, the" in knnccv(question)
    assert numbers("score --variant nn --repeats 0")["comparison"] is None


def test_every_scoring_is_compared_too():
    asked = "score t.csv --target y --repeats 0 --scoring f1_macro --variant nn --compare knn:n_neighbors=5"
    X, y = np.random.default_rng(0).normal(size=(60, 1)), np.arange(60) % 3
    cv, table = ms.StratifiedKFold(5, shuffle=True), csv("x y", X[:, 0], y)
    rules = KNeighborsClassifier(1), KNeighborsClassifier()
    one, other = (expected_score(rule, X, y, cv=cv, scoring="f1_macro") for rule in rules)
    found = numbers(asked, table)["scorings"]["f1_macro"]["comparison"]
    assert (found["difference"], found["pvalue"]) == (one.score - other.score, compare(one, other).pvalue)
    said = f"f1_macro     {other.score:.4g}, difference {one.score - other.score:+.4g}  (95 % ["
    assert said in knnccv(asked, table)
    alone = "score t.csv --target label --groups who --variant nn --repeats 0 --scoring roc_auc --interval"
    told = knnccv(alone, csv("x who label", np.arange(24) % 7, np.arange(24) // 2, np.arange(24) < 2))
    assert "no interval or comparison: " in told


def test_groups_are_the_units_and_few_of_them_are_noted():
    groups = np.arange(40) // 4
    x = np.random.default_rng(0).integers(0, 99, 40)
    y = (x + groups * 7) % 2
    question = "score t.csv --target label --groups who --variant nn --repeats 0 --interval"
    table = csv("x who label", x, groups, y)
    with pytest.warns(UserWarning, match="10 groups"):
        error = complete_cv(x[:, None].astype(float), y, "nn", LeaveGroupsOut(groups)).standard_error()
    said, answer = knnccv(f"{question} --json", table).rsplit("\n", 2)[:2]
    assert said.startswith("knnccv: note: there are 10 groups, fewer than 20")
    assert json.loads(answer)["standard_error"] == error


def test_confusion():
    features, y = load_wine().X[:, :3], load_wine().y
    for n_classes, loss in ((2, False), (3, False), (3, True)):
        given = np.minimum(y, n_classes)
        matrix = (1 - np.eye(n_classes, dtype=int)).tolist()
        exact = complete_cv(features, given, "nn", KFold(5), **({"loss": matrix} if loss else {}))
        shares = exact.confusion(normalize="true")
        question = "score t.csv --target -1 --variant nn --no-stratify --repeats 0 --confusion"
        question += f" --parameter 'loss={matrix}'" * loss
        table = csv("", *features.T, given)
        answer = numbers(question, table)
        names = [str(name) for name in range(1, n_classes + 1)]
        assert answer["confusion"] == {"classes": names, "normalize": "true", "matrix": shares.tolist()}
        assert answer["per_class"] == {str(name): score for name, score in exact.per_class().items()}
        lines = [line.split() for line in knnccv(question, table).splitlines()]
        below = lines[lines.index(names) + 1 :][:n_classes]
        for name, row, line in zip(names, shares, below, strict=True):
            assert line == [name, *(f"{100 * share:.2f}" for share in row)]
    question = "score t.csv --target c --variant nn --per-class a=1,b=2 --confusion"
    answer = numbers(question, "x,c\n0,a\n1,a\n2,b\n3,b\n")  # b is never tested
    assert answer["confusion"]["matrix"] == [[0.75, 0.25], [None, None]]
    assert answer["per_class"] == {"a": 0.75, "b": None}


def test_the_scores_of_samples_in_a_file():
    """A table, its labels, options, and the features and arguments of the library."""
    labels = ['a "quoted", β' if label == "a" else label for label in LABEL]
    quoted = PLAIN.replace(",a\n", ',"a ""quoted"", β"\n')
    sevens, line = csv("x label", range(4), [7, 7, 8, 8]), [[0.0], [1], [2], [3]]
    sevens = sevens.replace("1,7", "\n1,7\n5,")  # the samples begin on the lines 2, 4, 6 and 7
    design = StratifiedSubsample(per_class={7: 1, 8: 2})
    for table, options, features, y, asked in (
        (quoted, "--target label", X, labels, ("nn",)),
        (PRICES, "--target price --variant regression", X, PRICE, ("regression",)),
        (sevens, "--target label --per-class 7=1,8=2", line, [7, 7, 8, 8], ("nn", design)),
    ):
        found = complete_cv(features, y, *asked)
        with elsewhere() as folder:
            write(table)
            (folder / "items.csv").write_text("something long and old\n" * 50)
            done = run(f"score t.csv --variant nn {options} --per-item items.csv")
            with (folder / "items.csv").open(encoding="utf-8", newline="") as file:
                header, *rows = text_files.reader(file)
        assert "the scores of all samples are in items.csv" in done.out
        assert header == ["item", "line", "label", "score", "weight"]
        lines = [2, 4, 6, 7] if table == sevens else range(2, len(y) + 2)
        assert [row[:3] for row in rows] == [[str(i), str(lines[i]), str(one)] for i, one in enumerate(y)]
        scores = [float(row[3] or "nan") for row in rows]
        np.testing.assert_array_equal(scores, found.per_item)
        assert [float(row[4]) for row in rows] == found.weights.tolist()
    assert scores[2:] == pytest.approx([math.nan] * 2, nan_ok=True)  # never tested


def test_cells_that_would_be_formulas_are_texts():
    """Labels that spreadsheets would compute; numbers stay what they are."""
    labels = ["=1+1", "-x", "@a", "+b", "c=d"]
    content = csv("x label", range(10), 2 * labels)
    for names, column in ((labels, content), ([-1, 2], csv("x label", range(10), 5 * [-1, 2]))):
        with elsewhere() as folder:
            write(column)
            run("score t.csv --variant nn --target label --repeats 0 --cv 2 --per-item items.csv")
            with (folder / "items.csv").open(encoding="utf-8", newline="") as file:
                found = [row[2] for row in text_files.reader(file)][1:]
        expected = ["'" + name if name in labels[:4] else str(name) for name in names]
        assert found == expected * (10 // len(names))


def test_a_file_that_cannot_be_written_is_found_before_anything_is_computed():
    with (
        mock.patch("knnccv._cli.score.complete_cv", side_effect=AssertionError),
        pytest.raises(Refused, match=r"missing-folder/items\.csv: No such file"),
    ):
        knnccv("score --per-item missing-folder/items.csv")


@pytest.mark.parametrize(("variant", "weights"), [("knn", "uniform"), ("weighted", "distance")])
def test_scorings_of_groups_are_those_of_all_predictions(variant, weights):
    X, y, groups = np.random.default_rng(0).normal(size=(40, 1)), np.arange(40) % 3 % 2, np.arange(40) // 3
    asked = f"score t.csv --target label --groups who --repeats 0 --scoring f1,roc_auc --variant {variant}"
    found = numbers(asked, csv("x who label", X[:, 0], groups, y))["scorings"]
    how = {"cv": ms.LeaveOneGroupOut(), "groups": groups, "method": "predict_proba"}
    shares = ms.cross_val_predict(KNeighborsClassifier(weights=weights), X, y, **how)[:, 1]
    assert found["f1"]["score"] == f1_score(y, shares > 0.5)
    assert found["roc_auc"]["score"] == pytest.approx(roc_auc_score(y, shares))


def test_joined_scores_of_groups_have_the_interval_of_the_exact_accuracy():
    X, y, groups = np.random.default_rng(0).normal(size=(80, 1)), np.arange(80) % 2, np.arange(80) // 2
    asked = "score t.csv --target label --groups who --repeats 0 --interval --scoring accuracy,f1"
    found = numbers(f"{asked} --n-neighbors 3", csv("x who label", X[:, 0] + y, groups, y))
    for end in "low", "high":
        exact, by_runs = found["interval"][end], found["scorings"]["accuracy"]["interval"][end]
        assert by_runs == pytest.approx(exact, abs=1e-3)
    assert found["scorings"]["f1"]["interval"] is not None


BRIDGED = [
    ("--cv 3", KNeighborsClassifier(), ms.StratifiedKFold(3, shuffle=True), {"precision": 1e-4}),
    ("--variant nn --train-size 0.5", KNeighborsClassifier(1), ms.ShuffleSplit(train_size=0.5), {}),
    ("--leave-out 1 --n-neighbors 3", KNeighborsClassifier(3), ms.LeavePOut(1), {}),
]
SLOW = [pytest.param(*case, marks=pytest.mark.slow) for case in BRIDGED[1:]]


@pytest.mark.parametrize(("options", "estimator", "cv", "how"), [BRIDGED[0], *SLOW])
def test_other_scorings_are_those_of_the_bridge(options, estimator, cv, how):
    options += " --precision 1e-4" * bool(how)
    wine, names = load_wine(), ["f1_macro", "balanced_accuracy"]
    found = numbers(f"score --scaling none --repeats 0 --scoring f1_macro,balanced_accuracy {options}")
    for name, theirs in expected_score(estimator, wine.X, wine.y, cv=cv, scoring=names, **how).items():
        assert found["scorings"][name] == theirs.to_dict() | {"comparison": None}, name
        assert not how or theirs.is_exact or 512 < theirs.n_runs < 20_000


def test_scores_by_draws_and_runs_have_the_wanted_error():
    few = "score t.csv --target label --cv 3 --repeats 0 --scoring f1_macro --precision 1e-7"
    lines = knnccv(few, PLAIN)
    assert re.search(
        r"20,000 runs, standard error .*; an error of 1.0e-07 takes some .* runs, .* s\)", lines
    )
    X, y = np.random.default_rng(0).normal(size=(45, 2)), np.arange(45) % 3
    drawn = "score t.csv --target y --repeats 0 --cv 3 --variant weighted --n-neighbors 12 --precision 5e-4"
    drawn = numbers(drawn, csv("a b y", *X.T, y))
    assert 0 < drawn["std_error"] < 1.15 * 5e-4
    assert drawn["score"] == complete_cv(X, y, "weighted", 3, n_neighbors=12, precision=5e-4).score
    with mock.patch("knnccv.reporting.report_on", return_value=FewWords()) as reported, elsewhere():
        run("report --json --precision 1e-4")
    assert reported.call_args.args[2].precision == 1e-4


TESTED = list(zip(LABEL[:5][::-1], [3, 1, 4, 1, 5], [9.5, 2.5, 6, 5, 3], strict=True))
POOLED = [
    ("", {}),
    ("--variant nn --per-class 2", {"variant": "nn", "cv": StratifiedSubsample(per_class=2)}),
    ("--train-size 12 --n-neighbors 3", {"cv": Subsample(12), "n_neighbors": 3}),
    ("--groups who --n-neighbors 3", {"cv": LeaveGroupsOut(GROUPS), "n_neighbors": 3}),
    ("--scaling standard --leave-out 2", {"cv": LeaveOut(2)}),
]


def test_a_test_set_is_scored_by_samples_of_the_table():
    """Its columns are in another order, and those of the groups are no features of either."""
    tested, labels = np.array([row[:0:-1] for row in TESTED], float), [row[0] for row in TESTED]
    pool, test = (
        csv("x y label who", *zip(*ROWS, strict=True), GROUPS),
        csv("label y x who", *zip(*TESTED, strict=True), GROUPS[:5]),
    )
    for options, asked in POOLED:
        question = f"score t.csv --target label --test test.txt --repeats 3 {options}"
        question += " --drop who" * ("who" not in options)
        both = np.concatenate([X, tested])
        both = scaled(both) if "--scaling" in options else both
        given = both[:12], LABEL
        asked = {**asked, "test": (both[12:], labels)}
        exact, runs = (
            complete_cv(*given, **asked),
            monte_carlo_cv(*given, n_runs=3, random_state=0, **asked),
        )
        answer = numbers(question, pool, test=test)
        assert (answer["score"], answer["n_items"], answer["n_test"]) == (exact.score, 12, 5), options
        assert answer["random_runs"]["scores"] == runs.scores.tolist(), options
        text = knnccv(question, pool, test=test)
        assert "tested are the 5 samples of test.txt" in text
        assert f"{100 * exact.score:.4f} %" in text
    answer = numbers(
        "curve t.csv --target label --drop who --test test.txt --train-sizes 8,12", pool, test=test
    )
    assert answer["scores"] == surface(X, LABEL, [1, 5], [8, 12], test=(tested, labels)).scores.tolist()
    question = "score t.csv --target label --drop who --test test.txt --train-size 8 --scoring accuracy"
    answer = numbers(question, pool, test=test)
    assert answer["scorings"]["accuracy"]["score"] == pytest.approx(answer["score"], abs=1e-12)
