"""Words for what goes wrong in the call of a kernel: specs, index maps, aliases, parameters.

Codes KT112, KT114, KT115, KT121, KT122, KT126.
"""

from __future__ import annotations

import ast
import re

from tutor.stage.explain.blocks import block_sizes, kernel_of, name_of_origin, spec_place
from tutor.stage.explain.reading import call_name, parameter_names, place_at
from tutor.stage.explain.table import Clue, Row, Words, code_name
from tutor.stage.explain.where import Place, place_in_text


def captured(c: Clue) -> Words:
    arrays = c.group("arrays")
    name, place = _captured_name(c)
    what = f"the array `{name}` ({arrays})" if name else f"an array from outside ({arrays})"
    return Words(
        f"The kernel uses {what} that is not one of its refs. A kernel sees only what is passed to it: every array "
        "lives in a memory space, and Pallas has to be told which and how much of it.",
        "Pass it as another input with a BlockSpec of its own and load it from its ref. An array made in the kernel "
        "from numbers counts too: make it with `jnp.full`, `iota` or `jnp.where`.",
        name,
        place,
    )


def map_captures(c: Clue) -> Words:
    return Words(
        f"The index map of {_origin(c)} uses an array from outside. An index map may only compute with the grid "
        "indices and with scalar-prefetch refs.",
        "Pass the array as a scalar-prefetch operand (`pltpu.PrefetchScalarGridSpec`) and read it in the index map.",
        name_of_origin(c.reading, None, c.group("origin")),
        _map_place(c),
    )


def wrong_arity(c: Clue) -> Words | None:
    """`f() takes …` and `f() missing …`: an index map, the kernel, or a call of the learner's own."""
    function = c.group("function")
    used = _use_of(c, function)
    if used == "index map":
        return _map_arity(c)
    if used == "kernel":
        return _kernel_arity(c, function)
    return None


def _map_arity(c: Clue) -> Words:
    grid, prefetch = _grid_rank(c), _prefetch_count(c)
    counts = _counts(c)
    takes, given = counts
    message = "An index map takes the wrong number of arguments"
    if takes is not None and given is not None:
        message += f": it takes {takes}, but Pallas passes {given}"
    message += ". It is called with one index for each grid axis"
    message += (
        f" and then with the {prefetch} scalar-prefetch ref{'s' if prefetch != 1 else ''}"
        if prefetch
        else ", and with the scalar-prefetch refs after them if there are any"
    )
    message += "."
    if grid is not None and prefetch:
        message += f" Here the grid has {grid} ax{'is' if grid == 1 else 'es'}, so that makes {grid + prefetch}."
    hint = "Give every index map one parameter for each grid axis"
    hint += f", then {prefetch} more for the prefetch refs." if prefetch else "."
    place = _map_of_arity(c, takes)
    return Words(message, hint, place=place, code="KT114")


def _kernel_arity(c: Clue, function: str) -> Words:
    takes, given = _counts(c)
    node = c.reading.function(function)
    names = ", ".join(f"`{n}`" for n in parameter_names(node)) if node else ""
    count = f" takes {takes} refs ({names})" if takes is not None and names else " takes another number of refs"
    got = f", but it is given {given}" if given is not None else ""
    return Words(
        f"The kernel `{function}`{count}{got}. A kernel gets one ref for each scalar-prefetch operand, then for each "
        "input, then for each output, then for each scratch, in this order.",
        "Count the operands of the call and make the parameters match.",
        place=place_at(node) if node else None,
        code="KT122",
    )


def _counts(c: Clue) -> tuple[int | None, int | None]:
    """How many positional arguments the function takes, and how many it was given."""
    if c.group("takes"):
        most = c.group("takes").split()[-1]  # `from 1 to 2`
        return int(most), int(c.group("given"))
    node = c.reading.function(c.group("function")) if "<" not in c.group("function").rpartition(".")[2] else None
    if node is not None and c.group("missing"):
        takes = len(node.args.posonlyargs) + len(node.args.args)
        return takes, takes - int(c.group("missing"))
    return None, None


def _use_of(c: Clue, function: str) -> str | None:
    last = function.rpartition(".")[2]
    if "<lambda>" in last:
        return "index map"
    for call in c.reading.calls("BlockSpec"):
        if any(isinstance(n, ast.Name) and n.id == last for n in ast.walk(call)):
            return "index map"
    for call in c.reading.calls("pallas_call", "kernel", "emit_pipeline", "partial"):
        if any(isinstance(n, ast.Name) and n.id == last for n in ast.walk(call)):
            return "kernel"
    node = c.reading.function(last)
    if isinstance(node, ast.FunctionDef) and any("kernel" in ast.unparse(d) for d in node.decorator_list):
        return "kernel"
    return None


def _grid_rank(c: Clue) -> int | None:
    ranks = set()
    for call in c.reading.calls("pallas_call", "GridSpec", "PrefetchScalarGridSpec"):
        for k in call.keywords:
            if k.arg == "grid" and isinstance(k.value, ast.Tuple):
                ranks.add(len(k.value.elts))
    return ranks.pop() if len(ranks) == 1 else None


def _prefetch_count(c: Clue) -> int:
    for call in c.reading.calls("PrefetchScalarGridSpec"):
        for k in call.keywords:
            if k.arg == "num_scalar_prefetch" and isinstance(k.value, ast.Constant) and isinstance(k.value.value, int):
                return k.value.value
    return 0


def _map_of_arity(c: Clue, takes: int | None) -> Place | None:
    """The first index map that is written with this many parameters."""
    last = c.group("function").rpartition(".")[2]
    if "<lambda>" not in last:
        node = c.reading.function(last)
        return place_at(node) if node else None
    for call in c.reading.calls("BlockSpec"):
        for n in ast.walk(call):
            if isinstance(n, ast.Lambda) and (takes is None or len(n.args.args) == takes):
                return place_at(n)
    return None


def alias_differs(c: Clue) -> Words:
    i, o = c.group("i"), c.group("o")
    prefetch = _prefetch_count(c)
    message = (
        f"`input_output_aliases` joins operand {i}, which is {c.group('a')}, to output {o}, which is {c.group('b')}. "
        "They would be one buffer, so shape and dtype must be equal."
    )
    hint = "Choose the operand that has the output's shape and dtype."
    if prefetch and int(i) < prefetch:
        message += f" Operand {i} is a scalar-prefetch operand: the count starts with those, before the inputs."
        hint = f"Count all operands, prefetch first: the first input is number {prefetch}."
    return Words(message, hint, place=_alias_place(c))


def alias_outside(c: Clue) -> Words:
    side = c.group("side")
    return Words(
        f"`input_output_aliases` names {side} {c.group('n')}, but the kernel has {c.group('size')} {side}"
        f"{'s' if c.group('size') != '1' else ''}, counted from 0. The scalar-prefetch operands count as inputs.",
        "The key is the number of an operand, the value the number of an output.",
        place=_alias_place(c),
    )


def _alias_place(c: Clue) -> Place | None:
    for call in c.reading.calls("pallas_call", "kernel", "partial"):
        for k in call.keywords:
            if k.arg == "input_output_aliases":
                return place_at(k.value)
    return None


def block_rank(c: Clue) -> Words:
    shape, array = block_sizes(c.group("block")), c.group("array")
    return Words(
        f"The block shape {shape} of {_origin(c)} has another number of dimensions than its array, whose shape is "
        f"{array}. A block has one length for each axis of the array; `None` means one element, with that axis "
        "squeezed away.",
        "Give the block one entry for each axis of the array.",
        name_of_origin(c.reading, None, c.group("origin")),
        spec_place(c.reading, None, c.group("origin")),
    )


def map_returns(c: Clue) -> Words:
    want = len(re.findall(r"Blocked|Squeezed|Element|BoundedSlice|None|\d+(?=[,)])", c.group("block")))
    return Words(
        f"The index map of {_origin(c)} returns {c.group('got')} value{'s' if c.group('got') != '1' else ''}, but its "
        f"block {block_sizes(c.group('block'))} has {c.group('want') or want} dimensions. It returns one block number "
        "for each.",
        "Return a tuple with one number for each dimension of the block, such as `(i, 0)`.",
        name_of_origin(c.reading, None, c.group("origin")),
        _map_place(c),
    )


def map_not_integer(c: Clue) -> Words:
    return Words(
        f"The index map of {_origin(c)} returns {c.group('type')} at position {c.group('position')}, but block "
        "numbers are integer scalars. `/` makes a float, and a whole ref is no number.",
        "Divide with `//`, and index a prefetch ref with `[i]`.",
        name_of_origin(c.reading, None, c.group("origin")),
        _map_place(c),
    )


def bad_block_entry(c: Clue) -> Words:
    return Words(
        "A block shape holds something that is not a length. Its entries are integers, `None` or `pl.Squeezed()`, "
        "`pl.Blocked(n)`, `pl.Element(n)`.",
        "Check the entries of the block shape; sizes that were divided need `//`.",
        place=_only_spec(c),
    )


def swapped_spec(c: Clue) -> Words | None:
    for call in c.reading.calls("BlockSpec"):
        if call.args and isinstance(call.args[0], ast.Lambda):
            return Words(
                "The first argument of `BlockSpec` is the block shape and the second the index map; here they are the "
                "other way round.",
                "Write `pl.BlockSpec(block_shape, index_map)`.",
                place=place_at(call),
                code="KT121",
            )
    return None


def spec_count(c: Clue) -> Words:
    which = c.group("which")
    other = {"in_specs": "inputs", "out_specs": "outputs"}.get(which, "arguments")
    message = f"`{which}` does not match the {other}: there must be one spec for each, nested in the same way."
    if m := re.search(r"length (\d+) but `\w+` is a \w+ of length (\d+)", c.text):
        message = (
            f"`{which}` has {m[1]} spec{'s' if m[1] != '1' else ''}, but there are {m[2]} {other}. Each needs its own."
        )
    elif m := re.search(r"is a <class '(\w+)'> but `out_shape` is a pytree leaf", c.text):
        message = (
            f"`out_specs` is a {m[1]}, but `out_shape` is a single array. A single output has a single spec, several "
            "have a list of specs."
        )
    hint = "Count the specs and the arguments of the call."
    if which == "in_specs":
        hint += " Scalar-prefetch operands are passed first and have no spec."
    return Words(message, hint, place=_keyword(c, which))


def spec_not_a_list(c: Clue) -> Words:
    return Words(
        "`in_specs` must be a list or tuple with one spec for each input, but it is a single spec.",
        "Put the spec into a list: `in_specs=[spec]`.",
        place=_keyword(c, "in_specs"),
    )


def returns_value(c: Clue) -> Words:
    node = kernel_of(c.reading, c.text)
    returned = next((n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value), None) if node else None
    return Words(
        "The kernel returns a value. A kernel returns nothing: its results are what it stores in its output refs.",
        "Store the value: `o_ref[...] = value`.",
        place=place_at(returned) if returned else place_in_text(c.text, c.path),
    )


def _origin(c: Clue) -> str:
    origin = c.group("origin")
    name = name_of_origin(c.reading, None, origin)
    if m := re.match(r"args\[(\d+)\]", origin):
        return f"input {m[1]} (`{name}`)" if name else f"input {m[1]}"
    if m := re.match(r"outputs(?:\[(\d+)\])?", origin):
        label = f"output {m[1]}" if m[1] else "the output"
        return f"{label} (`{name}`)" if name else label
    return code_name(origin, "an operand")


def _map_place(c: Clue) -> Place | None:
    return place_in_text(c.text, c.path) or spec_place(c.reading, None, c.group("origin"))


def _only_spec(c: Clue) -> Place | None:
    specs = c.reading.calls("BlockSpec")
    return place_at(specs[0]) if len(specs) == 1 else None


def _keyword(c: Clue, name: str) -> Place | None:
    found = [
        k for n in c.reading.calls("pallas_call", "GridSpec", "PrefetchScalarGridSpec", "kernel") for k in n.keywords
    ]
    places = [place_at(k.value) for k in found if k.arg == name]
    return places[0] if len(places) == 1 else None


def _captured_name(c: Clue) -> tuple[str | None, Place | None]:
    """The array that the kernel closes over, or the call in the kernel that makes one, if the source shows it."""
    kernel = kernel_of(c.reading, c.text)
    if kernel is None:
        return None, None
    own = set(parameter_names(kernel))
    own |= {n.id for n in ast.walk(kernel) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    outside = {
        t.id
        for n in ast.walk(c.reading.tree)
        if isinstance(n, ast.Assign) and not isinstance(n.value, ast.Constant)
        for target in n.targets
        for t in ast.walk(target)
        if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)
    }
    outside |= {p for f in c.reading.functions(place_at(kernel))[:-1] for p in parameter_names(f)}
    for n in ast.walk(kernel):
        if isinstance(n, ast.Name) and n.id in outside - own:
            return n.id, place_at(n)
    for n in ast.walk(kernel):
        if isinstance(n, ast.Call) and call_name(n) in ("array", "asarray", "arange", "linspace"):
            return None, place_at(n)
    return None, place_at(kernel)


_FUNCTION = r"(?<![\w.<>])(?P<function>[\w.<>]+)\(\)"
_MAP = r"Index map function .*? for (?P<origin>\S+?)"

ROWS: tuple[Row, ...] = (
    Row(r"captures (?:non-scalar array )?constants \[(?P<arrays>.*?)\]\. You", "KT112", captured),
    Row(_MAP + r" must not capture constants", "KT121", map_captures),
    Row(_FUNCTION + r" takes (?P<takes>[\w ]+?) positional arguments? but (?P<given>\d+)", "KT114", wrong_arity),
    Row(_FUNCTION + r" missing (?P<missing>\d+) required positional", "KT114", wrong_arity),
    Row(
        r"input_output_aliases contains the mapping '(?P<i>\d+):(?P<o>\d+)'.*? with abstract value (?P<a>\S+\[.*?\]).*?"
        r"different abstract value (?P<b>\S+\[.*?\])",
        "KT115",
        alias_differs,
    ),
    Row(
        r"input_output_aliases contains .*? with (?P<side>input|output) index (?P<n>-?\d+) outside the range "
        r"\[0, (?P<size>\d+)\)",
        "KT115",
        alias_outside,
    ),
    Row(
        r"Block shape for (?P<origin>\S+) \(= (?P<block>\(.*?\))\) must have the same number of dimensions "
        r"as the array shape (?P<array>\(.*?\))",
        "KT121",
        block_rank,
    ),
    Row(
        _MAP + r" must return (?P<want>\d+) values to match block_shape=(?P<block>\(.*?\))\. "
        r"Currently returning (?P<got>\d+)",
        "KT121",
        map_returns,
    ),
    Row(
        _MAP + r" must return integer scalars\. Output\[(?P<position>\d+)\] has type (?P<type>\S+)\.",
        "KT121",
        map_not_integer,
    ),
    Row(r"index_map returned a value of type|Unsupported block (?:dimension|shape) type", "KT121", bad_block_entry),
    Row(
        r"'function' object is not (?:iterable|subscriptable)|object of type 'function' has no len",
        "KT121",
        swapped_spec,
    ),
    Row(r"Pytree for `(?P<which>\w+)` and `\w+` do not match", "KT126", spec_count),
    Row(r"`in_specs` must be a tuple or a list", "KT126", spec_not_a_list),
    Row(r"should return None\. It returns a PyTree", "KT110", returns_value),
)
