# mypy: allow-untyped-defs
"""The weights of the K nearest training samples: their parameters, checked, and their functions."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from knnccv._base.typing import Array
from knnccv._base.validation import as_reals, check, check_integer, check_real
from knnccv.kernel import Tables, Task, inner, jit

from ._shared import NearestVariant, loss_table

KERNELS = ("gaussian", "triangular", "epanechnikov", "biweight", "triweight", "cosine")
NAMES = ("uniform", "inverse", "softmax", "dudani", *KERNELS)
UNIFORM, INVERSE, SOFTMAX, DUDANI = range(4)
GAUSSIAN, TRIANGULAR, EPANECHNIKOV, BIWEIGHT, TRIWEIGHT, COSINE = range(4, 10)
RANKS, FUNCTION = -2, -1
"""The weights that have a name, an array of weights, and a Python function."""

SIGNED = (UNIFORM, SOFTMAX, DUDANI, RANKS, FUNCTION)
"""The weights that have a meaning for negative distances."""
MAX_EXPONENT = 600.0
"""Of softmax weights that are relative to the nearest of the list; of longer lists, to that of the set."""
TINY = 2.0**-600
"""Inverses of smaller distances are scaled, so that no sum of K of them and no product overflows."""
SCALED_BASE = 2.0**-474
"""By this power of 2, which changes no digit."""
TEMPERATURE = 0.07
"""The default temperature, that of DINO (Caron et al. 2021, section 4.1)."""
MAX_STEPS = 200_000
"""The default of `max_steps`: a few milliseconds."""
WEIGHTING = {
    "n_neighbors": 5,
    "weights": "inverse",
    "temperature": TEMPERATURE,
    "bandwidth": None,
    "max_steps": MAX_STEPS,
}
"""The parameters of the rules that weigh their neighbors, with their defaults."""
LARGEST = 1e100  # so that no sum or product of weights overflows
SHOWN = "'" + "', '".join(NAMES) + "'"


class WeightFields(NamedTuple):
    """The integers that the functions read."""

    form: int
    n_votes: int
    max_steps: int
    signed: int  # 1 where distances may be below 0
    random: int  # 1 if tied votes are shared out
    normalize: int  # 1 if weights are divided by their sum
    absolute: int  # 1 if errors are not squared


class WeightNumbers(NamedTuple):
    """The numbers that they read; the factors of the classes follow. ``weights`` are those of the ranks."""

    scale: float  # the temperature or the bandwidth; 0 for none


@inner
def are_unknown(fields, distances):
    """Return True if the weights are a Python function of the distances, or have no meaning for them."""
    return fields.form == FUNCTION or (distances[0] < 0 and fields.signed == 0)


@inner
def kernel_value(form, u):
    """The kernel at u >= 0, relative to its value at 0 (Hechenbichler & Schliep 2004, section 3)."""
    if form == GAUSSIAN:
        return math.exp(-0.5 * u * u)
    if u >= 1:
        return 0.0
    if form == TRIANGULAR:
        return 1 - u
    if form == COSINE:
        return math.cos(0.5 * math.pi * u)
    rest = 1 - u * u
    if form == EPANECHNIKOV:
        return rest
    if form == BIWEIGHT:
        return rest * rest
    return rest * rest * rest


@inner
def base_of(form, distances, n):
    """The distance that has the weight 1 in `pair_weight`, for the `n` first of ascending distances."""
    if form != INVERSE:
        return distances[0]
    for t in range(n):
        if distances[t] > 0:
            return 1.0 if distances[t] >= TINY else SCALED_BASE
    return 1.0


@inner
def pair_weight(form, distance, base, scale):
    """The weight of a sample where it depends on its own distance alone, up to a common factor.

    `base` is the distance that has the weight 1, for "softmax" and "inverse". The inverse of 0 is infinity.
    `scale` is the temperature or the bandwidth.
    """
    if form == UNIFORM:
        return 1.0
    if form == INVERSE:
        return np.inf if distance == 0 else base / distance
    if form == SOFTMAX:
        return math.exp((base - distance) / scale)
    return kernel_value(form, distance / scale)


@inner
def depends_on_pair(form, scale):
    """Return True if a sample's weight depends on its own distance alone."""
    return form in (UNIFORM, INVERSE, SOFTMAX) or (form >= GAUSSIAN and scale > 0)


@inner
def fill_weights(form, distances, n, scale, ranks, weights):
    """Fill the weights of the `n` nearest samples; `distances` are ascending.

    A kernel without a bandwidth (`scale` is 0) takes ``distances[n]``, that of the next neighbor.
    """
    if form in (RANKS, FUNCTION):
        given = ranks if form == RANKS else distances
        for t in range(n):
            weights[t] = given[t]
    elif form == DUDANI:
        for t in range(n):
            weights[t] = distances[n - 1] - distances[t]
    elif depends_on_pair(form, scale):
        base = base_of(form, distances, n)
        for t in range(n):
            weights[t] = pair_weight(form, distances[t], base, scale)
    else:
        bandwidth = distances[n]
        for t in range(n):
            u = 1.0 if distances[t] == bandwidth else distances[t] / bandwidth
            weights[t] = kernel_value(form, u)
    settle(weights, n)


@jit
def settle(weights, n):
    """Infinite weights become 1 and leave the others none; where all weights are 0, all become 1."""
    infinite = False
    positive = False
    for t in range(n):
        infinite = infinite or weights[t] == np.inf
        positive = positive or weights[t] > 0
    if infinite:
        for t in range(n):
            weights[t] = 1.0 if weights[t] == np.inf else 0.0
    elif not positive:
        for t in range(n):
            weights[t] = 1.0


def form_of(weights: Any) -> int:
    """The code of the weights.

    Raises
    ------
    ValueError
        If it is an unknown name.
    TypeError
        If it is no name, no array and no function.
    """
    if isinstance(weights, str):
        if weights in (*NAMES, "distance"):
            return INVERSE if weights == "distance" else NAMES.index(weights)
        closest = difflib.get_close_matches(weights.lower(), [*NAMES, "distance"], n=1)
        hint = f"; did you mean {closest[0]!r}?" if closest else ""
        msg = f"weights must be {SHOWN}, an array of K numbers or a function, got {weights!r}{hint}"
        raise ValueError(msg)
    if callable(weights):
        return FUNCTION
    if isinstance(weights, Sequence | np.ndarray):
        return RANKS
    msg = f"weights must be {SHOWN}, an array of K numbers or a function, got {weights!r}"
    raise TypeError(msg)


def is_adaptive(parameters: Mapping[str, Any]) -> bool:
    """Return True if the next neighbor's distance is the bandwidth."""
    return form_of(parameters["weights"]) >= GAUSSIAN and parameters["bandwidth"] is None


def settled_form(parameters: Mapping[str, Any]) -> int:
    """The code of the weights; UNIFORM where they cannot differ."""
    form = form_of(parameters["weights"])
    alike = form == RANKS and np.ptp(np.asarray(parameters["weights"], dtype=float)) == 0
    return UNIFORM if alike else form


def _show(form: int) -> str:
    return {RANKS: "an array of weights", FUNCTION: "a function"}.get(form, f"weights={NAMES[form]!r}")


def _check_positive(name: str, value: Any) -> None:
    check(0 < check_real(name, value) <= LARGEST, f"{name} must be above 0 and at most {LARGEST:g}", value)


def _check_ranks(weights: Any, k: int) -> None:
    must = "the weights of the ranks must be real numbers, one for each of the K nearest"
    numbers = as_reals("weights", weights, must)
    msg = (
        f"weights as an array must have shape ({k},), one for each of the n_neighbors={k} ranks, got "
        f"shape {numbers.shape}"
    )
    check(numbers.shape == (k,), msg)
    must = f"the weights of the ranks must be at least 0 and at most {LARGEST:g}, one of them above 0"
    check(numbers.min() >= 0 and numbers.max() <= LARGEST and numbers.max() != 0, must, weights)


def _check_given(weights: Any, shape: tuple[int, ...]) -> Array:
    must = "the function of weights must return real numbers, one for each distance"
    found = np.asarray(weights)
    msg = (
        f"the function of weights must return an array of shape {shape}, that of the distances, got "
        f"shape {found.shape}"
    )
    check(found.shape == shape, msg)
    check(found.dtype.kind in "biuf", f"{must}, got {found.dtype}", error=TypeError)
    found = np.array(found, dtype=float, order="C")
    bad = ~((found >= 0) & (found <= LARGEST))
    if bad.any():
        msg = f"the function of weights must return numbers from 0 to {LARGEST:g}, got {found[bad][0]}"
        raise ValueError(msg)
    return found


def is_signed(parameters: Mapping[str, Any]) -> bool:
    """Return True if the weights have a meaning for distances below 0."""
    form = form_of(parameters["weights"])
    return form in SIGNED and (form != SOFTMAX or parameters.get("normalize", True))


def class_factors(class_weight: Any, classes: Array, counts: Array) -> tuple[float, ...] | None:
    """The factor of every class, from None, "balanced", a mapping of labels, or one number for each class.

    "balanced" is ``n_items / (n_classes * counts)``, as in scikit-learn, from all samples.

    Raises
    ------
    ValueError
        If a label is unknown, or a factor is not above 0.
    TypeError
        If it is something else, or holds something that is not a number.
    """
    must = "class_weight must be None, 'balanced', a mapping from labels, or a number for each class"
    if class_weight is None:
        return None
    labels = list(classes)
    if isinstance(class_weight, str):
        check(class_weight == "balanced", must, class_weight)
        return tuple(float(sum(counts)) / (len(labels) * max(int(count), 1)) for count in counts)
    if isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in labels]
        if unknown:
            known = np.asarray(classes).tolist()
            msg = f"class_weight has the label {unknown[0]!r}, but the classes are {known}"
            raise ValueError(msg)
        found = [class_weight.get(label, 1.0) for label in labels]
    elif isinstance(class_weight, Sequence | np.ndarray):
        found = list(class_weight)
    else:
        msg = f"{must}, got {class_weight!r}"
        raise TypeError(msg)
    numbers = as_reals("class_weight", found, must)
    msg = (
        f"class_weight must have one number for each of the {len(labels)} classes, got shape "
        f"{numbers.shape}"
    )
    check(numbers.shape == (len(labels),), msg)
    must = f"the numbers of class_weight must be above 0 and at most {LARGEST:g}"
    check(numbers.min() > 0 and numbers.max() <= LARGEST, must, class_weight)
    return tuple(float(number) for number in numbers)


class WeightedVariant(NearestVariant):
    """What the rules share that weigh their nearest samples: how the parameters decide what they need."""

    fields = WeightFields

    def n_nearest(self, **parameters: Any) -> int:
        """K, or K + 1 if the next neighbor's distance is the bandwidth."""
        return int(parameters["n_neighbors"]) + is_adaptive(parameters)

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse weights that do not fit K, K larger than a training set, and a loss that does not fit."""
        form, k = form_of(parameters["weights"]), parameters["n_neighbors"]
        if is_adaptive(parameters):
            limit = (
                "the size of the training set less one, since the next neighbor's distance is the bandwidth"
            )
            check_integer("n_neighbors", k, 1, task.train_size - 1, limit)
        super().check(task, **parameters)
        if form == RANKS:
            _check_ranks(parameters["weights"], int(k))
        temperature, bandwidth = parameters["temperature"], parameters["bandwidth"]
        _check_positive("temperature", temperature)
        msg = (
            "temperature is a parameter of weights='softmax', got "
            f"temperature={temperature!r} with {_show(form)}"
        )
        check(form == SOFTMAX or temperature == TEMPERATURE, msg)
        if bandwidth is not None:
            _check_positive("bandwidth", bandwidth)
            if form < GAUSSIAN:
                names = ", ".join(repr(name) for name in KERNELS)
                msg = (
                    f"bandwidth is a parameter of the kernels {names}, got bandwidth={bandwidth!r} "
                    f"with {_show(form)}"
                )
                raise ValueError(msg)
        check_integer("max_steps", parameters["max_steps"], 1)

    def needs_distances(self, **parameters: Any) -> bool:
        """True for all weights but those of the ranks, and equal ones."""
        return settled_form(parameters) not in (RANKS, UNIFORM)

    def prepares_distances(self, **parameters: Any) -> bool:
        """True for a function, and where distances below 0 have no meaning."""
        return callable(parameters["weights"]) or not is_signed(parameters)

    def prepare_distances(self, distances: Array, **parameters: Any) -> Array | None:
        """The weights, if they are a function of the distances.

        Raises
        ------
        ValueError
            If a distance is negative and has no meaning then, the function returns another shape, or a
            weight is negative, infinite or not a number.
        TypeError
            If the function returns a value that is not a real number.
        """
        if not is_signed(parameters) and (distances < 0).any():
            shown, lowest = _show(form_of(parameters["weights"])), distances[distances < 0][0]
            msg = f"{shown} needs distances of at least 0, got {lowest}"
            raise ValueError(msg)
        if not callable(parameters["weights"]):
            return None
        return _check_given(parameters["weights"](distances.copy()), distances.shape)

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The scale, the factors of the classes, the weights of the ranks, and the losses."""
        msg = f"variant {self.name!r} has no exact rational mode; leave exact=True out"
        check(task.number is not Fraction, msg)
        form = settled_form(parameters)
        scale = parameters["temperature"] if form == SOFTMAX else parameters["bandwidth"] or 0
        factors = parameters.get("class_weight") or np.ones(task.n_classes)
        fields = WeightFields(
            form,
            int(parameters["n_neighbors"]),
            int(parameters["max_steps"]),
            int(is_signed(parameters)),
            int(parameters.get("vote_ties") == "random"),
            int(parameters.get("normalize", True)),
            int(parameters.get("score") == "absolute_error"),
        )
        return Tables(
            fields,
            (*WeightNumbers(float(scale)), *factors),
            np.asarray(parameters["weights"], dtype=float) if form == RANKS else (),
            loss_table(parameters.get("loss"), float),
        )
