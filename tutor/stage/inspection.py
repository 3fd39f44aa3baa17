"""A file of the user's own: its CONFIG, its `make_args`, its `reference`, and its function on flat arrays."""

from __future__ import annotations

import inspect
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from tutor.findings import finding
from tutor.protocol import ArraySpec, Finding, ToleranceSpec
from tutor.stage.attempt import CannotLoad, decode, entry_in, load_module
from tutor.stage.explain.reading import Reading
from tutor.stage.explain.table import RAW_LIMIT, clean, first_line
from tutor.stage.explain.where import place_of
from tutor.wire import Attempt, OwnFile, Prepared
from tutor.workers.arrays import Array, pack

NUMPY_RTOL = 1e-7
"""What `numpy.testing.assert_allclose` takes where TOL names `atol` alone; `rtol` alone means `atol` 0."""


@dataclass(frozen=True)
class OwnCall:
    """The user's function and the arguments that `make_args` gave. `names` and `arrays` are those that are traced."""

    module: ModuleType
    text: str
    path: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    names: tuple[str, ...]
    arrays: tuple[Array, ...]

    def __call__(self, *arrays: Any, **static: Any) -> Any:
        """The function on these arrays, in the place of those of `make_args`; `static` are block sizes to try."""
        leaves, structure = jax.tree.flatten(self.arguments)
        given = iter(arrays)
        arguments = jax.tree.unflatten(
            structure, [_placed(next(given), leaf) if _is_array(leaf) else leaf for leaf in leaves]
        )
        extra = {"interpret": False} if _takes_interpret(self.function) else {}
        return self.function(*arguments, **extra, **static)


def own_call(attempt: Attempt) -> OwnCall:
    """Load an inspected file and make its arguments. `CannotLoad` if that does not work."""
    assert attempt.own is not None
    _open_up(attempt.own, attempt)
    try:
        module, text = load_module(attempt), decode(attempt.source)
        function = entry_in(module, attempt)
    except CannotLoad as refused:
        raise CannotLoad(_in_own_words(refused.finding, attempt.own)) from None
    arguments = _make_args(module, text, attempt)
    try:
        bound = inspect.signature(function).bind(*arguments)
    except ValueError:
        bound = None  # a callable without a signature: the call itself will tell
    except TypeError as error:
        message = (
            f"`{attempt.entry}` cannot be called with what `make_args` gives ({_count(arguments)}): {error}. Its "
            f"parameters are {attempt.entry}{inspect.signature(function)}."
        )
        hint = "make_args returns a tuple with one entry for each positional parameter."
        raise CannotLoad(finding("KT105", message, line=_line(text, attempt.entry), hint=hint)) from None
    paths, _ = jax.tree.flatten_with_path(arguments)
    arrays = [(_name(path, bound), _as_array(leaf)) for path, leaf in paths if _is_array(leaf)]
    return OwnCall(module, text, attempt.path, function, arguments, _unique(n for n, _ in arrays),
                   tuple(a for _, a in arrays))  # fmt: skip


def prepare(attempt: Attempt) -> Prepared:
    """Arguments and wanted outputs of an inspected file. `CannotLoad` says what of it cannot be used."""
    began = time.monotonic()
    call = own_call(attempt)
    arrays = dict(zip(call.names, call.arrays, strict=True))
    return Prepared(
        inputs=[ArraySpec(name, list(a.shape), a.dtype.name) for name, a in arrays.items()],
        data=pack(arrays),
        integers=pack({name: a for name, a in arrays.items() if np.issubdtype(a.dtype, np.integer)}),
        expected=_expected(call, attempt),
        tolerance=_tolerance(call.module, call.text),
        may_hang=bool(getattr(call.module, "MAY_HANG", False)),
        seconds=time.monotonic() - began,
    )


# ---------------------------------------------------------------- before the file runs


def _open_up(own: OwnFile, attempt: Attempt) -> None:
    sys.path[:0] = [folder for folder in own.import_from if folder not in sys.path]
    if own.folder is not None:
        os.chdir(own.folder)
    for name, value in own.config.items():
        try:
            jax.config.update(name, value)
        except (AttributeError, TypeError, ValueError) as error:
            message = f"CONFIG sets {name!r} to {value!r}, and JAX does not take that: {first_line(str(error))}."
            line = _line(attempt.source.decode("utf-8", "replace"), "CONFIG")
            raise CannotLoad(finding("KT130", message, line=line, raw=_raw(error))) from None


# ---------------------------------------------------------------- arguments


def _make_args(module: ModuleType, text: str, attempt: Attempt) -> tuple[Any, ...]:
    make = getattr(module, "make_args", None)
    if not callable(make):
        message = (
            "The file defines no function `make_args`, so there is nothing to call "
            f"`{attempt.entry}` with. It takes nothing and returns the tuple of arguments."
        )
        hint = "For example: def make_args(): return (np.ones((8, 128), np.float32),)"
        raise CannotLoad(finding("KT131", message, hint=hint))
    try:
        made = make()
    except MemoryError:
        raise
    except BaseException as error:  # SystemExit is the file's too
        raise CannotLoad(_raised("KT131", "make_args()", error, text, attempt.path)) from None
    arguments = tuple(made) if isinstance(made, tuple | list) else (made,)
    for leaf in jax.tree.leaves(arguments):
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "OSUMm":
            message = f"make_args gives an array of dtype {leaf.dtype}. A kernel takes arrays of numbers."
            raise CannotLoad(finding("KT131", message, line=_line(text, "make_args")))
    return arguments


def _is_array(leaf: Any) -> bool:
    """Whether a leaf is traced. Numbers, strings and keys of random bits are the same in every call."""
    if isinstance(leaf, jax.Array):
        return not jnp.issubdtype(leaf.dtype, jax.dtypes.extended)
    return isinstance(leaf, np.ndarray | np.generic)


def _placed(array: Any, like: Any) -> Any:
    """`array`, spread over several devices as the array of `make_args` is."""
    sharding = like.sharding if isinstance(like, jax.Array) else None
    several = isinstance(sharding, jax.sharding.NamedSharding) and len(sharding.device_set) > 1
    return jax.device_put(array, sharding) if several else array


def _as_array(leaf: Any) -> Array:
    array = np.asarray(leaf)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)


def _name(path: tuple[Any, ...], bound: inspect.BoundArguments | None) -> str:
    """`x`, or `params['w']` for a part of an argument, by the function's own parameter names."""
    position = path[0].idx
    named = f"arg{position}"
    if bound is not None:
        places = [(p, i) for p in bound.arguments for i in range(_width(bound, p))]
        parameter, i = places[position]
        several = bound.signature.parameters[parameter].kind is inspect.Parameter.VAR_POSITIONAL
        named = f"{parameter}{i}" if several else parameter
    return f"{named}{jax.tree_util.keystr(path[1:])}".replace("|", "_").replace("/", "_")


def _width(bound: inspect.BoundArguments, parameter: str) -> int:
    several = bound.signature.parameters[parameter].kind is inspect.Parameter.VAR_POSITIONAL
    return len(bound.arguments[parameter]) if several else 1


def _unique(names: Any) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        count = seen[name] = seen.get(name, 0) + 1
        found.append(name if count == 1 else f"{name}#{count}")
    return tuple(found)


def _takes_interpret(function: Callable[..., Any]) -> bool:
    try:
        return "interpret" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


# ---------------------------------------------------------------- what is wanted


def _expected(call: OwnCall, attempt: Attempt) -> bytes | None:
    reference = getattr(call.module, "reference", None)
    if reference is None:
        return None
    copied = jax.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, call.arguments)
    try:
        wanted = reference(*copied)
        arrays = {f"out{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(wanted))}
    except MemoryError:
        raise
    except BaseException as error:
        raise CannotLoad(_raised("KT129", "reference(*make_args())", error, call.text, attempt.path)) from None
    bad = next((a for a in arrays.values() if a.dtype.kind in "OSUMmc"), None)
    if bad is not None or not arrays:
        gave = "nothing" if bad is None else f"an array of dtype {bad.dtype}"
        message = f"`reference` returns {gave}. It must return what `{attempt.entry}` should: real numbers."
        raise CannotLoad(finding("KT129", message, line=_line(call.text, "reference")))
    return pack(arrays)


def _tolerance(module: ModuleType, text: str) -> ToleranceSpec:
    given = getattr(module, "TOL", None)
    if given is None:
        return ToleranceSpec()
    known = {"rtol", "atol"}
    if not isinstance(given, Mapping) or not set(given) <= known or not all(map(_is_bound, given.values())):
        message = f"TOL is {given!r}. It must be dict(rtol=…, atol=…) with numbers from 0 up, as NumPy takes them."
        raise CannotLoad(finding("KT130", clean(message)[:500], line=_line(text, "TOL")))
    return ToleranceSpec(
        rtol=float(given.get("rtol", 0.0 if "atol" not in given else NUMPY_RTOL)), atol=float(given.get("atol", 0.0))
    )


def _is_bound(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


# ---------------------------------------------------------------- words


def _in_own_words(found: Finding, own: OwnFile) -> Finding:
    """What is different for a file of the user's own: what it may import, and which functions may be judged."""
    if found.code == "KT104":
        hint = f"{found.hint or ''} `kerneltutor inspect FILE:FUNCTION` judges another function than `run`.".strip()
        return msgspec.structs.replace(found, hint=hint)
    if found.code != "KT109":
        return found
    if "relative import" in (found.raw or ""):
        message = (
            "The file imports from the package that it is in, but its folder is none: there is no `__init__.py` in it, "
            "or the import goes up too far."
        )
        hint = "Add the `__init__.py`, or import by the module's full name from the working directory."
        return msgspec.structs.replace(found, message=message, hint=hint)
    missing = re.search(r"No module named '([^']*)'", found.raw or "")
    name = f"`{missing[1]}`" if missing else "one of its modules"
    if own.folder is not None:
        message = f"The file imports {name}, which is neither beside it, nor in the working directory, nor installed."
        hint = "Install it into the environment that kerneltutor runs in, or set PYTHONPATH."
    else:
        message = (
            f"The file imports {name}. In the jail it may import what is installed beside the tutor, and what stands "
            "in its own folder."
        )
        hint = "Leave out --jail, if you trust the file: then the working directory and your environment are too."
    return msgspec.structs.replace(found, message=message, hint=hint)


def _raised(code: str, what: str, error: BaseException, text: str, path: str) -> Finding:
    place = place_of(error, path)
    said = first_line(str(error))
    message = f"`{what}` stopped with {type(error).__name__}{f': {said}' if said else ''}."
    return finding(
        code, message, line=place.line if place else None, column=place.column if place else None, raw=_raw(error)
    )


def _raw(error: BaseException) -> str:
    return clean(f"{type(error).__name__}: {error}")[:RAW_LIMIT]


def _line(text: str, name: str) -> int | None:
    """The line that defines a function or name at the left edge of the file."""
    for node in Reading(text).tree.body:
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if getattr(node, "name", None) == name or any(getattr(t, "id", None) == name for t in targets):
            return node.lineno
    return None


def _count(arguments: tuple[Any, ...]) -> str:
    return "1 argument" if len(arguments) == 1 else f"{len(arguments)} arguments"
