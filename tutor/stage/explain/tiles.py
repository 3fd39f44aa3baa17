"""Words for blocks, grids and pipelines that a TPU cannot have (KT501, KT502, KT503, KT508)."""

from __future__ import annotations

import re

from tutor.stage.explain.blocks import block_sizes, kernel_of, name_of_origin, spec_place
from tutor.stage.explain.reading import place_at
from tutor.stage.explain.table import Clue, Row, Words, code_name
from tutor.stage.explain.where import Place, place_in_text


def tile(c: Clue) -> Words:
    sizes = block_sizes(c.group("block"))
    return Words(
        f"The block {sizes} of {_operand(c)} does not fit the tiles of {_where(c)}. Of the last two lengths of a "
        "block, the first must be a multiple of 8 or the array's whole length, and the last a multiple of 128 or the "
        f"whole length. The array has shape {c.group('array')}. Interpret mode knows no tiles, so it does not mind.",
        f"Choose the block from the array's last two lengths {_last_two(c.group('array'))}: multiples of 8 and 128, "
        "or whole.",
        _name(c),
        _spec(c),
    )


def rank_one(c: Clue) -> Words:
    chunk = c.group("chunk") or "1024"
    return Words(
        f"The block {block_sizes(c.group('block'))} of {_operand(c)} has one dimension, and such a block must be the "
        f"whole array (here {c.group('array')}), a multiple of {chunk}, or a power of two that is large enough for "
        "one tile row.",
        "Reshape the array to two dimensions outside the kernel, such as (rows, 128), or take a larger block.",
        _name(c),
        _spec(c),
    )


def rank_zero(c: Clue) -> Words:
    return Words(
        f"{_operand(c, capital=True)} has rank 0 and would lie in {_where(c)}. VMEM holds tiles of vectors, not single "
        "numbers; scalars live in SMEM.",
        "Give it `pl.BlockSpec(memory_space=pltpu.SMEM)`, or make it an array of shape (1, 1) and keep the dimensions.",
        _name(c),
        _spec(c),
    )


def rank_zero_ref(c: Clue) -> Words:
    ref = c.reading.stored_ref(c.place) or c.reading.loaded_ref(c.place)
    return Words(
        f"{code_name(ref, 'A ref')} has shape () in VMEM. VMEM holds tiles of vectors, not single numbers; scalars "
        "live in SMEM.",
        "Declare it as `pltpu.SMEM((1,), dtype)` and index it with `[0]`, or as VMEM of shape (8, 128).",
        ref,
    )


def any_block(c: Clue) -> Words:
    space = "HBM" if re.search(r"space <[^>]*HBM", c.text) else "ANY"
    return Words(
        f"{_operand(c, capital=True)} stays in {space}, so nothing is cut into blocks for it, but its spec has the "
        f"block shape {block_sizes(c.group('block'))} (array {c.group('array')}). A block is what the pipeline copies "
        "into VMEM, and here there is no such copy.",
        f"Write `pl.BlockSpec(memory_space={'pl.ANY' if space == 'ANY' else 'pltpu.HBM'})` without shape and index "
        "map, and copy the part you want yourself; or leave the memory space out.",
        _name(c),
        _spec(c),
    )


def no_grid(c: Clue) -> Words:
    return Words(
        "The call has no grid, yet a spec asks for a block that is not the whole array from its start. Without a grid "
        "there is one step, and every block is the whole array.",
        "Add a `grid`, or drop the block shape and index map.",
        place=c.place or _call_place(c, "pallas_call"),
    )


def semantics_length(c: Clue) -> Words:
    return Words(
        f"`dimension_semantics` has {c.group('b')} entries, but the grid has {c.group('a')} axes. There is one entry "
        "for each axis.",
        "Give one of `parallel` and `arbitrary` for each grid axis, in order.",
        place=_keyword_place(c, "dimension_semantics"),
    )


def semantics_word(c: Clue) -> Words:
    return Words(
        f"`dimension_semantics` does not know the word `{c.group('word')}`. The words are `parallel` (steps may run "
        "in any order, on several cores) and `arbitrary` (in order).",
        "Correct the word.",
        place=_keyword_place(c, "dimension_semantics"),
        code="KT501",
    )


def buffers(c: Clue) -> Words:
    return Words(
        f"The pipeline of `pallas_call` has one or two buffers for each block, but the spec asks for {c.group('n')}.",
        "Use `pl.Buffered(1)` or `pl.Buffered(2)`; `pltpu.emit_pipeline` takes more.",
        place=_call_place(c, "Buffered"),
    )


def _operand(c: Clue, *, capital: bool = False) -> str:
    origin, name = c.group("origin"), _name(c)
    m = re.match(r"(args|outputs)(?:\[(\d+)\])?", origin)
    kind = f"{'input' if m[1] == 'args' else 'output'} {m[2]}" if m and m[2] else "the output"
    text = f"`{name}` ({kind})" if name else kind
    return text[0].upper() + text[1:] if capital else text


def _name(c: Clue) -> str | None:
    return name_of_origin(c.reading, kernel_of(c.reading, c.text), c.group("origin"))


def _spec(c: Clue) -> Place | None:
    """The spec if the source shows it, else the call of the kernel, else the kernel."""
    kernel = kernel_of(c.reading, c.text)
    written = spec_place(c.reading, kernel, c.group("origin"))
    return written or c.launch or c.place or (place_at(kernel) if kernel else place_in_text(c.text, c.path))


def _where(c: Clue) -> str:
    return "SMEM" if "SMEM" in c.text.rpartition("memory space")[2] else "VMEM"


def _call_place(c: Clue, name: str) -> Place | None:
    found = c.reading.calls(name)
    return place_at(found[0]) if found else None


def _keyword_place(c: Clue, name: str) -> Place | None:
    found = [k for call in c.reading.calls("CompilerParams", "emit_pipeline") for k in call.keywords if k.arg == name]
    return place_at(found[0].value) if len(found) == 1 else c.place


def _last_two(shape: str) -> str:
    return f"({', '.join(re.findall(r'\d+', shape)[-2:])})"


_SPEC = (
    r"Block spec for (?P<origin>\S+) in pallas_call .*? has block shape (?P<block>\(.*?\)), "
    r"array shape (?P<array>\(.*?\)), and"
)

ROWS: tuple[Row, ...] = (
    Row(r"rank 1 block shapes.*?multiple of (?P<chunk>\d+).*?" + _SPEC, "KT502", rank_one),
    Row(r"last two dimensions of your block shape.*?" + _SPEC, "KT502", tile),
    Row(r"only blocks of rank >= 1\. " + _SPEC, "KT503", rank_zero),
    Row(r"Indexing into a \(\)-shaped Ref", "KT503", rank_zero_ref),
    Row(r"trivial index_map.*?" + _SPEC, "KT508", any_block),
    Row(r"Non-trivial windowing is not supported for grid-free", "KT501", no_grid),
    Row(
        r"Length of grid does not match.*len\(grid\)=(?P<a>\d+), len\(dimension_semantics\)=(?P<b>\d+)",
        "KT501",
        semantics_length,
    ),
    Row(r"dimension_semantics<(?P<word>\w*)>", "KT501", semantics_word),
    Row(r"buffering are supported\. Got (?P<n>.*?)\.$", "KT501", buffers),
)
