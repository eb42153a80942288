"""Answers of the shape that `knnccv.report` gives, made by hand: what a page is drawn from in tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

HOSTILE = {
    "script": "<script>window.__executed = 1</script>",
    "image": '"><img src=x onerror="window.__executed=1">',
    "closing": "</script><script>window.__executed=1</script><!--",
    "quotes": 'it\'s a "quoted" `name` with [brackets], dots.in.it and \\backslashes\\',
    "right-to-left": "שלום עולם \u202eabc",
    "long word": "x" * 10_000,
    "long text": "many words " * 900,
    "controls": "bell\x07 null\x00 escape\x1b[31m line\nbreak tab\tend",
    "surrogate": "half \ud83d of a pair",
    "separators": "line\u2028paragraph\u2029end",
    "emoji": "🍷👩‍🔬 grüße 漢字",
    "template": "{{ 7 * 7 }} {% raw %} ${1+1}",
    "formula": "=cmd|' /C calc'!A0",
}


def _setting(scaling: str, metric: str, k: int, score: float, **more: Any) -> dict[str, Any]:
    return {
        "scaling": scaling,
        "metric": metric,
        "n_neighbors": k,
        "score": score,
        "accuracy": score,
        "balanced_accuracy": score,
        "error_bound": 1.5e-13,
        "standard_error": 0.012,
        "interval": {"low": score - 0.024, "high": score + 0.023, "level": 0.95},
        "no_interval": None,
        "split_std": 0.031,
        "n_train_sets": "4.2e+37",
        "log10_n_train_sets": 37.62,
        **more,
    }


def answer(
    *,
    n_classes: int = 3,
    n_features: int = 13,
    n_shown: int = 12,
    regression: bool = False,
    intervals: bool = True,
    mixed: bool = False,
    hostile: bool = False,
) -> dict[str, Any]:
    """An answer with plausible numbers, the same for the same arguments."""
    rng = np.random.default_rng([n_classes, n_features, n_shown, regression, mixed])
    evil = list(HOSTILE.values())
    if hostile:
        n_features, n_classes = len(evil), len(evil)
    names = evil if hostile else [f"column {j}" for j in range(n_features)]
    labels = evil if hostile else [f"class {c}" for c in range(n_classes)]
    sizes = [int(size) for size in rng.integers(8, 80, n_classes)]
    n_items = 300 if regression else sum(sizes)
    loss = regression
    scale = 3200.0 if loss else 1.0

    def scored(value: float) -> float:
        return round(scale * (1 - value) if loss else value, 12)

    pairs = (
        [("as given", "heom"), ("as given", "hvdm")]
        if mixed
        else [
            (scaling, metric)
            for scaling in ("raw", "standardized", "min-max")
            for metric in ("euclidean", "manhattan", "cosine")
        ]
    )
    ks = list(range(1, 52))
    curves = []
    for at, (scaling, metric) in enumerate(pairs):
        top = 0.71 if scaling == "raw" else 0.955 + 0.002 * at
        scores = [scored(top - 0.03 * abs(math.log(k / (9 + at))) ** 1.6) for k in ks]
        curves.append(
            {
                "scaling": scaling,
                "metric": metric,
                "n_neighbors": ks,
                "scores": scores,
                "error_bound": [2e-14] * len(ks),
                "n_items": n_items,
            }
        )
    best_curve = (min if loss else max)(curves, key=lambda curve: (min if loss else max)(curve["scores"]))
    best_score = (min if loss else max)(best_curve["scores"])
    best_k = ks[best_curve["scores"].index(best_score)]
    scaling, metric = best_curve["scaling"], best_curve["metric"]
    spread = 120.0 if loss else 0.024
    without = {
        "interval": None,
        "no_interval": "a class has two items: halves of the data cannot be drawn",
    }
    both = {"interval": {"low": best_score - spread, "high": best_score + spread, "level": 0.95}}
    default = curves[0]["scores"][4]
    more = {"split_std": spread * 1.2, "standard_error": spread / 2 if intervals else None}
    return {
        "knnccv": "1.8.0",
        "task": "regression" if regression else "classification",
        "name": evil[0] if hostile else "wine",
        "data": {
            "n_items": n_items,
            "n_features": n_features,
            "feature_names": names,
            "categorical": names[1::3] if mixed else [],
            "constant": names[-1:] if n_features > 100 else [],
            "copies_of_target": [],
            "n_missing": 37 if mixed else 0,
            "classes": None
            if regression
            else [
                {"label": label, "n_items": size, "share": size / n_items}
                for label, size in zip(labels, sizes, strict=True)
            ],
            "target": {"min": 25.0, "max": 346.0, "mean": 152.13, "variance": 5930.4}
            if regression
            else None,
            "subsample": {"n_items": n_items, "of": 250_000, "reason": "more than 100,000 items"}
            if n_classes > 30
            else None,
            "conclusion": f"{n_items} items with {n_features} columns"
            + (", targets from 25 to 346." if regression else f" in {n_classes} classes."),
        },
        "scores": {
            "measure": "mean squared error" if loss else "accuracy",
            "is_loss": loss,
            "average": "pooled",
            "train_size": int(0.8 * n_items),
            "conclusion": f"The best, {scaling} {metric} with K = {best_k}, scores {best_score:.4g};"
            f" the default scores {default:.4g}. The best of many settings is optimistic.",
            "best": _setting(
                scaling, metric, best_k, best_score, **more, **(both if intervals else without)
            ),
            "default": _setting(
                pairs[0][0],
                pairs[0][1],
                5,
                default,
                **more,
                **(
                    {"interval": {"low": default - 1.3 * spread, "high": default + spread, "level": 0.95}}
                    if intervals
                    else without
                ),
            ),
            "baselines": [
                {
                    "name": "mean of the targets" if loss else "majority class",
                    "score": 5930.4 if loss else 0.399,
                    "balanced_accuracy": 1 / n_classes,
                    "explanation": "predicts the mean" if loss else "always predicts the largest class",
                },
                {
                    "name": "1 nearest neighbor",
                    "score": best_curve["scores"][0],
                    "balanced_accuracy": 0.7,
                    "explanation": f"K = 1, {scaling}, {metric}",
                },
            ],
            "difference": {"score": best_score - default, "low": 0.19, "high": 0.33, "pvalue": 1.2e-9}
            if intervals
            else None,
        },
        "settings": {
            "measure": "mean squared error" if loss else "accuracy",
            "other": None,
            "curves": curves,
            "best": {"scaling": scaling, "metric": metric, "n_neighbors": best_k, "score": best_score},
            "not_worse": [
                {"scaling": scaling, "metric": metric, "n_neighbors": list(range(best_k - 5, best_k + 12))},
                {"scaling": pairs[1][0], "metric": pairs[1][1], "n_neighbors": [7, 8, 9, 13]},
            ],
            "omitted": [{"scaling": "raw", "metric": "hvdm", "reason": "needs a column of categories"}],
            "subsample": None,
            "conclusion": f"{len(pairs) * len(ks)} settings were scored; 21 are not worse than the best.",
        },
        "tuned": None
        if regression
        else {
            "score": best_score - 0.01,
            "std_error": 0.0004,
            "std": 0.03,
            "inner_score": best_score + 0.002,
            "optimism": 0.012,
            "optimism_std_error": 0.0005,
            "n_runs": 1000,
            "inner": "leave-one-out",
            "n_settings": len(pairs) * len(ks),
            "metrics": sorted({metric for _, metric in pairs}),
            "scalings": sorted({scaling for scaling, _ in pairs}),
            "n_neighbors": ks,
            "shares": [1 / len(ks)] * len(ks),
            "choices": [
                {"scaling": scaling, "metric": metric, "n_neighbors": k, "share": 1 / len(ks)} for k in ks
            ],
            "subsample": None,
            "conclusion": "Whoever chooses the setting anew scores a little less.",
        },
        "learning": {
            "scaling": scaling,
            "metric": metric,
            "train_sizes": [4, 8, 16, 32, 64, 100, 142],
            "curves": [
                {
                    "n_neighbors": k,
                    "scores": [
                        None if k > size else scored(0.97 - 0.02 * math.log(k) / 2 - 0.9 / size**0.75)
                        for size in [4, 8, 16, 32, 64, 100, 142]
                    ],
                    "error_bound": [None if k > size else 1e-14 for size in [4, 8, 16, 32, 64, 100, 142]],
                }
                for k in (1, 3, 5, 11, 25)
            ],
            "extrapolation": {
                "train_size": 284,
                "score": scored(0.964),
                "gain": 0.004 * scale,
                "model": "a - b * n**-c",
            },
            "conclusion": "Twice the data would add about 0.004 (an extrapolation, not a computed score).",
        },
        "classes": None if regression else _classes(labels, sizes, rng),
        "items": _items(rng, names, labels, n_shown, n_items, regression, evil if hostile else None),
        "ties": {
            "n_items": n_items,
            "n_tied": 14,
            "n_dependent": 9,
            "score": best_score,
            "low": best_score - spread / 10,
            "high": best_score + spread / 20,
            "conclusion": "14 items have ties at the K-th neighbor; the order of the rows moves little.",
        }
        if n_features < 300
        else None,
        "regression": {
            "mse": best_score,
            "rmse": best_score**0.5,
            "bias2": best_score * 0.8,
            "variance": best_score * 0.2,
            "target_variance": 5930.4,
            "r2": 0.44,
            "loo": {"n_neighbors": ks, "mse": best_curve["scores"]},
            "conclusion": "The rule explains 44 % of the variance of the targets.",
        }
        if regression
        else None,
        "method": {
            "design": "Subsample(train_size=142)",
            "n_train_sets": "4.2e+37",
            "error_bound": 1.5e-13,
            "seconds": 3.2,
            "versions": {"knnccv": "1.8.0", "numpy": "2.1.0", "numba": "0.61.0", "python": "3.11.7"},
            "code": "from sklearn.datasets import load_wine\n\nimport knnccv\n\n"
            "X, y = load_wine(return_X_y=True)\n"
            'print(knnccv.complete_cv(X, y, "knn", knnccv.Subsample(train_size=142)).score)',
            "notes": [
                "Ties in distance are averaged over.",
                "All 9 x 51 settings use the same training sets.",
            ],
        },
    }


def _classes(labels: list[str], sizes: list[int], rng: np.random.Generator) -> dict[str, Any]:
    matrix = rng.dirichlet(np.full(len(labels), 0.1), len(labels)) * 0.2 + 0.8 * np.eye(len(labels))
    return {
        "labels": labels,
        "confusion": matrix.tolist(),
        "no_confusion": None,
        "subsample": None,
        "per_class": [
            {"label": label, "n_items": size, "score": float(matrix[c, c])}
            for c, (label, size) in enumerate(zip(labels, sizes, strict=True))
        ],
        "balanced_accuracy": float(np.diag(matrix).mean()),
        "conclusion": "Two classes are mistaken for each other most often.",
    }


def _items(
    rng: np.random.Generator,
    names: list[str],
    labels: list[str],
    n_shown: int,
    n_items: int,
    regression: bool,
    evil: list[str] | None,
) -> dict[str, Any]:
    def row() -> list[str]:
        return evil or [f"{value:.2f}" for value in rng.normal(10, 4, len(names))]

    def label() -> str:
        return f"{rng.normal(150, 60):.0f}" if regression else labels[int(rng.integers(len(labels)))]

    reasons = (
        ["large expected error"]
        if regression
        else ["never right", "suspicious label", "duplicate with another label"]
    )
    listed = [
        {
            "index": int(index),
            "label": evil[at % len(evil)] if evil else label(),
            "score": float(rng.random() * (9000 if regression else 0.4)),
            "influence": None if at == 3 else float(rng.normal(-0.002, 0.001)),
            "reasons": [reasons[at % len(reasons)]] + (reasons[:1] if at % len(reasons) else []),
            "row": row(),
            "neighbors": [
                {"index": j, "label": label(), "distance": 0.1 * j + rng.random(), "row": row()}
                for j in range(5)
            ],
        }
        for at, index in enumerate(rng.choice(n_items, n_shown, replace=n_shown > n_items))
    ]
    counts = {"never_right": n_shown // 3, "suspicious": n_shown // 3, "conflicting_duplicates": 0}
    return {
        "counts": {**counts, "worst_residuals": n_shown if regression else 0},
        "conclusion": f"{n_shown} items deserve a look." if n_shown else "No item stands out.",
        "items": listed,
        "indices": {
            reason: sorted(item["index"] for item in listed if reason in item["reasons"])
            for reason in reasons
        },
        "indices_cut": [],
        "thresholds": {} if regression else {"never_right": 1e-12, "suspicious": 1 / len(labels)},
        "note": None,
        "shown": n_shown,
        "of": n_shown,
    }
