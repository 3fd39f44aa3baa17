"""Why tracing failed, in plain words (KT110 to KT126, and KT105 for a call that does not fit)."""

from __future__ import annotations

import ast
import re

from tutor.protocol import Finding
from tutor.stage.explain import refs, specs
from tutor.stage.explain.reading import Reading
from tutor.stage.explain.table import Clue, Row, Words, first_line, look_up, speak
from tutor.stage.explain.where import place_of, said_where


def explain_trace(exc: BaseException, source: str, path: str) -> Finding:
    """One finding for what was raised while the attempt was traced. `path` is the file name that its code has."""
    return said_where(_explained(exc, source, path), exc, path)


def _explained(exc: BaseException, source: str, path: str) -> Finding:
    reading, place = Reading(source), place_of(exc, path)
    kind, text = type(exc).__name__, str(exc)
    known = look_up(ROWS, kind, text, place, reading, path)
    if known is not None:
        return known
    return speak("KT110", _generic(kind, text, place is not None), place, f"{kind}: {text}")


# ---------------------------------------------------------------- a Python decision on a traced value (KT118)


def decision(c: Clue) -> Words:
    node = c.reading.node(c.place)
    statement = c.reading.statement(c.place)
    why = (
        "While a kernel is traced, values read from refs, `program_id` and all that is computed from them have no "
        "number yet"
    )
    if "__index__" in c.text or c.kind == "TracerIntegerConversionError":
        if isinstance(statement, ast.For):
            return Words(
                f"{why}, so `range` cannot count up to one. A Python loop is unrolled during tracing.",
                "Use `jax.lax.fori_loop` or `@pl.loop` for a count that is only known when the kernel runs.",
            )
        return Words(
            f"{why}, so Python cannot use one as an index.", "Index refs with `pl.ds(start, size)` or `ref[i]`."
        )
    if c.kind == "TracerArrayConversionError":
        return Words(
            f"{why}, so NumPy cannot work on them: a NumPy function needs the numbers at once.",
            "Use the function of the same name from `jax.numpy`.",
        )
    if isinstance(node, ast.Subscript) or (statement and _has_slice(statement, c)):
        return Words(
            f"{why}, and a Python slice `a:b` must have a length that is known now. Here a bound is a traced value.",
            "Write `pl.ds(start, size)`: the start may be traced, the size is a Python number.",
        )
    if isinstance(statement, ast.While):
        return Words(f"{why}, so `while` cannot decide whether to go on.", "Use `jax.lax.while_loop`.")
    if isinstance(node, ast.BoolOp) or (statement and any(isinstance(n, ast.BoolOp) for n in _head(statement))):
        return Words(
            f"{why}, so `and` and `or` cannot decide which side to take.",
            "Write `(a) & (b)` or `(a) | (b)`, with brackets around each comparison.",
        )
    if c.kind == "ConcretizationTypeError" or "concrete value" in c.text:
        return Words(
            f"{why}, but a Python number is needed here (`int(…)`, `float(…)`, `.item()`, or a size).",
            "Keep it a traced scalar, or pass it as a keyword argument that is a Python number.",
        )
    return Words(
        f"{why}, so `{'if' if not isinstance(statement, ast.Assert) else 'assert'}` cannot choose a branch.",
        "Use `@pl.when(condition)` for stores, `jnp.where` or `jax.lax.cond` for values.",
    )


def _has_slice(statement: ast.stmt, c: Clue) -> bool:
    return any(
        isinstance(n, ast.Slice)
        and (n.lower or n.upper)
        and c.place
        and n.lineno <= c.place.line <= (n.end_lineno or 0)
        for n in _head(statement)
    )


def _head(statement: ast.stmt) -> list[ast.AST]:
    """The nodes of the statement without those of its body."""
    test = getattr(statement, "test", None) if isinstance(statement, ast.If | ast.While | ast.Assert) else None
    return list(ast.walk(test if test is not None else statement))


def concrete_shape(c: Clue) -> Words:
    return Words(
        "A shape must be made of Python numbers, but one of its entries is a traced value. Shapes are fixed when the "
        "kernel is traced.",
        "Use `ref.shape` or a keyword argument for sizes; a length that varies needs a mask instead.",
    )


# ---------------------------------------------------------------- shapes that do not fit (KT125)


def shapes(c: Clue) -> Words:
    what, a, b = c.group("what"), c.group("a"), c.group("b")
    if what == "dot_general":
        return Words(
            f"A product sums over one axis of each factor, and these have lengths {a} and {b}. They must be equal: for "
            "`jnp.dot(a, b)` the last axis of `a` and the first of `b`.",
            "Check the block shapes and index maps of the two factors, or transpose one.",
        )
    return Words(
        f"`{what}` combines arrays of shapes {a} and {b}, which do not fit: lengths must be equal, or one of them 1.",
        "Give both the same shape. Blocks have the shape of their BlockSpec, not of the whole array.",
    )


def broadcast(c: Clue) -> Words:
    return Words(
        f"An array of {c.group('a')} cannot be broadcast to {c.group('b')}: only lengths of 1 are repeated.",
        "Add axes of length 1 with `[:, None]`, or use `jnp.tile`.",
    )


def reshape(c: Clue) -> Words:
    return Words(
        f"An array of shape {c.group('a')} cannot be reshaped to {c.group('b')}: the number of elements differs.",
        "Compute the new shape from the block's shape.",
    )


def other_shapes(c: Clue) -> Words:
    return Words(
        f"Shapes do not fit together here: {first_line(c.text)}",
        "Compare the shapes of the blocks that meet on this line.",
    )


def loop_type(c: Clue) -> Words:
    a, b = c.group("a"), c.group("b")
    return Words(
        f"A loop must hand on a value of the same shape and dtype as it got, but it gets {a} and gives {b}.",
        "Cast or reshape the value in the body, or start from one of the type that the body makes.",
    )


def branch_type(c: Clue) -> Words:
    if "NoneType" in c.text:
        return Words(
            "The function under `@pl.when` returns a value. It is one branch of a condition whose other branch returns "
            "nothing, so it must return nothing too.",
            "Store the result in a ref instead of returning it.",
            code="KT110",
        )
    a, b = c.group("a"), c.group("b")
    types = f": one gives {a}, the other {b}" if a and b else ""
    return Words(
        f"Both branches of a condition must give values of the same shape and dtype{types}.",
        "Make the branches agree, with a cast or a broadcast.",
    )


# ---------------------------------------------------------------- everything else that has words of its own


def bad_axis(c: Clue) -> Words:
    grid = c.group("grid")
    if grid == "()":
        return Words(
            f"The kernel asks for grid axis {c.group('axis')}, but the call has no `grid`, so there are no grid "
            "indices.",
            "Give `pallas_call` a `grid`, or drop `program_id`.",
        )
    rank = len(re.findall(r"[^\s,()]+", grid))
    return Words(
        f"The kernel asks for grid axis {c.group('axis')}, but the grid {grid} has {rank}, numbered from 0.",
        "Use axis 0." if rank == 1 else f"Use an axis from 0 to {rank - 1}.",
    )


def bad_grid(c: Clue) -> Words:
    return Words(
        f"The grid is {c.group('grid')}, but its entries must be integers. `/` makes a float even when it divides "
        "evenly.",
        "Divide with `//`, or with `pl.cdiv` where the last block is partial.",
    )


def both_specs(c: Clue) -> Words:
    return Words(
        f"`grid_spec` already holds the grid, the specs and the scratch shapes, so `{c.group('which')}` may not be "
        "given beside it.",
        f"Move `{c.group('which')}` into the grid spec.",
    )


def scratch_kind(c: Clue) -> Words:
    return Words(
        "`scratch_shapes` holds something that is not a memory declaration. A scratch needs its memory space, its "
        "shape and its dtype.",
        "Write `pltpu.VMEM((8, 128), jnp.float32)`, `pltpu.SMEM(…)` or `pltpu.SemaphoreType.DMA`.",
    )


def out_shape_kind(c: Clue) -> Words:
    return Words(
        "`out_shape` must say shape and dtype of every output, but it is given plain numbers.",
        "Write `jax.ShapeDtypeStruct(shape, dtype)`.",
    )


def leaked(c: Clue) -> Words:
    return Words(
        "A traced value was kept after the function that made it had ended (in a list, a global or a closure), and "
        "used later. It means nothing outside.",
        "Pass values through refs and return values only.",
    )


def unknown_name(c: Clue) -> Words:
    name = c.group("name")
    near = _similar(name, c)
    return Words(
        f"Nothing here is called `{name}`.", f"Did you mean `{near}`?" if near else "Check the spelling.", name
    )


def missing_attribute(c: Clue) -> Words:
    module, name = c.group("module"), c.group("name")
    moved = {
        "load": "Load with `ref[...]`; with a mask, use `pltpu.load`.",
        "store": "Store with `ref[...] = value`; with a mask, use `pltpu.store`.",
        "dot": "Use `jnp.dot(…, preferred_element_type=jnp.float32)`.",
        "repeat": "Use `jnp.repeat`.",
        "ANY": "Write `pl.ANY`.",
        "TPUCompilerParams": "It is called `pltpu.CompilerParams` now.",
        "TPUMemorySpace": "It is called `pltpu.MemorySpace` now.",
        "relu": "Use `jnp.maximum(x, 0)` or `jax.nn.relu`.",
    }
    hint = moved.get(name, "Check the spelling and the module; other versions of JAX may have had it.")
    return Words(f"The module `{module}` has no `{name}`.", hint)


def wrong_keyword(c: Clue) -> Words:
    better = c.group("better")
    hint = f"Did you mean `{better}`?" if better else "Check the spelling of the keyword."
    return Words(f"`{c.group('function')}` does not know the keyword `{c.group('name')}`.", hint)


def missing_argument(c: Clue) -> Words | None:
    function = c.group("function").rpartition(".")[2]
    if c.place is None and c.reading.function(function) is not None:
        return Words(
            f"The exercise's call does not fit `{function}`: {first_line(c.text)}.",
            "Take the inputs of the exercise in their order, then the keywords.",
            code="KT105",
        )
    return Words(
        f"The call of `{function}` does not fit: {first_line(c.text)}.",
        "Pass what is missing, or drop what is too much.",
    )


def recursion(c: Clue) -> Words:
    return Words("A function calls itself without an end.", "Kernels cannot recurse: use a loop or the grid.")


def memory(c: Clue) -> Words:
    return Words(
        "Tracing asked for more memory than a run may use. Shapes are only described while tracing, so this is a "
        "Python or NumPy array made in the attempt.",
        "Make constants with jnp inside the traced function, and smaller.",
        code="KT107",
    )


def asserted(c: Clue) -> Words:
    said = f": {first_line(c.text)}" if c.text.strip() else ""
    return Words(f"An `assert` of the program itself fails{said}.", "Look at what it demands; case sizes vary.")


def _similar(name: str, c: Clue) -> str | None:
    import difflib

    known = c.reading.parameters(c.place) | {n.id for n in ast.walk(c.reading.tree) if isinstance(n, ast.Name)} - {name}
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1)), None)


def _generic(kind: str, text: str, placed: bool) -> Words:
    said = first_line(text)
    where = "This line fails" if placed else "The call fails"
    return Words(
        f"{where} while the kernel is traced, with {kind}{': ' + said if said else ''}. Tracing runs the Python code "
        "once, with stand-ins for all arrays, to record what the kernel does.",
        "Read the message below for what JAX says in its own words.",
    )


_NOT_YET_KNOWN = (
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TracerArrayConversionError",
    "ConcretizationTypeError",
)
_TYPE = r"type (?P<a>\S+\[.*?\])"

ROWS: tuple[Row, ...] = (
    *specs.ROWS,
    *refs.ROWS,
    Row(r"Shapes must be 1D sequences of concrete values", "KT118", concrete_shape),
    Row(
        r"",
        "KT118",
        decision,
        _NOT_YET_KNOWN,
    ),
    Row(r"\b(?P<what>\w+) got incompatible shapes for broadcasting: (?P<a>\(.*?\)), (?P<b>\(.*?\))", "KT125", shapes),
    Row(
        r"(?P<what>dot_general) requires contracting dimensions to have the same shape, "
        r"got (?P<a>\(.*?\)) and (?P<b>\(.*?\))",
        "KT125",
        shapes,
    ),
    Row(
        r"Incompatible types for broadcasting: input type=(?P<a>\S+) and requested type=(?P<b>\S+)", "KT125", broadcast
    ),
    Row(r"cannot reshape (?:array|ref) of shape (?P<a>\(.*?\)).*? into shape (?P<b>\(.*?\))", "KT125", reshape),
    Row(
        r"body function carry input and carry output .*?has " + _TYPE + r" but .*? has type (?P<b>\S+\[.*?\])",
        "KT125",
        loop_type,
    ),
    Row(r"body function carry|carry input and carry output", "KT125", loop_type),
    Row(r"cond branch\w* .*?has " + _TYPE + r" but .*? has type (?P<b>\S+\[.*?\])", "KT125", branch_type),
    Row(r"cond branch", "KT125", branch_type),
    Row(
        r"[Ii]ncompatible shapes|[Cc]annot concatenate|must have the same shape|must have equal (?:shapes|ranks)|"
        r"contracting dimensions|batch dimensions|not broadcastable|[Cc]annot broadcast|could not broadcast|"
        r"differ in dimensions|squeeze|transpose permutation",
        "KT125",
        other_shapes,
    ),
    Row(r"Axis (?P<axis>-?\d+) is out of bounds for grid (?P<grid>\(.*?\))", "KT110", bad_axis),
    Row(r"Grid must be a tuple of integers or jax.Array, got (?P<grid>.*)", "KT110", bad_grid),
    Row(r"If `grid_spec` is specified, then `(?P<which>\w+)` must", "KT110", both_specs),
    Row(r"has no attribute 'get_ref_aval'", "KT110", scratch_kind),
    Row(r"Invalid out_shape type", "KT110", out_shape_kind),
    Row(r"", "KT110", leaked, ("UnexpectedTracerError",)),
    Row(r"Too many leaves for PyTreeDef|[Ee]ncountered an unexpected tracer", "KT110", leaked),
    Row(r"name '(?P<name>\w+)' is not defined|variable '(?P<local>\w+)'", "KT110", unknown_name, ("NameError",)),
    Row(
        r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'", "KT110", missing_attribute, ("AttributeError",)
    ),
    Row(
        r"(?<![\w.<>])(?P<function>[\w.<>]+)\(\) got an unexpected keyword argument '(?P<name>\w+)'"
        r"(?:.*Did you mean '(?P<better>\w+)')?",
        "KT110",
        wrong_keyword,
    ),
    Row(
        r"(?<![\w.<>])(?P<function>[\w.<>]+)\(\) (?:missing|takes|got multiple)",
        "KT110",
        missing_argument,
        ("TypeError",),
    ),
    Row(r"", "KT110", recursion, ("RecursionError",)),
    Row(r"", "KT107", memory, ("MemoryError",)),
    Row(r"", "KT110", asserted, ("AssertionError",)),
)
