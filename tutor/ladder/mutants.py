"""Automatic mutants of a program: one small change each, of the kind that people make by mistake. Pure: AST to text."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
CALLS = {"maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "sum": "max"}
NARROWER = {"float32": "bfloat16", "int32": "int8"}
BOUNDED = {"range": -1, "fori_loop": 1, "loop": 1, "cdiv": None}
"""Calls whose argument at this position is a loop bound; for `cdiv` it is the call itself."""
FILLS = ("zeros", "zeros_like", "full", "full_like", "ones", "ones_like")


class Mutant(NamedTuple):
    """A changed program. `name` says what was changed, in the program's own text, so that it survives moved lines."""

    name: str
    source: str


def mutants(source: str) -> list[Mutant]:
    """Every mutant of a Python program, in the order of the program. Names are unique, and sources differ from it."""
    tree = ast.parse(source)
    plain, seen, found = ast.unparse(tree), {ast.unparse(tree)}, []
    count: dict[str, int] = {}
    for path, node in _walk(tree, ()):
        for what, new in _changes(node):
            changed = _replaced(tree, path, new)
            text = ast.unparse(ast.fix_missing_locations(changed))
            if text in seen:
                continue
            seen.add(text)
            name = f"{what}: {_brief(node)} -> {_brief(new) if new is not None else 'nothing'}"
            count[name] = count.get(name, 0) + 1
            found.append(Mutant(name if count[name] == 1 else f"{name} ({count[name]})", text + "\n"))
    assert all(mutant.source.rstrip("\n") != plain for mutant in found)
    return found


type Step = tuple[str, int | None]
type Path = tuple[Step, ...]


def _walk(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.AST]]:
    """Every node of a tree with the fields that lead to it; annotations, defaults and imports are left out."""
    yield path, node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "defaults", "kw_defaults", "type_params"):
            continue
        for i, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Import | ast.ImportFrom):
                yield from _walk(child, (*path, (field, i)))


def _replaced(tree: ast.Module, path: Path, new: ast.AST | None) -> ast.Module:
    """The tree with the node at `path` replaced; None is `pass` for a statement."""
    changed = copy.deepcopy(tree)
    parent: ast.AST = changed
    for field, i in path[:-1]:
        child = getattr(parent, field)
        parent = child if i is None else child[i]
    field, i = path[-1]
    node = ast.Pass() if new is None else copy.deepcopy(new)
    if i is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[i] = node
    return changed


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """What may be put in the place of a node, each with the kind of mistake."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            yield "operator", ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.AugAssign(target, op, value) if type(op) in OPERATORS:
            yield "operator", ast.AugAssign(target, OPERATORS[type(op)](), value)
            yield "operator", ast.Assign([target], value, lineno=0)
        case ast.Compare(left, [op], [right]) if type(op) in COMPARISONS:
            yield "operator", ast.Compare(left, [COMPARISONS[type(op)]()], [right])
        case ast.FunctionDef() if any(_called(d) == "when" for d in node.decorator_list):
            yield ("initialisation" if _fills(node) else "condition body"), None
            yield "condition", _always(node)
        case ast.Assign([ast.Subscript()], _) if _fills(node):
            yield "initialisation", None
        case ast.Call(func, args, keywords):
            yield from _calls(node, func, args, keywords)
        case ast.keyword("grid", ast.Tuple(elts)):
            for i, bound in enumerate(elts):
                shorter = [*elts[:i], _plus(bound, -1), *elts[i + 1 :]]
                yield "loop bound", ast.keyword("grid", ast.Tuple(shorter, ast.Load()))
        case ast.Lambda(args, ast.Tuple(elts)):
            for i, index in enumerate(elts):
                moved = [*elts[:i], _plus(index, 1), *elts[i + 1 :]]
                yield "index map", ast.Lambda(args, ast.Tuple(moved, ast.Load()))
        case ast.Attribute(value, attr, ctx) if attr in NARROWER:
            yield "dtype", ast.Attribute(value, NARROWER[attr], ctx)


def _calls(
    node: ast.Call, func: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]
) -> Iterator[tuple[str, ast.AST | None]]:
    name = _called(node)
    if name in CALLS and isinstance(func, ast.Attribute):
        yield "operator", ast.Call(ast.Attribute(func.value, CALLS[name], ast.Load()), args, keywords)
    if name == "where" and len(args) == 3:
        yield "mask", args[1]
    if name in BOUNDED:
        position = BOUNDED[name]
        if position is None:
            yield "loop bound", _plus(node, -1)
        elif len(args) > position or (position < 0 and args):
            shorter = list(args)
            shorter[position] = _plus(shorter[position], -1)
            yield "loop bound", ast.Call(func, shorter, keywords)
    for i, keyword in enumerate(keywords):
        if keyword.arg == "preferred_element_type":
            yield "dtype", ast.Call(func, args, [*keywords[:i], *keywords[i + 1 :]])


def _called(node: ast.expr) -> str:
    """The last name of what is called: `when` of `pl.when(...)`."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _fills(node: ast.AST) -> bool:
    """Whether every store below `node` gives a Ref a constant first value."""
    stores = [n for n in ast.walk(node) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Subscript)]
    return bool(stores) and all(_called(n.value) in FILLS or isinstance(n.value, ast.Constant) for n in stores)


def _always(node: ast.FunctionDef) -> ast.AST:
    """The body of a `pl.when` without its condition."""
    return ast.If(ast.Constant(True), node.body, [])


def _plus(node: ast.expr, number: int) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return ast.Constant(node.value + number)
    return ast.BinOp(node, ast.Add() if number > 0 else ast.Sub(), ast.Constant(abs(number)))


def _brief(node: ast.AST) -> str:
    """A node's text on one line, shortened in the middle."""
    text = " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())
    return text if len(text) <= 70 else f"{text[:45]} … {text[-20:]}"
