"""Compiled code on disk, named by everything that it was made from.

Numba finds cached code by the source file of the function alone: it does not see that a helper in another
file has changed, and an upgraded package would run the old code. Here the name of a file is a hash of the
function's bytecode, of all compiled functions that it calls, however deep, and of all values that they
freeze. Code of another version is never found. Code that stayed the same is, in every environment.

The interface is Numba's: a dispatcher asks its cache before it compiles, and gives it the result then.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import platform
import re
import sys
import time
import uuid
from operator import itemgetter
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from .._base.validation import check

KEPT_DAYS = 60
"""Files that no process has loaded for so long are removed."""
_VERSIONS = (numba.__version__, np.__version__, platform.python_implementation(), sys.version_info[:2])
_PLAIN = (bool, int, float, complex, str, bytes, slice, type(None), type(...), np.generic)
_FOREIGN = {"numba", "numpy", "scipy", *sys.stdlib_module_names}
_DIGEST = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """Where compiled code is kept: ``NUMBA_CACHE_DIR``, by default in the user's cache folder.

    Raises
    ------
    RuntimeError
        If the user has no home folder.
    """
    numba_folder = getattr(numba.config, "CACHE_DIR", "")  # set from NUMBA_CACHE_DIR
    if numba_folder:
        return Path(numba_folder)
    import platformdirs

    return Path(platformdirs.user_cache_dir("knnccv")).expanduser() / "kernels"


class KernelCache(NullCache):
    """The compiled versions of one function on disk, one file for each signature.

    Nothing is kept of a function that needs the source of a module without a file, such as a class in a
    notebook. A file that is missing, damaged, or of another version is compiled again; where the folder
    cannot be written to, code is kept in the process only. Processes may share the folder: files are
    replaced whole.
    """

    def __init__(self, function: Any) -> None:
        self.function = function

    @property
    def cache_path(self) -> str | None:
        """The folder; None if there is none."""
        with contextlib.suppress(RuntimeError):
            return str(cache_folder())
        return None

    @functools.cached_property
    def stamp(self) -> bytes:
        """The hash of all that the compiled function can contain."""
        contents = Contents()
        contents.add_function(self.function)
        return contents.hash.digest()

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function; None if it must be compiled."""
        target.refresh()
        try:
            path = self.path_of(signature, target.codegen())
            content = path.read_bytes()
        except (OSError, RuntimeError):
            return None
        payload = content[_DIGEST:]
        if hashlib.sha256(payload).digest() != content[:_DIGEST]:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        try:
            result = CompileResult._rebuild(target, *pickle.loads(payload))
        except (ImportError, AttributeError):  # a class has moved to another module
            return None
        # The classes of a script, unlike those of a module, are others in every process.
        return result if result.signature.args == normalize_signature(signature)[0] else None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled function, if there is a folder to write to."""
        if result.lifted or result.library.has_dynamic_globals:
            return
        payload = dumps(result._reduce())
        with contextlib.suppress(OSError, RuntimeError):
            path = self.path_of(signature, result.library.codegen)
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_old(path.parent)
            part = path.with_name(f"{path.stem}.{uuid.uuid4().hex}.part")
            try:
                part.write_bytes(hashlib.sha256(payload).digest() + payload)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)

    def path_of(self, signature: Any, codegen: Any) -> Path:
        """The file of the compiled function, which may not be there.

        Raises
        ------
        RuntimeError
            If there is no folder, or no name for the file.
        """
        arguments = normalize_signature(signature)[0]
        named = [_named_tuples(one) for one in arguments]
        text = repr((signature, named, codegen.magic_tuple(), _VERSIONS))
        msg = f"the signature holds an address, which means nothing to another process: {signature}"
        check(" at 0x" not in text, msg, error=RuntimeError)
        key = hashlib.sha256(self.stamp + text.encode())
        name = re.sub(r"[^\w.]+", "", f"{self.function.__module__}.{self.function.__qualname__}")
        return cache_folder() / f"{name[-100:]}-{key.hexdigest()[:32]}.knnccv"


def _named_tuples(kind: Any) -> Any:
    """The classes and fields of the named tuples in a type, which its name leaves out."""
    of = getattr(kind, "instance_class", None)
    inner = [_named_tuples(one) for one in getattr(kind, "types", ())]
    return of and (of.__module__, of.__qualname__, getattr(of, "_fields", ())), inner


@functools.cache
def _remove_old(kept: Path) -> None:
    """Remove the files of the folder that have not been loaded for long; once in a process."""
    oldest = time.time() - KEPT_DAYS * 86_400
    for path in [one for kind in ("knnccv", "part", "seconds") for one in kept.glob(f"*.{kind}")]:
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


class Contents:
    """The hash of all that compiled code can contain.

    A compiled function counts with its bytecode, constants, defaults, closure, options, and the globals
    that it names. Anything else that it names (an intrinsic, a function with a compiled twin, a class)
    counts with the source file of its module, and all that stands there and is of packages that compiled
    functions are of or name.
    """

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._seen: dict[int, tuple[int, Any]] = {}  # with the values, so that no address is used twice
        self._packages = {"knnccv"}

    def add(self, value: Any) -> None:
        """Add a value, and all that it refers to."""
        if isinstance(value, _PLAIN):
            self._tell(type(value).__name__, value, getattr(value, "dtype", None))
        elif isinstance(value, np.ndarray):
            self._tell(value.dtype, value.shape, value.tobytes())
        elif isinstance(value, (tuple, frozenset, set)):
            self._tell(type(value).__name__, len(value), getattr(value, "_fields", ()))
            for one in value if isinstance(value, tuple) else sorted(value, key=repr):
                self.add(one)
        elif id(value) in self._seen:
            self._tell("again", self._seen[id(value)][0])
        else:
            self._seen[id(value)] = len(self._seen), value
            if isinstance(value, Dispatcher):
                self._tell("compiled", sorted(value.locals.items()))
                self.add(tuple(sorted(value.targetoptions.items(), key=itemgetter(0))))
                self.add_function(value.py_func)
            elif isinstance(value, CodeType):
                self._add_code(value)
            else:
                self._add_other(value)

    def _tell(self, *facts: Any) -> None:
        self.hash.update(repr(facts).encode("utf-8", "backslashreplace"))

    def add_function(self, function: Any) -> None:
        """Add the source of a compiled function, and all that it refers to."""
        self._packages.add(str(function.__module__).partition(".")[0])
        self._tell(function.__module__, function.__qualname__)
        self.add(function.__code__)
        self.add(function.__defaults__)
        self.add(tuple(cell.cell_contents for cell in function.__closure__ or ()))
        names = _names(function.__code__)
        scopes = [function.__globals__]  # and the modules in them, whose attributes the code may name
        for scope in scopes:
            for name in names:
                if name in scope:
                    value = scope[name]
                    self._tell(name)
                    if not isinstance(value, (*_PLAIN, ModuleType)):
                        self._packages |= {_module_of(value).partition(".")[0]} - _FOREIGN
                    self.add(value)
                    if isinstance(value, ModuleType) and all(vars(value) is not one for one in scopes):
                        scopes.append(vars(value))

    def _add_code(self, code: CodeType) -> None:
        self._tell(code.co_code, code.co_names, code.co_varnames, code.co_freevars)
        self._tell(code.co_argcount, code.co_kwonlyargcount, code.co_flags)
        self.add(code.co_consts)

    def _add_other(self, value: Any) -> None:
        name = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
        self._tell(type(value).__name__, name, getattr(value, "__qualname__", ""))
        if isinstance(value, numba.types.Type):
            self._tell(value)
        module = sys.modules.get(name)
        if module is None or name.partition(".")[0] not in self._packages:
            return
        if module is not value:
            self.add(module)
            return
        try:
            self._tell(Path(module.__file__).read_bytes())
        except (OSError, TypeError, AttributeError) as error:  # such as that of a notebook
            msg = f"the module {name} has no source file that tells whether its functions are the same"
            raise RuntimeError(msg) from error
        for name, one in list(vars(module).items()):
            known = isinstance(one, (*_PLAIN, Dispatcher, ModuleType))
            if not name.startswith("__") and (known or _module_of(one).partition(".")[0] in self._packages):
                self._tell(name)
                self.add(one)


def _module_of(value: Any) -> str:
    """The name of the module in which a function, a class, or the class of an object is defined."""
    return str(getattr(value, "__module__", None) or type(value).__module__)


def _names(code: CodeType) -> list[str]:
    """The names of globals, and of attributes, in the code of a function and of the functions within it."""
    inner = [name for one in code.co_consts if isinstance(one, CodeType) for name in _names(one)]
    return [*code.co_names, *inner]
