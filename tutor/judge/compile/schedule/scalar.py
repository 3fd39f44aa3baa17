"""The scalar program of a kernel as one Python function: its branches, its counters, its DMA starts and waits.

Each basic block becomes a line of generated Python. The text is made of names and numbers that `dump` matched itself,
so nothing of the learner's program is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tutor.judge.compile.schedule.dump import Op, Program, expression

_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_INFIX = {"sadd": "+", "ssub": "-", "smul": "*", "sand": "&", "sor": "|", "sxor": "^", "sshll": "<<"}
_FORM = {
    "por": "({0} or {1})", "pand": "({0} and {1})", "pnand": "(not ({0} and {1}))", "pnor": "(not ({0} or {1}))",
    "pxor": "({0} != {1})", "pneg": "(not {0})", "smov": "{0}", "pmov": "{0}", "int_to_ptr": "{0}",
    "select": "({1} if {0} else {2})", "scalar_select": "({1} if {0} else {2})", "smin": "min({0},{1})",
    "smax": "max({0},{1})", "sshra": "({0}>>({1}&31))", "sshrl": "(({0}&4294967295)>>({1}&31))",
}  # fmt: skip
_ORDER = {"sphi": 0, "int_to_ptr": 2}
_NAME = re.compile(r"\b[spx]\d+\b")


@dataclass(frozen=True)
class Runnable:
    """`run(count, memory, load, start, wait, enter, call)` replays the program and gives its cycles.

    `starts` is the first bundle of each basic block, `loops` are pairs of first and last bundle; `unknown` names
    operations that steer control flow and are not modelled."""

    run: Callable[..., float]
    starts: list[int]
    loops: list[tuple[int, int]]
    unknown: set[str]


def runnable(program: Program, delay: int) -> Runnable:
    """Make the function. A branch takes effect `delay` bundles after the one that holds it."""
    total = len(program.bundles)
    branches = {i: op for i, bundle in enumerate(program.bundles) for op in bundle if op.code == "sbr.rel"}
    targets = {x for i, op in branches.items() for x in (int(op.args[0]), i + delay + 1) if x < total}
    starts = sorted({0} | targets)
    index = {start: k for k, start in enumerate(starts)}
    steering = _steering(program)
    writer = _Writer(program, steering)
    body: list[str] = []
    for k, (start, end) in enumerate(zip(starts, [*starts[1:], total], strict=True)):
        body.append(f"  {'el' if k else ''}if b=={k}:")
        body.append(f"   count[{k}]+=1")
        body += writer.block(start, end)
        body.append(f"   t+={end - start}; b={index.get(end, -1)}")
        if jump := branches.get(end - delay - 1):
            body.append("   " + _guarded(jump, f"b={index.get(int(jump.args[0]), -1)}"))
    names = sorted(set(re.findall(r"\b(?:[spx]\d+|R_\w+)\b", "\n".join(body))))
    text = ["def run(count,mem,load,start,wait,enter,call):", " t=0.0; b=0", *(f" {name}=0" for name in names)]
    text += [" while b>=0:", "  if enter(b,t): break", *body, " return t"]
    scope: dict[str, Any] = {"__builtins__": {"min": min, "max": max}}
    exec("\n".join(text), scope)
    loops = [(int(op.args[0]), i) for i, op in branches.items() if int(op.args[0]) <= i]
    return Runnable(scope["run"], starts, loops, writer.unknown)


def _steering(program: Program) -> set[str]:
    """Every name that a branch depends on, or whether and how much a DMA moves, directly or through others. Where in
    memory it goes to decides nothing about the time."""
    ops = [op for bundle in program.bundles for op in bundle]
    steering: set[str] = set()
    for op in ops:
        if op.code in ("sbr.rel", "dma.done.wait"):
            steering |= _names(op.when, *op.args)
        elif op.code.startswith("dma."):
            steering |= _names(op.when, *op.args[1:2], *op.args[3:4])
    size = -1
    while size != len(steering):
        size = len(steering)
        for op in ops:
            if op.dest and expression("%" + op.dest) in steering:
                steering |= _names(op.when, *op.args)
    return steering


class _Writer:
    """Writes the lines of basic blocks."""

    def __init__(self, program: Program, steering: set[str]) -> None:
        self._bundles = program.bundles
        self._steering = steering
        self.unknown: set[str] = set()
        # Names are set once, except at joins: there an `sphi` takes whichever of its sources was written last.
        self._joined = {
            arg: "R_" + re.sub(r"\W", "", op.dest.split("_")[-1])
            for bundle in program.bundles
            for op in bundle
            if op.code == "sphi"
            for arg in op.args
        }

    def block(self, first: int, end: int) -> Iterator[str]:
        for i in range(first, end):
            for op in sorted(self._bundles[i], key=lambda op: _ORDER.get(op.code.split(".")[0], 1)):
                for line in self._lines(op, i - first):
                    yield "   " + line

    def _lines(self, op: Op, ahead: int) -> Iterator[str]:
        if op.code == "dma.done.wait":
            yield _guarded(op, f"t=wait(t+{ahead},{op.args[0]},{op.args[1]})-{ahead}")
        elif op.code.startswith("dma."):
            strided = f",{op.args[6]}" if len(op.args) > 6 else ""  # granules in one piece, after both strides
            yield _guarded(op, f"start(t+{ahead},{op.code[4:]!r},{','.join(op.args[:4])}{strided})")
        elif op.code == "inlined_call":
            yield _guarded(op, f"t=call(t+{ahead},{op.args[0]!r})-{ahead}")
        elif op.code == "sst":
            yield _guarded(op, f"mem[{op.args[0]}]={op.args[1]}")
        elif op.dest:
            name = expression("%" + op.dest)
            yield _guarded(op, f"{name}={self._value(op, name)}")
            if name in self._joined:
                yield _guarded(op, f"{self._joined[name]}={name}")

    def _value(self, op: Op, name: str) -> str:
        if op.code == "sphi":
            return self._joined[op.args[0]]
        if op.code == "sld":
            return f"load({op.args[0]},{name in self._steering})"
        value = _formula(op)
        if value is None and name in self._steering:
            self.unknown.add(op.code)
        return value or "0"


def _formula(op: Op) -> str | None:
    base, *kind = op.code.split(".")
    if base in ("smin", "smax") and "u32" in kind:
        return f"(({base[1:]}({','.join(f'{arg}&4294967295' for arg in op.args)})+2147483648&4294967295)-2147483648)"
    if base in _FORM:
        return _FORM[base].format(*op.args)
    if base in _INFIX or base == "scalar_lea":  # 32 bits, and signed
        return f"((({_INFIX.get(base, '+').join(op.args)})+2147483648&4294967295)-2147483648)"
    if base == "scmp" and len(kind) > 1 and kind[0] in _COMPARE:
        a, b = (f"({arg}&4294967295)" if kind[1].startswith("u") else arg for arg in op.args)
        return f"({a}{_COMPARE[kind[0]]}{b})"
    return None


def _names(*texts: str) -> set[str]:
    return set(_NAME.findall(" ".join(texts)))


def _guarded(op: Op, line: str) -> str:
    return f"if {op.when}: {line}" if op.when else line
