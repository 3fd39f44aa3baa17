"""The exercise's own truth: `oracle.py`, run inside a judge child."""

from __future__ import annotations

import linecache
import sys
import traceback
from pathlib import PurePath
from types import ModuleType
from typing import Any

import numpy as np

from tutor.protocol import CaseSpec
from tutor.wire import OracleFile
from tutor.workers.arrays import Array, dtype_named

MODULE = "oracle"


class BrokenOracle(Exception):
    """The exercise's oracle is at fault, not the learner."""


class Oracle:
    """`make_inputs` and `expected` of one exercise, checked against the case's specs."""

    def __init__(self, file: OracleFile) -> None:
        self._module = ModuleType(MODULE)
        self._module.__file__ = file.path
        sys.modules[MODULE] = self._module  # a dataclass looks its own module up
        try:
            text = file.source.decode("utf-8-sig")
            linecache.cache[file.path] = (len(text), None, text.splitlines(keepends=True), file.path)
            exec(compile(text, file.path, "exec", dont_inherit=True), self._module.__dict__)
        except Exception as error:
            raise BrokenOracle(f"{_place(file.path, error)}: the oracle does not load: {_words(error)}") from error

    @property
    def module(self) -> ModuleType:
        return self._module

    def make_inputs(self, case: CaseSpec, seed: int) -> dict[str, Array]:
        """Inputs by name, with exactly the shapes and dtypes of `case.inputs`."""
        made = self._call("make_inputs", np.random.default_rng(seed), case)
        if not isinstance(made, dict):
            raise BrokenOracle("make_inputs must return a dict of arrays by input name.")
        inputs: dict[str, Array] = {}
        for spec in case.inputs:
            if spec.name not in made:
                raise BrokenOracle(f"make_inputs gives no array for {spec.name}.")
            array = np.asarray(made[spec.name])
            if array.shape != tuple(spec.shape) or array.dtype != dtype_named(spec.dtype):
                raise BrokenOracle(
                    f"make_inputs gives {spec.name} as {array.dtype}{list(array.shape)} in case {case.name}; "
                    f"exercise.toml says {spec.dtype}{spec.shape}."
                )
            inputs[spec.name] = array
        return inputs

    def expected(self, inputs: dict[str, Array], case: CaseSpec) -> list[Array]:
        """The right outputs, in order. Float outputs may be in a wider dtype than the exercise's."""
        answer = self._call("expected", {name: array.copy() for name, array in inputs.items()}, case)
        outputs = [np.asarray(item) for item in (answer if isinstance(answer, tuple | list) else (answer,))]
        shapes = [array.shape for array in outputs]
        wanted = [tuple(spec.shape) for spec in case.outputs]
        if shapes != wanted:
            raise BrokenOracle(f"expected gives shapes {shapes} in case {case.name}; exercise.toml says {wanted}.")
        return outputs

    def _call(self, name: str, *arguments: Any) -> Any:
        function = getattr(self._module, name, None)
        if function is None:
            raise BrokenOracle(f"{_name(str(self._module.__file__))}: the oracle defines no function `{name}`.")
        try:
            return function(*arguments)
        except Exception as error:
            place = _place(str(self._module.__file__), error)
            raise BrokenOracle(f"{place}: `{name}` of the oracle failed: {_words(error)}") from error


def _place(path: str, error: Exception) -> str:
    """`file:line`: where in the oracle an error arose, or where Python could not read it."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{_name(path)}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f"{_name(path)}:{lines[-1]}" if lines else _name(path)


def _name(path: str) -> str:
    """CHAPTER/EXERCISE/oracle.py: the same on every machine."""
    return "/".join(PurePath(path).parts[-3:])


def _words(error: Exception) -> str:
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
