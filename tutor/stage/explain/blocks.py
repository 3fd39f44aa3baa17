"""Which operand, kernel and BlockSpec of the source a message such as `Block spec for args[0]` means."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from tutor.stage.explain.reading import Function, Reading, call_name, parameter_names, place_at
from tutor.stage.explain.where import Place


def kernel_of(reading: Reading, text: str) -> Function | None:
    """The function that a message calls `pallas_call NAME at FILE:LINE`."""
    m = re.search(r"(?:pallas_call|mpmd_map) ([\w.<>]+) at [^\n]*?:(\d+)\b", text)
    return reading.function(m[1], int(m[2])) if m else None


def block_sizes(text: str) -> str:
    """A printed block shape as people write it: `(8, 128)` for `(Blocked(block_size=8), Blocked(block_size=128))`."""
    text = re.sub(r"Blocked\(block_size=(\d+)\)", r"\1", text)
    text = re.sub(r"Squeezed\(\)", "None", text)
    return re.sub(r"Element\(block_size=(\d+)[^)]*\)", r"Element(\1)", text)


def spec_place(reading: Reading, kernel: Function | None, origin: str) -> Place | None:
    """Where the BlockSpec of `args[i]` or `outputs[i]` is written, if the source shows it."""
    spec = _spec(reading, kernel, origin)
    return place_at(spec) if spec is not None else None


def name_of_origin(reading: Reading, kernel: Function | None, origin: str) -> str | None:
    """The kernel's parameter for `args[i]` or `outputs[i]`, if the source shows how many operands come before it.

    JAX counts the scalar-prefetch operands among the `args`."""
    call = _call(reading, kernel)
    if call is None:
        return None
    function = kernel or _first_function(reading, call)
    if function is None:
        return None
    names = [p for p in parameter_names(function) if p not in {k.arg for k in function.args.kwonlyargs}]
    names = _still_open(reading, call, names)
    side, index = _side(origin)
    keywords = _keywords(reading, call)
    if side == "out_specs":
        ins = _elements(reading, keywords.get("in_specs"))
        outs = _elements(reading, keywords.get("out_specs")) or ()
        scratch = _elements(reading, keywords.get("scratch_shapes"))
        if ins is not None:
            index += _constant(keywords.get("num_scalar_prefetch"), 0) + len(ins)
        elif scratch is not None or "scratch_shapes" not in keywords:
            index += len(names) - len(scratch or ()) - max(len(outs), 1)
        else:
            return None
    return names[index] if 0 <= index < len(names) else None


def _spec(reading: Reading, kernel: Function | None, origin: str) -> ast.expr | None:
    call = _call(reading, kernel)
    if call is None:
        return None
    side, index = _side(origin)
    keywords = _keywords(reading, call)
    value = keywords.get(side)
    elements = _elements(reading, value)
    if side == "in_specs":
        index -= _constant(keywords.get("num_scalar_prefetch"), 0)
    if elements is None:
        return value
    return _resolve(reading, elements[index]) if 0 <= index < len(elements) else value


def _side(origin: str) -> tuple[str, int]:
    m = re.match(r"(args|outputs)(?:\[(\d+)\])?", origin)
    if m is None:
        return "in_specs", 0
    return ("in_specs" if m[1] == "args" else "out_specs"), int(m[2] or 0)


def _call(reading: Reading, kernel: Function | None) -> ast.Call | None:
    """The call that launches `kernel`; the only launch in the file when the kernel is not known."""
    calls = reading.calls("pallas_call")
    if kernel is not None and not isinstance(kernel, ast.Lambda):
        named = [c for c in calls if any(_is_called(n, kernel.name) for n in ast.walk(c))]
        calls = named or calls
    return calls[0] if len(calls) == 1 else None


def _is_called(node: ast.AST, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def _first_function(reading: Reading, call: ast.Call) -> Function | None:
    target = call.args[0] if call.args else None
    if isinstance(target, ast.Call) and call_name(target) == "partial" and target.args:
        target = target.args[0]
    if isinstance(target, ast.Lambda):
        return target
    return reading.function(target.id) if isinstance(target, ast.Name) else None


def _still_open(reading: Reading, call: ast.Call, names: Sequence[str]) -> list[str]:
    """The kernel's parameters that are Refs: without what `partial` gives it, and without a method's own object."""
    open_names = list(names[1:] if names[:1] in (["self"], ["cls"]) else names)
    target = _resolve(reading, call.args[0]) if call.args else None
    if isinstance(target, ast.Call) and call_name(target) == "partial":
        given = {k.arg for k in target.keywords}
        open_names = [n for n in open_names[len(target.args) - 1 :] if n not in given]
    return open_names


def _keywords(reading: Reading, call: ast.Call) -> dict[str, ast.expr]:
    """The keywords of the call, and those of its `grid_spec`, with names followed."""
    found = {k.arg: k.value for k in call.keywords if k.arg}
    grid_spec = _resolve(reading, found["grid_spec"]) if "grid_spec" in found else None
    if isinstance(grid_spec, ast.Call):
        found |= {k.arg: k.value for k in grid_spec.keywords if k.arg}
    return {name: _resolve(reading, value) for name, value in found.items()}


def _elements(reading: Reading, value: ast.expr | None) -> Sequence[ast.expr] | None:
    """The elements of a written list, also of `[spec] * 3`; None where the source does not show them."""
    if value is None:
        return None
    value = _resolve(reading, value)
    if isinstance(value, ast.List | ast.Tuple):
        return None if any(isinstance(e, ast.Starred) for e in value.elts) else value.elts
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        inner, times = _elements(reading, value.left), _constant(value.right, 0)
        return list(inner) * times if inner is not None and times else None
    return None


def _resolve(reading: Reading, node: ast.expr) -> ast.expr:
    """What a name stands for, if it is assigned exactly once."""
    if isinstance(node, ast.Name):
        values = reading.assigned(node.id)
        if len(values) == 1 and not isinstance(values[0], ast.Name):
            return values[0]
    return node


def _constant(node: ast.expr | None, default: int) -> int:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else default
