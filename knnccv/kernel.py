"""The one kernel signature, its types, and what a variant is.

A *kernel* is a compiled function ``kernel(order, labels, target, constraints) -> A_x``: the share of
the admissible training sets without the tested item that score it right (or the expected score, where
the score is a loss). It is mathematics only. It never sees distances, never validates, never raises on
valid input, and allocates no more than O(depth + classes * K) numbers.

The driver takes kernels as first-class functions of one type (``KERNEL``), so that the compiled driver
is the same for every variant, ours or a third party's, and is compiled and cached once. The same source
runs unjitted on Fractions (see `as_python`): this is the exact mode.

Cost of the indirect call: about 4 ns per tested item. There is never one per neighbour.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import threading
import types as pytypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Kernel: TypeAlias = Callable[..., Any]


class Order(NamedTuple):
    """The neighbour order of one tested item: the other items, from most to least similar.

    ``items``
        int64 array of shape (depth,): the item at every position.
    ``group_end``
        int64 array of shape (depth,): one past the last position of the tied group that holds the
        position. Positions of one group share it; under ``ties="index"`` every group has one item.
    """

    items: Array
    group_end: Array


class Labels(NamedTuple):
    """What is known of every item.

    ``classes``
        int64 array of shape (n_items,): class codes 0 .. C-1 in sorted label order.
    ``values``
        float64 array of shape (n_items, n_outputs): real targets; (0, 0) where there are none.
    """

    classes: Array
    values: Array


class Constraints(NamedTuple):
    """Which training sets are admissible, and the numbers that the variant prepared for them.

    ``n_train``, ``counts``
        int64 arrays of shape (n_strata,): how many items of every stratum are in the training set, and
        how many items the stratum has. Fixed-size designs have one stratum; stratified ones have the
        classes for strata, with the class code as index.
    ``held_out``
        1 where the tested item is one of its stratum's ``counts`` (complete cross-validation); 0 where
        it comes from outside.
    ``unit``
        1.0, or ``Fraction(1)`` in exact mode. Products start from it, so that a division by an integer
        stays exact.
    ``integers``, ``numbers``, ``weights``, ``table``
        The variant's own: int64 (any,), float64 (any,), float64 (any,) and float64 (any, any).
    ``extra``, ``n_extra``
        int64 array of shape (n_strata,), or (0,): where `n_extra` > 0, that many of the strata flagged by
        1, any of them alike, have one more item in the training set than ``n_train`` says.
    """

    n_train: Array
    counts: Array
    held_out: int
    unit: Any
    integers: Array
    numbers: Array
    weights: Array
    table: Array
    extra: Array
    n_extra: int


def _array(dtype: types.Type, ndim: int = 1) -> types.Type:
    return types.Array(dtype, ndim, "C")


ORDER = types.NamedUniTuple(_array(types.int64), 2, Order)
LABELS = types.NamedTuple([_array(types.int64), _array(types.float64, 2)], Labels)
CONSTRAINTS = types.NamedTuple(
    [
        _array(types.int64),
        _array(types.int64),
        types.int64,
        types.float64,
        _array(types.int64),
        _array(types.float64),
        _array(types.float64),
        _array(types.float64, 2),
        _array(types.int64),
        types.int64,
    ],
    Constraints,
)
SIGNATURE = types.float64(ORDER, LABELS, types.int64, CONSTRAINTS)
KERNEL = types.FunctionType(SIGNATURE)
_compiling = threading.Lock()
ARGUMENTS = ("order", "labels", "target", "constraints")


def jit(function: Kernel) -> Kernel:
    """Compile a kernel or a helper of one: serial, GIL-free, cached, strict IEEE arithmetic.

    The cache is left out where Numba has nowhere to put it (a function typed into a session, say).
    """
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)


def as_python(function: Kernel) -> Kernel:
    """The function's own source, unjitted, and so are the jitted functions that it calls.

    Run on Fractions it gives exact rationals. A kernel that calls helpers cannot simply use
    ``py_func``, whose globals still hold the compiled helpers. Helpers are found by their bare global
    names; one called as ``module.helper`` stays compiled.
    """
    return _as_python(function, {})


def _as_python(function: Kernel, done: dict[int, Kernel]) -> Kernel:
    source = getattr(function, "py_func", function)
    if id(source) in done:
        return done[id(source)]
    scope: dict[str, Any] = dict(source.__globals__)
    twin = pytypes.FunctionType(
        source.__code__, scope, source.__name__, source.__defaults__, source.__closure__
    )
    done[id(source)] = twin
    for name in source.__code__.co_names:
        if isinstance(scope.get(name), Dispatcher):
            scope[name] = _as_python(scope[name], done)
    return twin


def is_compiled(kernel: object) -> bool:
    """Whether `kernel` is a jitted function (any function is, while NUMBA_DISABLE_JIT is set)."""
    return isinstance(kernel, Dispatcher) or bool(
        getattr(numba.config, "DISABLE_JIT", False) and callable(kernel)
    )


def compile_kernel(kernel: Kernel, owner: str) -> Kernel:
    """Compile `kernel` for the one signature, in the calling thread.

    Raises
    ------
    TypeError
        If it is no jitted function or does not fit the signature; the message names `owner`.
    """
    check_kernel(kernel, owner)
    if not isinstance(kernel, Dispatcher):
        return kernel
    try:
        with _compiling:
            kernel.compile(SIGNATURE)
    except Exception as error:
        reason = str(error).strip().splitlines()
        msg = (
            f"the kernel {_describe(kernel)} of {owner} does not fit the signature "
            f"({', '.join(ARGUMENTS)}) -> float64 of knnccv.kernel: {_shorten(reason)}"
        )
        raise TypeError(msg) from error
    return kernel


def compiled(function: Kernel, signature: Any) -> Kernel:
    """Compile a driver for its one signature, on first use, in the calling thread.

    Then it is closed: called with a kernel as argument, Numba would prefer to specialise on that very
    kernel, anew in every process, and never find it in the cache again.
    """
    with _compiling:
        if isinstance(function, Dispatcher) and not function.signatures:
            function.compile(signature)
            function.disable_compile()
    return function


def check_kernel(kernel: object, owner: str) -> None:
    """Cheap checks, without compiling: a jitted function of four arguments.

    Raises
    ------
    TypeError
        If it is not; the message names `owner`.
    """
    if not is_compiled(kernel):
        msg = f"the kernel of {owner} must be a function under knnccv.kernel.jit, got {kernel!r}"
        raise TypeError(msg)
    arguments = inspect.signature(getattr(kernel, "py_func", kernel)).parameters  # type: ignore[arg-type]
    if len(arguments) != len(ARGUMENTS):
        msg = (
            f"the kernel {_describe(kernel)} of {owner} must take {len(ARGUMENTS)} arguments "
            f"({', '.join(ARGUMENTS)}), got {len(arguments)} ({', '.join(arguments)})"
        )
        raise TypeError(msg)


def _describe(kernel: object) -> str:
    source: Any = getattr(kernel, "py_func", kernel)
    return f"{source.__module__}.{source.__qualname__}"


def _shorten(reason: list[str]) -> str:
    lines = [line for line in reason if line.strip()]
    return " ".join(lines[:4]) if lines else "no reason given"


@dataclass(frozen=True)
class Task:
    """One kind of training sets, as a variant sees it when it prepares its tables.

    Attributes
    ----------
    n_train, counts : tuple of int
        Per stratum: items in the training set, items in all. One stratum where not `stratified`.
    stratified : bool
        Whether the strata are the classes.
    held_out : int
        1 if the tested item is counted in `counts`, 0 if not.
    n_classes : int
        How many classes there are.
    number : type
        float, or Fraction in exact mode.
    extra : tuple of int
        The strata of which some have one more item in the training set; empty for most designs.
    n_extra : int
        How many of them have, any of them alike.
    """

    n_train: tuple[int, ...]
    counts: tuple[int, ...]
    stratified: bool
    held_out: int
    n_classes: int
    number: type = float
    extra: tuple[int, ...] = ()
    n_extra: int = 0

    @property
    def train_size(self) -> int:
        """Size of every training set."""
        return sum(self.n_train) + self.n_extra

    @property
    def n_available(self) -> int:
        """How many items the training set is drawn from, when one is tested."""
        return sum(self.counts) - self.held_out


@dataclass(frozen=True)
class Tables:
    """What a variant gives its kernel (see `Constraints`); any sequence of numbers will do."""

    integers: Any = ()
    numbers: Any = ()
    weights: Any = ()
    table: Any = field(default_factory=lambda: np.empty((0, 0)))


class Variant(ABC):
    """A nearest-neighbour rule: its kernels, and the numbers that they need.

    Subclass it, set `name`, at least one of the kernels, and `n_nearest`; see ``registry/README.md``.

    Attributes
    ----------
    name : str
        How users ask for it.
    parameters : mapping of str to object
        The names of its parameters with their defaults.
    target : str
        "classes", or "values" where y holds real numbers (`Labels.values`); then there are no strata.
    tie_rules : tuple of str
        Those of ``"index"`` and ``"random"`` that the kernels honour.
    heeds_extra : bool
        Whether the stratified kernel heeds ``constraints.extra``.
    fixed, stratified : kernel or None
        The kernels for training sets of one fixed size, and of a fixed size per class.
    """

    name: ClassVar[str]
    parameters: ClassVar[Mapping[str, Any]] = {}
    target: ClassVar[str] = "classes"
    tie_rules: ClassVar[tuple[str, ...]] = ("index",)
    heeds_extra: ClassVar[bool] = False
    fixed: ClassVar[Kernel | None] = None
    stratified: ClassVar[Kernel | None] = None

    @abstractmethod
    def n_nearest(self, **parameters: Any) -> int:
        """How many of the nearest training items decide the score (K, R)."""

    def check(self, task: Task, **parameters: Any) -> None:  # noqa: B027 (most rules have nothing to check)
        """Raise ValueError or TypeError if the parameters do not suit these training sets."""

    def check_targets(self, values: Array, **parameters: Any) -> None:  # noqa: B027
        """Raise ValueError or TypeError if they do not suit the targets, (n_items, n_outputs)."""

    def largest_score(self, **parameters: Any) -> float:
        """The largest absolute score that one classification can have."""
        return 1.0

    def range_is_exact(self, n_classes: int, **parameters: Any) -> bool:
        """Whether right items first, among equally similar ones, can only raise the score, for any T."""
        return self.n_nearest(**parameters) == 1

    def largest_for(self, values: Array, **parameters: Any) -> float:
        """`largest_score` where it depends on the targets, `values` of shape (n_items, n_outputs)."""
        return self.largest_score(**parameters)

    def measure(self, **parameters: Any) -> str:
        """What the score is, for people to read, such as "top-2 accuracy".

        What contains the word "accuracy" is a share of right answers. Of a surface the number of neighbours
        is "K", or "R" for a `rank`. By default "expected loss" where there is a `loss`, else "score".
        """
        return "expected loss" if parameters.get("loss") is not None else "score"

    def over_kinds(
        self,
        scores: Array,
        weights: Array,
        ask: Callable[..., Array],
        n_outputs: int,
        **parameters: Any,
    ) -> Array:
        """The scores of several kinds of training sets, as their weighted mean should take them.

        For rules whose score over all training sets is no mean of that over each kind (folds that differ in
        size), such as a variance. Where several groups are left out there is one kind, and the kernel has
        been asked of one training set at a time: `scores` are the means over these.

        Parameters
        ----------
        scores : ndarray of shape (n_kinds, n_items)
            What the kernels found; Fractions in exact mode.
        weights : ndarray of shape (n_kinds, n_items)
            What the kinds count for an item; they sum to 1 over the kinds.
        ask : callable
            ``ask(**parameters)`` gives the scores, (n_kinds, n_items), under other parameters.
        n_outputs : int
            How many real targets an item has.
        **parameters
            The variant's.

        Returns
        -------
        ndarray of shape (n_kinds, n_items)
            `scores` by default.
        """
        return scores

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The numbers that the kernel needs, as ``task.number``."""
        return Tables()

    def settings(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with their defaults filled in.

        Raises
        ------
        TypeError
            If one is not known.
        """
        unknown = sorted(set(parameters) - set(self.parameters))
        if unknown:
            allowed = ", ".join(self.parameters) or "none"
            closest = difflib.get_close_matches(unknown[0], self.parameters, n=1)
            hint = f"; did you mean {closest[0]!r}?" if closest else ""
            if unknown[0] == "p":
                hint = "; a metric's go into metric_params"
            msg = f"variant {self.name!r} has no parameter {unknown[0]!r}; it takes: {allowed}{hint}"
            raise TypeError(msg)
        return {**self.parameters, **parameters}

    def kernel_for(self, task: Task) -> Kernel:
        """The kernel that serves these training sets.

        Raises
        ------
        ValueError
            If the variant has none.
        """
        kernel = _unbound(type(self), "stratified" if task.stratified else "fixed")
        if kernel is None:
            kind = "stratified" if task.stratified else "fixed-size"
            other = "Subsample, KFold or LeaveOut" if task.stratified else "a stratified design"
            msg = f"variant {self.name!r} has no kernel for {kind} training sets; try {other}"
            raise ValueError(msg)
        if task.n_extra and not self.heeds_extra:
            msg = f"variant {self.name!r} has no kernel for classes that get one training item more by lot"
            raise ValueError(msg)
        return kernel

    def light_kernel(self, task: Task, constraints: Constraints) -> Kernel | None:
        """A kernel that compiles faster and answers infinity where `kernel_for`'s must be asked, if any."""
        return None

    def __repr__(self) -> str:
        name = getattr(self, "name", None)
        return f"<variant {name!r}: {type(self).__module__}.{type(self).__qualname__}>"

    def kernels(self) -> list[Kernel]:
        """The kernels that the variant has."""
        both = (_unbound(type(self), name) for name in ("fixed", "stratified"))
        return [kernel for kernel in both if kernel is not None]


def _unbound(owner: type, name: str) -> Kernel | None:
    """The kernel itself; getattr on an instance would bind a plain function as a method."""
    found: Kernel | None = inspect.getattr_static(owner, name)
    return found.__func__ if isinstance(found, staticmethod) else found


def constraints_for(task: Task, tables: Tables) -> Constraints:
    """Lay the task and the variant's tables out as the kernel takes them."""
    if task.number is Fraction:
        return Constraints(
            _exact_integers(task.n_train),
            _exact_integers(task.counts),
            task.held_out,
            Fraction(1),
            _exact_integers(tables.integers),
            np.array(list(tables.numbers), dtype=object),
            np.array(list(tables.weights), dtype=object),
            np.array(tables.table, dtype=object),
            _exact_integers(_flags(task)),
            task.n_extra,
        )
    integers = functools.partial(np.require, dtype=np.int64, requirements="CW")
    floats = functools.partial(np.require, dtype=np.float64, requirements="CW")
    return Constraints(
        integers(list(task.n_train)),
        integers(list(task.counts)),
        task.held_out,
        1.0,
        integers(list(tables.integers)),
        floats(list(tables.numbers)),
        floats(tables.weights),
        floats(tables.table),
        integers(_flags(task)),
        task.n_extra,
    )


def _flags(task: Task) -> list[int]:
    if not task.n_extra:
        return []
    return [int(stratum in task.extra) for stratum in range(len(task.counts))]


def _exact_integers(values: Any) -> Array:
    """Python integers: NumPy's would overflow or turn Fractions into floats."""
    return np.array([int(value) for value in values], dtype=object)
