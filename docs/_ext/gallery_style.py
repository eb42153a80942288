"""The gallery: the order of its examples, and the look of their pictures and thumbnails."""

GROUPS = {
    "splits": [
        "luck_of_the_split",
        "luck_of_the_data",
        "monte_carlo",
        "expected_score",
        "runs",
        "grid_search",
        "groups",
        "pool",
    ],
    "curves": ["surface", "learning_curve", "regression"],
    "choices": ["weighted_votes", "feature_selection", "prototypes", "tuned_score"],
    "details": ["confusion", "rank_curves", "mislabeled", "influence", "item_values", "ties"],
    "distances": ["precomputed", "molecules", "rib", "large"],
    "retrieval": ["random_galleries", "episodes"],
    "extending": ["plugin"],
}
"""The groups and their examples, in the order in which they are shown."""

STYLE = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.figsize": (5.8, 3.9),
    "font.size": 12,
    "lines.linewidth": 1.8,
}


class Order:
    """Sort key of the examples of one group; an example that is not listed is an error."""

    def __init__(self, src_dir):
        from pathlib import Path

        self.names = GROUPS.get(Path(src_dir).name, [])

    def __call__(self, filename):
        """The place of an example in its group."""
        return self.names.index(filename.removeprefix("plot_").removesuffix(".py"))


def reset(_gallery_conf, _file_name):
    """Set the style before every example, after matplotlib's own defaults."""
    import matplotlib as mpl

    mpl.rcParams.update(STYLE)
