# ruff: noqa: ARG001
"""The frame of vectors of eight numbers for compiled code: their Numba type, rows, and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from ._compile import jit

WIDTH = 8
_PLAIN = bool(getattr(numba.config, "DISABLE_JIT", False))


class VectorType(types.Type):
    """The type of vectors; `vector` is that of LLVM."""

    def __init__(self, name: str, element: Any) -> None:
        super().__init__(name=name)
        self.vector = ir.VectorType(element, WIDTH)


@register_model(VectorType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, fe_type.vector)


def function_of(module: str, definition: Callable[..., Any], plain: Any) -> Any:
    """An intrinsic of a module, whose source its callers' cache then knows; `plain` without compilation."""
    definition.__module__ = module
    return plain if _PLAIN else intrinsic(definition)


def vector_function(
    module: str, kind: VectorType, emit: Callable[..., Any], plain: Any, n: int = 2, result: Any = None
) -> Any:
    """A function of n vectors from ``emit(builder, ...)``, or `plain` on NumPy's arrays of eight.

    It returns a vector, unless another type is given as `result`.
    """
    found = result or kind

    def generate(context, builder, signature, args):
        return emit(builder, *args)

    def of_none(typing_context):
        return found(), generate

    def of_one(typing_context, a):
        return found(a), generate

    def of_two(typing_context, a, b):
        return found(a, b), generate

    def of_three(typing_context, a, b, c):
        return found(a, b, c), generate

    return function_of(module, (of_none, of_one, of_two, of_three)[n], plain)


def load_and_store(module: str, kind: VectorType) -> tuple[Any, Any]:
    """``load(rows, r)`` and ``store(rows, r, vector)`` of a row of an array; r is not checked."""

    def pointer(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        row = context.cast(builder, args[1], signature.args[1], types.intp)
        first = builder.mul(row, context.get_constant(types.intp, WIDTH))
        return builder.bitcast(builder.gep(data, [first]), kind.vector.as_pointer())

    def generate_load(*frame):
        return frame[1].load(pointer(*frame), align=8)

    def generate_store(context, builder, signature, args):
        builder.store(args[2], pointer(context, builder, signature, args), align=8)
        return context.get_dummy_value()

    def load(typing_context, rows, r):
        return kind(rows, r), generate_load

    def store(typing_context, rows, r, x):
        return types.void(rows, r, x), generate_store

    def plain_store(rows, r, x):
        rows[r] = x

    return function_of(module, load, lambda rows, r: rows[r].copy()), function_of(
        module, store, plain_store
    )


@jit
def aligned_rows(numbers):
    """The rows of ``numbers`` ((n_rows + 1) * 8,) but one, from the start of a cache line on.

    Vectors across two lines take twice as long.
    """
    skip, end = -(numbers.ctypes.data // 8) % 8, len(numbers) - WIDTH
    return numbers[skip : skip + end].reshape(end // WIDTH, WIDTH)
