"""What the TPU simulator found, in plain words (KT402 to KT414).

The simulator tells in three ways: exceptions out of its callbacks, lines that it prints, and log records. All three
come here as text or as the exception that a callback raised.
"""

from __future__ import annotations

import ast
import re
import traceback

from tutor.findings import finding
from tutor.protocol import Finding
from tutor.stage.explain import bounds, races
from tutor.stage.explain.buffers import Names
from tutor.stage.explain.reading import Reading, base_name, call_name, place_at
from tutor.stage.explain.table import RAW_LIMIT, Clue, Row, Words, clean, code_name, first_line, look_up, speak
from tutor.stage.explain.where import Place, chain, place_in_callback, place_of, said_where


def explain_simulator(
    exc: BaseException | None, printed: str, source: str, path: str, names: Names | None = None
) -> list[Finding]:
    """Findings for what a simulator run raised (None: it went through) and for the lines that it printed.

    `names` names the simulator's numbered buffers and semaphores."""
    reading, names = Reading(source), names or Names()
    found = [] if exc is None else [said_where(_raised(exc, reading, path, names), exc, path)]
    return found + _printed(printed, reading, names)


def is_refusal(exc: BaseException) -> bool:
    """Whether the simulator itself cannot run such a kernel, so that this judge has nothing to say about it."""
    return any(
        isinstance(link, NotImplementedError) or re.search(_REFUSALS, str(link), re.DOTALL) for link in chain(exc)
    )


def is_its_own_fault(exc: BaseException) -> bool:
    """Whether the simulator stumbled over its own code: it did not mean to say anything about the kernel."""
    kind, text = _innermost(exc)
    return kind in ("AttributeError", "TypeError", "NameError", "UnboundLocalError") or "safe_zip" in text


def own_fault(exc: BaseException) -> str:
    """That in words."""
    kind, text = _innermost(exc)
    if _RESHAPED in text:
        return "The simulator cannot run this kernel: it does not know Refs that are reshaped or cast, which a TPU does"
    return f"The simulator cannot run this kernel: it stops in its own code, with {kind}: {first_line(text)}"


_RESHAPED = "Transform' object has no attribute 'indices'"

_REFUSALS = (
    r"NotImplementedError:|Dimensions with parallel semantics must form a prefix|"
    r"Aliasing of scalar prefetch arguments is not currently supported"
)


def _raised(exc: BaseException, reading: Reading, path: str, names: Names) -> Finding:
    kind, text = _innermost(exc)
    place = place_of(exc, path) or place_in_callback(exc, path)
    known = look_up(ROWS, kind, text, place, reading, path, names=names)
    if known is not None:
        return known
    if _RESHAPED in text:
        message = (
            "The simulator of TPU memory reads slices of Refs; it does not know a Ref that was reshaped or cast by "
            "itself, so it cannot judge this kernel. A TPU knows such Refs."
        )
        return speak("KT411", Words(message, "Reshape the value: `ref[...].reshape(shape)`."), place, f"{kind}: {text}")
    if kind == "AssertionError" or "broadcast" in text:
        return speak("KT411", _assertion(exc, reading, text), place or _copy_place(reading), f"{kind}: {text}")
    message = (
        f"The simulator of TPU memory stopped with {kind}{': ' + first_line(text) if text.strip() else ''}. It runs "
        "the kernel step by step, with HBM, VMEM, SMEM and semaphores as they are on a chip."
    )
    return speak("KT411", Words(message, "Read the message below for what it says in its own words."), place, text)


def _innermost(exc: BaseException) -> tuple[str, str]:
    """The class and text of the real error: a callback's error reaches us as text inside a JaxRuntimeError."""
    kind, text = type(exc).__name__, str(exc)
    if "CpuCallback error" in text or "Computation failed" in text:
        found = list(re.finditer(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception)): ?", text, re.MULTILINE))
        if found:
            return found[-1][1], text[found[-1].end() :].strip()
        if re.search(r"^AssertionError\s*$", text, re.MULTILINE):
            return "AssertionError", ""
    return kind, text


# ---------------------------------------------------------------- memory spaces, and what the simulator refuses


def in_hbm(c: Clue) -> Words:
    storing = c.group("what").startswith("swap")
    named = [n for n in _refs_on(c.reading, c.place) if c.names.spaces.get(n) in ("any", "hbm")]
    ref = named[0] if len(named) == 1 else None
    ref = ref or (c.reading.stored_ref(c.place) if storing else c.reading.loaded_ref(c.place))
    verb = "store" if storing else "read"
    return Words(
        f"{code_name(ref, 'The ref')} lies in ANY or HBM, and the core cannot reach into HBM: `ref[...]` on it is not "
        f"a slow {verb}, it is no {verb} at all. Data has to be copied between HBM and VMEM first.",
        "Copy with `pltpu.sync_copy(source, scratch)` and work on the VMEM scratch.",
        ref,
    )


def hbm_block(c: Clue) -> Words:
    return Words(
        "An operand that stays in ANY or HBM has a block shape, but nothing is cut into blocks for it: the kernel gets "
        "the whole array.",
        "Write its spec as `pl.BlockSpec(memory_space=pl.ANY)`, without shape and index map.",
    )


def hbm_scope(c: Clue) -> Words:
    return Words(
        "`run_scoped` allocates memory on the chip, and this asks it for HBM.",
        "Allocate `pltpu.VMEM` or `pltpu.SMEM`, or pass the HBM array as an operand.",
        place=c.place or _call(c.reading, "run_scoped"),
    )


def array_index(c: Clue) -> Words:
    return Words(
        "A ref is indexed with an array of indices. A TPU load takes a rectangular part: scalars and slices only.",
        "Loop over the indices and load one row each, or copy rows with a DMA.",
        c.reading.loaded_ref(c.place),
    )


def collective(c: Clue) -> Words:
    return Words(
        "The kernel talks to other devices, but it runs outside `shard_map`, so there is no mesh whose devices it "
        "could name.",
        "Call the kernel inside `jax.shard_map` over a mesh.",
    )


def other_device(c: Clue) -> Words:
    return Words(
        "The kernel touches a buffer of another device before that device has it. Devices start at different times, "
        "and nothing here makes them wait for each other.",
        "Signal the neighbours' barrier semaphore (`pltpu.get_barrier_semaphore`), wait for theirs, then copy.",
        place=c.place or _call(c.reading, "make_async_remote_copy", "async_remote_copy"),
    )


def _assertion(exc: BaseException, reading: Reading, text: str) -> Words:
    """A bare assertion or a NumPy complaint inside the simulator: read from its own code what it was about."""
    lines = " ".join(f.line or "" for link in chain(exc) for f in traceback.extract_tb(link.__traceback__)[-2:])
    if "dtype" in lines:
        return Words(
            "A copy moves bytes as they are, so source and destination must have the same dtype, but they differ.",
            "Give the scratch the dtype of what is copied into it, and cast after the copy.",
        )
    if "broadcast" in text:
        return Words(
            f"A copy goes between refs of different shapes ({first_line(text)}). It copies element by element.",
            "Copy a part of the right shape with `ref.at[…]`.",
        )
    if reading.calls("make_async_remote_copy", "semaphore_signal") and "device_id" in reading.source:
        return Words(
            "The kernel talks to other devices, but it runs outside `shard_map`, so there is no mesh whose devices it "
            "could name.",
            "Call the kernel inside `jax.shard_map` over a mesh.",
            place=_call(reading, "make_async_remote_copy", "semaphore_signal"),
        )
    return Words(
        "The simulator of TPU memory met something that it takes for impossible, and gives no reason.",
        "Look at copies between refs of different kinds, and at operands in unusual memory spaces.",
    )


# ---------------------------------------------------------------- what it prints


def _printed(printed: str, reading: Reading, names: Names) -> list[Finding]:
    found = []
    for m in re.finditer(SEMAPHORE_LINE, printed):
        number, count = int(m["id"]), int(m["count"])
        ref = names.semaphores.get(number)
        message = (
            f"When the kernel ends, the semaphore {f'`{ref}`' if ref else 'of a copy'} still counts {count}, and it "
            "must count 0: something was started or signalled that nothing waited for. The next kernel that gets this "
            "semaphore starts with a wrong count."
        )
        hint = "Give every `start` its own `wait`; waiting once for two copies leaves one of them open."
        place = _use_of(reading, (ref or "").partition("[")[0])
        line = place.line if place else None
        found.append(finding("KT407", message, line=line, ref=ref, raw=m[0].strip(), hint=hint))
    if re.search(UNUSED_COPY, printed):
        place = _call(reading, "make_async_copy", "make_async_remote_copy")
        message = (
            "A copy is described with `make_async_copy`, but neither `start` nor `wait` is called on it. A description "
            "moves no data: the kernel has no copy here at all."
        )
        hint = "Call `.start()` and later `.wait()` on it, or write `pltpu.sync_copy(source, target)`."
        line, column = (place.line, place.column) if place else (None, None)
        raw = clean(printed[: printed.find("\n")] if "\n" in printed else printed)[:RAW_LIMIT]
        found.append(finding("KT414", message, line=line, column=column, raw=raw, hint=hint))
    return found


SEMAPHORE_LINE = (
    r"Semaphore (?P<id>\d+) has non-zero count for \d+ \(global core \d+\) at kernel exit: (?P<count>-?\d+)\n?"
)
UNUSED_COPY = r"AsyncCopyDescriptor was not used"


def _refs_on(reading: Reading, place: Place | None) -> list[str]:
    node = reading.statement(place)
    if node is None:
        return []
    return sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & reading.parameters(place))


def _use_of(reading: Reading, name: str) -> Place | None:
    """The first `start`, `signal` or copy that is given this semaphore."""
    calls = reading.calls("make_async_copy", "async_copy", "make_async_remote_copy", "semaphore_signal")
    for call in calls:
        if any(base_name(a) == name for a in (*call.args, *(k.value for k in call.keywords))):
            return place_at(call)
    return place_at(calls[0]) if len(calls) == 1 else None


def _call(reading: Reading, *names: str) -> Place | None:
    calls = reading.calls(*names)
    return place_at(calls[0]) if calls else None


def _copy_place(reading: Reading) -> Place | None:
    calls = [c for c in reading.calls("sync_copy", "async_copy", "make_async_copy") if call_name(c)]
    return place_at(calls[0]) if len(calls) == 1 else None


ROWS: tuple[Row, ...] = (
    *bounds.ROWS,
    *races.ROWS,
    Row(r"\b(?P<what>\w+): Buffers with a memory space of HBM or ANY cannot be referenced directly", "KT409", in_hbm),
    Row(r"in HBM but does not have trivial BlockSpec", "KT411", hbm_block),
    Row(r"Cannot allocate HBM in `run_scoped`", "KT411", hbm_scope),
    Row(r"Advanced indexers are not supported", "KT411", array_index),
    Row(r"^\('(?:hbm|any|vmem|smem)', \d+, \d+, \d+\)$", "KT411", other_device, ("KeyError",)),
    Row(r"[Uu]nbound axis name|Number of device ids must match", "KT411", collective),
)
