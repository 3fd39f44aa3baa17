"""Running a piece of source as an attempt: through trace, lowering and the simulator, to findings."""

import contextlib
from pathlib import Path

import jax
import jax.export
import numpy as np

from tutor.jaxpr.compat import target
from tutor.jaxpr.facts import case_facts
from tutor.jaxpr.normalise import TPU_ARTIFACT
from tutor.protocol import ArraySpec, CaseSpec
from tutor.stage.explain.lowering import explain_lowering
from tutor.stage.explain.tracing import explain_trace
from tutor.stage.hazards import simulate
from tutor.stage.listening import listening

CASES = Path(__file__).parent.parent / "cases"

PROLOGUE = """\
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
X = np.arange(32 * 256, dtype=np.float32).reshape(32, 256)
F32 = jax.ShapeDtypeStruct((32, 256), jnp.float32)
def make_args(): return (X,)
"""


def case_source(number):
    """The source of the case with this number, and its path."""
    [path] = CASES.glob(f"{number}_*.py")
    return path.read_text(), str(path)


@contextlib.contextmanager
def loaded(source, path):
    """The attempt's names, with its CONFIG applied while the block runs."""
    names = {"__name__": "attempt"}
    exec(compile(source, path, "exec"), names)
    config = names.get("CONFIG", {})
    before = {key: getattr(jax.config, key) for key in config}
    for key, value in config.items():
        jax.config.update(key, value)
    try:
        yield names
    finally:
        for key, value in before.items():
            jax.config.update(key, value)


def trace_finding(source, path="attempt.py"):
    """The finding that tracing gives, or None."""
    with loaded(source, path) as names, target():
        try:
            jax.make_jaxpr(names["run"])(*names["make_args"]())
        except Exception as error:
            return explain_trace(error, source, path)
    return None


def lowering_finding(source, path="attempt.py", *, with_facts=True):
    """The finding that lowering for TPU gives, or None."""
    with loaded(source, path) as names, target():
        args = names["make_args"]()
        jaxpr = jax.make_jaxpr(names["run"])(*args)
        specs = [jax.ShapeDtypeStruct(np.shape(a), a.dtype) for a in args]
        inputs = [ArraySpec(f"x{i}", list(s.shape), str(s.dtype)) for i, s in enumerate(specs)]
        facts = case_facts(jaxpr, CaseSpec("c", inputs, [], {}, {}), None, path) if with_facts else None
        try:
            jax.export.export(jax.jit(TPU_ARTIFACT.as_function(jaxpr)), platforms=["tpu"])(*specs)
        except Exception as error:
            return explain_lowering(error, source, path, facts)
    return None


def simulation(source, mode, path="attempt.py"):
    """One run in the simulator, heard from the trace on."""
    with loaded(source, path) as names, listening() as heard:
        args = names["make_args"]()
        with target():
            jaxpr = jax.make_jaxpr(names["run"])(*args)
        return simulate(jaxpr, args, mode, source, path, heard=heard)


def line_with(source, text):
    """The 1-based number of the first line that holds this text."""
    return next(i for i, line in enumerate(source.splitlines(), 1) if text in line)
