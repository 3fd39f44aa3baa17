"""What an inspected file gives in place of an oracle: one set of inputs, and the outputs that are wanted of them."""

from __future__ import annotations

import re

import jax

from tutor.judge.oracle import BrokenOracle, Oracle
from tutor.protocol import CaseSpec
from tutor.wire import ConfigValue, Given, OracleFile
from tutor.workers.arrays import Array, unpack

NOT_OURS = re.compile(r"platform|cache|dir|dump|log|profil|distributed|coordinat")
"""Settings that say where a process runs or writes, and nothing about numbers."""


class GivenTruth:
    """Stands where an `Oracle` does. The seed decides nothing: there is one set of inputs."""

    def __init__(self, given: Given) -> None:
        self._inputs = _readable(given.inputs)
        self._expected = None if given.expected is None else _readable(given.expected)

    def make_inputs(self, case: CaseSpec, seed: int) -> dict[str, Array]:
        """The inputs by name, in call order."""
        return {spec.name: self._inputs[spec.name] for spec in case.inputs}

    def expected(self, inputs: dict[str, Array], case: CaseSpec) -> list[Array]:
        """The wanted outputs, in order."""
        if self._expected is None:
            raise BrokenOracle("There is nothing to compare with.")
        return [self._expected[f"out{i}"] for i in range(len(self._expected))]


def truth(oracle: OracleFile | None, given: Given | None) -> Oracle | GivenTruth:
    """What a job is judged by."""
    if given is not None:
        return GivenTruth(given)
    if oracle is None:
        raise BrokenOracle("The exercise has no oracle.")
    return Oracle(oracle)


def configure(config: dict[str, ConfigValue]) -> None:
    """Set JAX up as the inspected file asks, so that 64-bit types and precisions mean the same on both sides."""
    for name, value in config.items():
        if not NOT_OURS.search(name):
            jax.config.update(name, value)


def _readable(data: bytes) -> dict[str, Array]:
    try:
        return unpack(data)
    except ValueError as error:
        raise BrokenOracle(f"The arrays of the file cannot be read: {error}") from None
