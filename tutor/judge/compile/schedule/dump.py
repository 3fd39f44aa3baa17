"""The scheduled program of a kernel, read from the compiler's text: what each bundle issues, and which units it uses.

Two dumps are read: `packed-bundles-post-ra` (the last text with one line a cycle) and the table of busy unit slots
with one row a bundle. Columns are read by name; what is not understood is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEAD = re.compile(r"^\s*(0x[0-9a-f]+|0)\s+(?:[A-Z]{2})?\s*:", re.MULTILINE)
_OPERATION = re.compile(r"(?:%\d+ = )?(?:%(\w+) = )?([a-z_][\w.\-]*) ?(.*)")
_PREDICATE = r"\((!?)%(p\d+)\w*\)"
_MOVE_IF = re.compile(r"\((!?)%(p\d+)\w*, (\S+)\), (.*)")
_CALL = re.compile(r"inlined_call\b[^;{}/]*/\*\s*%([\w.\-]+) =[^*]*\*/")
"""Where the program around the kernels calls a part: the part's name stands in a comment only."""
_EXIT_TEST = re.compile(r"scmp\.ge\S* %\w+, (\d+) /\* loop exit test")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_WIDE = 1 << 32


class Unreadable(ValueError):
    """The dump is not what this reader knows; there is no estimate then."""


@dataclass(frozen=True)
class Op:
    """A scalar or DMA operation. `args` and `when` are Python expressions made of names and numbers found here (of an
    `inlined_call` it is the called part's name); `dest` is the name that it sets, empty for none, and an empty `when`
    means always."""

    dest: str
    code: str
    args: tuple[str, ...]
    when: str


@dataclass(frozen=True)
class Program:
    """A kernel's bundles, with scalar and DMA operations only, and the share of unit slots that each bundle uses.

    `exit_limits` are the constants of loop exit tests by bundle; `in_vmem` are operands that XLA keeps in VMEM."""

    bundles: list[list[Op]]
    units: list[str]
    capacity: list[int]
    usage: list[list[int]]
    exit_limits: dict[int, int]
    in_vmem: list[int]


def read_program(schedule: str, usage: str) -> Program:
    """Parse the two dumps of one kernel. `Unreadable` if they are not of the known form."""
    heads = list(_HEAD.finditer(schedule))
    bundles: list[list[Op]] = []
    limits: dict[int, int] = {}
    for i, head in enumerate(heads):
        if int(head[1], 16) != i:
            raise Unreadable(f"bundle {head[1]} stands where {i} was expected")
        raw = schedule[head.end() : heads[i + 1].start() if i + 1 < len(heads) else len(schedule)]
        if "inlined_call" in raw:
            raw = _CALL.sub(r"inlined_call @\1", raw)
        if "loop exit test" in raw and (exit_test := _EXIT_TEST.search(raw)):
            limits[i] = int(exit_test[1])
        if "/*" in raw:
            raw = _COMMENT.sub("", raw)
        first, last = raw.find("{"), raw.rfind("}")
        pieces = raw[first + 1 : last].split(";;") if 0 <= first < last else []
        bundles.append([op for op in map(_operation, pieces) if op is not None])
    if not bundles:
        raise Unreadable("there are no bundles")
    units, capacity, rows = _table(usage)
    if len(rows) != len(bundles):
        raise Unreadable(f"{len(bundles)} bundles have {len(rows)} rows of units")
    in_vmem = [int(n) for n in re.findall(r"inlined_call_operand\.vmem \[.*?index: (\d+)", schedule)]
    return Program(bundles, units, capacity, rows, limits, in_vmem)


def _table(text: str) -> tuple[list[str], list[int], list[list[int]]]:
    """Column names, the capacity line, and one row a bundle."""
    lines = text.split("\n")
    top = next((i for i, line in enumerate(lines) if line.count(",") > 5), None)
    if top is None:
        raise Unreadable("the table of units has no column names")
    units = [name.strip() for name in lines[top].split(",")]
    numbers = [[int(n) for n in line.split()] for line in lines[top + 1 :] if line.strip()[:1].isdigit()]
    if not numbers or any(len(row) != len(units) for row in numbers):
        raise Unreadable("the table of units has rows of other lengths")
    return units, numbers[0], numbers[1:]


def _operation(text: str) -> Op | None:
    if text.lstrip().startswith("%v"):
        return None
    found = _OPERATION.fullmatch(" ".join(text.split()))
    if not found or (found[2][0] == "v" and not found[1]) or (found[1] and found[1][0] == "v"):
        return None  # vector operations count only through their bundle and its row of units
    dest, code = found[1] or "", found[2]
    rest, when = re.sub(r"\[(?:resolvable|thread):[^\]]*\]\s*", "", found[3]), ""
    if move := _MOVE_IF.fullmatch(rest):
        return Op(dest, "select", (_negated(move), expression(move[4]), expression(move[3])), "")
    if predicate := re.match(_PREDICATE + r"\s*,?\s*", rest) or re.search(r"\s*" + _PREDICATE + r"$", rest):
        when = _negated(predicate)
        rest = rest[: predicate.start()] + rest[predicate.end() :]
    if code == "sbr.rel":
        target = re.search(r"bundleno = (\d+)", rest)
        if target is None:
            raise Unreadable(f"a branch without a target: {text.strip()[:80]}")
        return Op(dest, code, (target[1],), when)
    if code == "inlined_call":
        return Op(dest, code, (rest.removeprefix("@"),), when) if rest.startswith("@") else None
    if code.startswith("inlined_call_operand"):
        index = re.search(r"index: (\d+)", rest)  # operand i gets an odd multiple of 4096, so that i can be told again
        return Op(dest, "smov", (str(2 * int(index[1]) + 1 << 12) if index else "0",), "")
    if code == "sst":
        rest = re.sub(r"(\]+),? ", r"\1, ", rest, count=1)
    return Op(dest, code, tuple(expression(arg) for arg in rest.split(",")), when)


def _negated(predicate: re.Match[str]) -> str:
    return f"(not {predicate[2]})" if predicate[1] else predicate[2]


def expression(token: str) -> str:
    """The Python expression for one operand: made of names like `s12` and of numbers, never of the text itself."""
    token = re.sub(r"\s+\[#allocation\d+\]$", "", token.strip())
    if token.startswith("["):
        return "(" + "+".join(expression(part) for part in token[1:-1].split(":")[-1].strip("[]").split("+")) + ")"
    if name := re.match(r"(!?)%([sp]?)(\d+)", token):
        text = (name[2] or "x") + name[3]
        return f"(not {text})" if name[1] else text
    if allocation := re.match(r"#allocation(\d+)", token):
        return str(int(allocation[1]) + 1 << 20)
    if number := re.fullmatch(r"\$?(0x[0-9a-f]+|-?\d+)", token):
        value = int(number[1], 0)
        return str(value - _WIDE if 1 << 31 <= value < _WIDE else value)
    return "0"
