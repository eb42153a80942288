"""One notion has one name: the parameters of all public functions, estimators and methods."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

API = (Path(__file__).parent / "public_api.txt").read_text(encoding="utf-8")
AUTHORS = {"knnccv.kernel", "knnccv.kernel.sampling"}  # the words of kernels are those of the papers
FORMER = {
    "n_repeats": "n_runs, or mean_of for the size of a mean",
    "n_folds": "n_splits",
    "outer": "cv",
    "inner": "inner_cv",
    "rule": "variant, or choose",
    "seed": "random_state",
    "X_test": "test",
    "y_test": "test",
    "p_value": "pvalue",
    "tied": "n_tied",
    "df": "degrees_of_freedom",
    "device": "the lists of other engines",
    "hajek": "nothing",
}
ALLOWED = """X a all_ways always ap approximate ask average avgk ax b bare_nuclei categorical choose classes
    comparisons confidence_level content control_variate counts cv decimal delimiter depth direction
    distances drop drop_incomplete encoding episodes estimator every_target exact exclude executor
    feature_names fitness fitted_to_labels gallery gallery_cams gallery_ids grid groups head header
    identities inner_cv interval into item jackknife keep kernel kind kwargs labels leave_one_out lists loss
    max_cycles max_items max_k max_loss max_rank mean_of method metric metric_params min_gain
    min_per_class missing most n n_cases n_classes n_draws n_episodes n_features n_groups n_halvings
    n_jobs n_neighbors n_outputs n_permutations n_prototypes n_query n_runs n_w_k n_way name
    name_or_object names near neighbors nominal normalize other pairs parameters path
    patience per_query pos_label precision predictions progress q query_cams query_ids random random_state
    rank reason removed report results rng rope rows sample_size scaling score scores scoring search
    self sex shares sheet size source splits step strata stratified surface target task tasks test
    thousands ties tol train_size train_sizes transductive trials values variant verbose vote_ties
    votes w_k weights without x y y_true"""


def functions():
    """Public functions and methods with their names; not what results are made of."""
    for module in re.findall(r'^public\("([\w.]+)"\)', API, re.MULTILINE):
        if module in AUTHORS:
            continue
        home = importlib.import_module(module)
        for name in home.__all__:
            value = getattr(home, name)
            if inspect.isfunction(value):
                yield f"{module}.{name}", value
            elif inspect.isclass(value) and not issubclass(value, Exception) and value.__module__ != "enum":
                owned = {key: one for key, one in vars(value).items() if inspect.isfunction(one)}
                made = dataclasses.is_dataclass(value)
                yield from (
                    (f"{module}.{name}.{key}", one)
                    for key, one in owned.items()
                    if not key.startswith("_") or (key == "__init__" and not made)
                )


def test_every_parameter_is_a_word_of_the_vocabulary():
    """A new word is added to the list if it names a new notion; otherwise the notion has a word."""
    found = [(where, word) for where, one in functions() for word in inspect.signature(one).parameters]
    assert len(found) > 700
    words = [(where, word) for where, word in found if not word.startswith("_")]
    assert not [f"{where}: {word}, say {FORMER[word]}" for where, word in words if word in FORMER]
    assert not [(where, word) for where, word in words if word not in ALLOWED.split()]
    assert not set(FORMER) & set(ALLOWED.split())


def test_seeds_are_0_unless_another_is_given():
    found = [(where, inspect.signature(one).parameters.get("random_state")) for where, one in functions()]
    seeded = {where: given.default for where, given in found if given is not None}
    assert len(seeded) > 15
    assert set(seeded.values()) == {0}, seeded
