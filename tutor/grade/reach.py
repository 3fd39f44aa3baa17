"""What a file reaches for that no exercise needs: the tutor's own modules, JAX's inside, the interpreter's inside.

That is no proof of anything, so it changes neither status nor points: it tells the instructor which files to read. It
is read from the syntax tree; who hides a name from it (`__import__("tu" + "tor")`) is told by the call that does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

MODULES = ("tutor", "jax._src", "jaxlib", "jax.export", "gc", "ctypes", "importlib", "builtins")
"""Modules, with all that is below them."""
NAMES = frozenset(
    {"_getframe", "modules", "settrace", "setprofile", "__import__", "exec", "eval", "compile", "globals"}
)
"""Functions and attributes that reach what was not handed to the file."""


def reached(source: bytes) -> list[str]:
    """The names, sorted, each once. A file that Python cannot read reaches for nothing."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted(set(_named(tree)))


def _named(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if _inside(alias.name))
            case ast.ImportFrom(module=str(module), names=names):
                whole = [module, *(f"{module}.{alias.name}" for alias in names)]
                yield from (name for name in whole if _inside(name))
            case ast.Attribute(attr=name) if name in NAMES:
                yield ast.unparse(node)[:80]
            case ast.Attribute():
                if _inside(name := ast.unparse(node)[:80]):
                    yield name
            case ast.Name(id=name) if name in NAMES:
                yield name


def _inside(name: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in MODULES)
