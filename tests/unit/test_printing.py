"""The marked jaxpr: exact text, the meaning of each line, lines both ways, and hostile names."""

from __future__ import annotations

import re
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from kernel_samples import (
    HERE,
    bf16,
    block_sparse,
    f32,
    gather_pages,
    i32,
    line_of,
    loops,
    matmul,
    on_a_mesh,
    pipelined,
    traced,
    two_kernels,
)

from tutor.jaxpr.primitives import explain
from tutor.jaxpr.printing import marked

EVERYTHING = [
    (matmul, (bf16(256, 512), bf16(512, 128))),
    (loops, (i32(1), f32(8, 128))),
    (gather_pages, (f32(9, 16, 128), i32(3))),
    (block_sparse, (i32(5), i32(5), f32(5, 32, 64), f32(128, 128))),
    (pipelined, (f32(32, 128),)),
    (on_a_mesh, (f32(8, 128),)),
    (two_kernels, (bf16(8, 128), f32(1024))),
]


def test_the_text_of_a_kernel():
    text = marked(traced(matmul, bf16(256, 512), bf16(512, 128)), HERE).text
    assert text == textwrap.dedent("""\
        # kernel 0: kernel, grid (2, 1, 4); in a_ref, b_ref; out o_ref; scratch acc_ref
        kernel { lambda
            a_ref:Ref<vmem>{bf16[128,128]}
            b_ref:Ref<vmem>{bf16[128,128]}
            o_ref:Ref<vmem>{bf16[128,128]}
            acc_ref:Ref<vmem>{f32[128,128]}
          let
            a:i32[] = program_id[axis=2]
            b:bool[] = eq a 0
            c:i32[] = convert_element_type[new_dtype=int32] b
            cond c acc_ref
              branch 0 {}
              branch 1 {
                d:f32[128,128] = broadcast_in_dim[shape=(128,128)] 0.0
                acc_ref[...] <- d
              in () }
            e:f32[128,128] <- acc_ref[...]
            f:bf16[128,128] <- a_ref[...]
            g:bf16[128,128] <- b_ref[...]
            h:f32[128,128] = dot_general[dimension_numbers=(((1,),(0,)),((),())) preferred_element_type=float32] f g
            i:f32[128,128] = add e h
            acc_ref[...] <- i
            j:bool[] = eq a 3
            k:i32[] = convert_element_type[new_dtype=int32] j
            cond k acc_ref o_ref
              branch 0 {}
              branch 1 {
                l:f32[128,128] <- acc_ref[...]
                m:bf16[128,128] = convert_element_type[new_dtype=bfloat16] l
                o_ref[...] <- m
              in () }
          in () }""")


def test_indices_copies_masks_and_loop_variables():
    def kernel(x_hbm, o_ref, buf, sem):
        copy = pltpu.make_async_copy(x_hbm.at[1, pl.ds(0, 4)], buf, sem)
        copy.start()
        copy.wait()

        def turn(row, _):
            o_ref[pl.ds(row * 2, 2), :] = buf[0:2, ::1] + buf[2:4]
            return 0

        jax.lax.fori_loop(0, 2, turn, 0)
        jax.ref.addupdate(o_ref, (slice(0, 1),), buf[0:1])
        pltpu.store(o_ref, jnp.ones((4, 128)), mask=pl.program_id(0) > jnp.zeros((4, 128), jnp.int32))

    call = pl.pallas_call(
        kernel, grid=(1,), in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_shape=f32(4, 128),
        out_specs=pl.BlockSpec((4, 128), lambda i: (0, 0)),
        scratch_shapes=[pltpu.VMEM((4, 128), jnp.float32), pltpu.SemaphoreType.DMA],
    )  # fmt: skip
    page = marked(traced(call, f32(2, 8, 128)), __file__)
    lines = [line.strip() for line in page.text.split("\n")]
    assert "dma_start x_hbm[1,:4,:] -> buf[...] sem" in lines
    assert "dma_wait x_hbm[1,:4,:] -> buf[...] sem" in lines
    assert "body, 2 times { row:i32[]" in " ".join(lines)
    assert any(re.match(r"o_ref\[(\w+):\1\+2,:\] <- ", line) for line in lines)
    assert any(line.startswith("o_ref[:1,:] += ") for line in lines)
    assert any(line.startswith("o_ref[...] <- ") and " mask=" in line for line in lines)


def test_every_access_line_says_what_and_where():
    page = marked(traced(matmul, bf16(256, 512), bf16(512, 128)), HERE)
    rows = [
        (line.kind, line.ref, line.space, line.source_line, line.primitive) for line in page.lines if line.kind
    ]  # fmt: skip
    dot = line_of("matmul dot")
    assert rows == [
        ("store", "acc_ref", "vmem", line_of("matmul zero"), "swap"),
        ("load", "acc_ref", "vmem", dot, "get"),
        ("load", "a_ref", "vmem", dot, "get"),
        ("load", "b_ref", "vmem", dot, "get"),
        ("accumulate", "acc_ref", "vmem", dot, "swap"),
        ("load", "acc_ref", "vmem", line_of("matmul flush"), "get"),
        ("store", "o_ref", "vmem", line_of("matmul flush"), "swap"),
    ]


def test_lines_both_ways():
    page = marked(traced(loops, i32(1), f32(8, 128)), HERE)
    text = page.text.split("\n")
    from_source = [text[i].strip() for i, line in enumerate(page.lines) if line.source_line == line_of("loops branch")]
    assert from_source == ["k:f32[2,128] <- s_ref[:2,:]", "o_ref[:2,:] <- k"]
    sources = {line.source_line for line in page.lines if line.kind == "accumulate"}
    assert sources == {line_of("loops data")}
    columns = [line.source_column for line in page.lines if line.source_line == line_of("loops branch")]
    assert all(c is not None and c >= 16 for c in columns)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("function", "shapes"), EVERYTHING, ids=lambda x: getattr(x, "__name__", ""))
def test_lines_spans_and_folds_fit_the_text(function, shapes, whole):
    page = marked(traced(function, *shapes), HERE, whole)
    text = page.text.split("\n")
    assert len(text) == len(page.lines)
    for span in page.spans:
        assert 0 <= span.start < span.end <= len(text[span.line])
    ends: dict[int, int] = {}
    for span in page.spans:  # in order, and never one over another
        assert span.start >= ends.get(span.line, 0)
        ends[span.line] = span.end
    for i, line in enumerate(page.lines):
        if line.fold_end is not None:
            assert i < line.fold_end < len(text)
            assert all(below.depth >= line.depth for below in page.lines[i + 1 : line.fold_end + 1])
            assert text[line.fold_end].endswith("}")
        if line.kind in ("load", "store", "accumulate", "copy_start", "copy_wait"):
            roles = {s.role for s in page.spans if s.line == i}
            assert line.kind in roles
            assert f"space.{line.space}" in roles
    assert all(text[s.line][s.start : s.end].isprintable() for s in page.spans)


def test_kernels_come_first_and_the_program_on_request():
    jaxpr = traced(two_kernels, bf16(8, 128), f32(1024))
    part, whole = marked(jaxpr, HERE), marked(jaxpr, HERE, whole=True)
    assert [t for t in part.text.split("\n") if t.startswith("#")] == [
        "# kernel 0: total, grid (); in x_ref; out o_ref",
        "# kernel 1: scale, grid (); in s_ref, y_ref; out o_ref",
    ]
    assert {line.kernel for line in part.lines if line.kind} == {0, 1}
    tail = whole.text[whole.text.index("# the whole program") :]
    assert "= pallas_call[kernel 0] " in tail
    assert "= pallas_call[kernel 1] " in tail
    assert all(line.kernel is None for line in whole.lines[-5:])


def test_index_maps_on_request():
    page = marked(traced(gather_pages, f32(9, 16, 128), i32(3)), HERE, whole=True)
    assert "# index map of o_ref, block (None, 16, 128)" in page.text
    assert "index_map" not in marked(traced(gather_pages, f32(9, 16, 128), i32(3)), HERE).text


def test_a_program_without_a_kernel_is_shown_whole():
    page = marked(traced(lambda x: x + 1.0, f32(4)), HERE)
    assert page.text.startswith("# the whole program\n")
    assert "add" in [line.primitive for line in page.lines]


def test_captured_arrays_are_shown_where_they_are_bound():
    table = np.arange(4, dtype=np.float32)
    text = marked(traced(lambda x: jax.jit(lambda y: y * table)(x) + table, f32(4)), HERE).text
    assert "const a:f32[4]" in text  # captured by the program
    assert re.search(r"body \{ y:f32\[4\] const \w+:f32\[4\]", text)


def test_a_true_swap_shows_the_old_value():
    def kernel(x_ref, o_ref):
        old = jax.ref.swap(o_ref, (Ellipsis,), x_ref[...])
        o_ref[...] = old

    page = marked(traced(pl.pallas_call(kernel, out_shape=f32(8, 128)), f32(8, 128)), __file__)
    assert "b:f32[8,128], o_ref[...] <- o_ref[...], a" in page.text


def test_text_from_the_program_is_plain_data():
    def kernel(x_ref, o_ref):
        pl.debug_print("[bold]\x1b[31m{}\n", x_ref[0, 0])
        o_ref[...] = x_ref[...]

    call = pl.pallas_call(kernel, out_shape=f32(8, 128), name="evil\x1b]0;x\x07[/red]\n\u202ename")
    text = marked(traced(call, f32(8, 128)), __file__, whole=True).text
    assert all(c.isprintable() or c == "\n" for c in text)
    assert text.split("\n")[0].startswith("# kernel 0: evil·]0;x·[/red]··name")
    assert "[bold]·[31m{}·" in text


def test_long_parameters_are_folded():
    def kernel(x_ref, o_ref):
        pl.debug_print(
            "a" * 300,
        )
        o_ref[...] = x_ref[...]

    text = marked(traced(pl.pallas_call(kernel, out_shape=f32(8, 128)), f32(8, 128)), __file__).text
    assert "fmt=…" in text
    assert max(map(len, text.split("\n"))) < 160


def test_primitives_of_the_samples_are_explained():
    seen = {line.primitive for f, shapes in EVERYTHING for line in marked(traced(f, *shapes), HERE, True).lines}
    unknown = {name for name in seen if name and explain(name) is None}
    assert unknown == set()
    assert explain("no_such_primitive") is None


def test_the_page_carries_the_explanations_of_its_primitives():
    page = marked(traced(lambda x: jnp.exp(x) + 1.0, f32(4)), HERE)
    assert page.explanations == {"exp": explain("exp"), "add": explain("add")}
