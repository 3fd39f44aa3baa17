"""Lowered modules made readable, and jaxprs with the refused equation marked."""

from __future__ import annotations

from msgspec import structs

from tests.tui.fakes import BAD, KERNEL, MOSAIC, marked
from tutor.tui.model import Trace
from tutor.tui.mosaic_model import readable, refused


def test_a_module_is_readable_and_knows_the_lines() -> None:
    made = readable(MOSAIC, "x.py")
    assert made.text.split("\n") == [
        "module @kernel attributes {stable_mosaic.version = 15 : i64} {",
        "  func.func @main {",
        "    %arg0: i32",
        "    %a_ref: memref<8x128xf32, vmem>",
        "    %0 = arith.constant 0 : index",
        "    %1 = arith.cmpi %arg0, %0 {eq} : i1",
        "    scf.if %1 {",
        "      %2 = vector.load %a_ref, %0 : f32",
        "      tpu.vector_store %2, %a_ref : f32",
        "    } else {",
        "      scf.yield",
        "    }",
        "    func.return",
        "  }",
        "}",
    ]
    assert [line.source_line for line in made.lines[4:10]] == [16, 14, 14, 16, 16, None], "a callsite's caller counts"
    load = made.lines[7]
    assert (load.kind, load.ref, made.lines[8].kind) == ("load", "a_ref", "store")
    assert made.lines[1].fold_end == 13 and made.lines[6].fold_end == 9
    lines = made.text.split("\n")
    for span in made.spans:
        assert 0 <= span.start < span.end <= len(lines[span.line])
    assert {lines[s.line][s.start : s.end] for s in made.spans if s.role == "space.vmem"} == {"vmem"}


def test_each_module_has_places_of_its_own() -> None:
    other = MOSAIC.replace(":16:", ":99:")
    both = readable(f"{MOSAIC}\n{other}", "x.py")
    assert both.text.count("module @kernel") == 2
    assert {line.source_line for line in both.lines} == {None, 14, 16, 99}


def test_places_in_other_files_are_no_lines_of_the_learner() -> None:
    assert {line.source_line for line in readable(MOSAIC, "other.py").lines} == {None}


def test_what_is_not_understood_is_shown_as_it_is() -> None:
    assert readable("something (else) [x] loc(#loc9)", "x.py").text == "something (else) [x]"
    loop = '#loc1 = loc("a"(#loc2))\n#loc2 = loc("b"(#loc1))\n%0 = "x.y"() : () -> i32 loc(#loc1)'
    assert readable(loop, "x.py").text == "%0 = x.y : i32", "places that name each other end"
    assert readable("}\n}", "x.py").text == "}\n}"


def test_the_refused_equation_is_marked() -> None:
    trace = Trace((), (KERNEL,), marked())
    made, first = refused(trace, [structs.replace(BAD, line=20)]) or (None, 0)
    assert made is not None
    lines = made.text.split("\n")
    assert [i for i, text in enumerate(lines) if text.startswith("!! ")] == [16, 17] and first == 16
    assert lines[0].startswith("# not lowered: ") and len(made.lines) == len(lines)
    assert made.lines[2].fold_end == 18
    for span in made.spans:
        assert span.end <= len(lines[span.line])


def test_a_finding_without_a_line_marks_nothing() -> None:
    assert refused(Trace((), (), marked()), [structs.replace(BAD, line=None)]) is None
