"""The lexers keep every character and know every token, on all that the built-in set gives them to read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jax
import pytest
from builtin_programs import check_cases, name_of, predictions, programs, traced
from kernel_samples import f32
from kernel_samples import traced as sample
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Error, Keyword, Name, Token

from tutor.jaxpr.printing import marked
from tutor.sets import Exercise
from tutor.stage.artifacts import export
from tutor.stage.author_kernels import author_kernels
from tutor.stage.tracing import Trace
from tutor.wire import Attempt, KernelsJob, Traced

PROGRAMS = programs()


@cache
def lexer(name: str) -> Lexer:
    """The lexer as Pygments finds it: by its entry point."""
    return get_lexer_by_name(name, stripnl=False, ensurenl=False)


def tokens(name: str, text: str) -> list[tuple[object, str]]:
    """The tokens of a text, after the two promises were checked: nothing lost, nothing unknown."""
    found = list(lexer(name).get_tokens(text))
    assert "".join(value for _, value in found) == text
    assert not [value for kind, value in found if kind in Error]
    return found


def words(name: str, text: str, *kinds: object) -> set[str]:
    return {value for kind, value in tokens(name, text) if kind in kinds}


@cache
def trace_of(slug: str, path: Path) -> Trace:
    return traced(slug, path, check_cases(slug)[0])


@pytest.mark.parametrize(("slug", "path"), PROGRAMS, ids=name_of)
def test_jaxprs_of_the_set(slug: str, path: Path) -> None:
    jaxpr = trace_of(slug, path).jaxpr
    for whole in (False, True):
        page = marked(jaxpr, str(path), whole)
        functions = words("jaxpr", page.text, Name.Function, Name.Builtin)
        lines = page.text.split("\n")
        written = {lines[s.line][s.start : s.end] for s in page.spans if s.role == "primitive"}
        assert written <= functions
    assert "pallas_call" in words("jaxpr", str(jaxpr), Name.Function) or "mpmd_map" in str(jaxpr)


@pytest.mark.parametrize(("slug", "path"), PROGRAMS, ids=name_of)
def test_mosaic_modules_of_the_set(slug: str, path: Path) -> None:
    text = export(trace_of(slug, path), "tpu", path.read_text(), str(path)).mosaic
    assert text is not None
    assert {"module", "loc"} <= words("mosaic", text, Keyword)
    operations = words("mosaic", text, Name.Function)
    assert '"stable_mosaic.func.func"' in operations
    assert not {word for word in operations if "<locals>" in word}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("exercise", predictions(), ids=lambda exercise: exercise.slug)
def test_jaxprs_of_predict_exercises(exercise: Exercise, whole: bool) -> None:
    assert exercise.kernels is not None
    names = list(dict.fromkeys(question.kernel for question in exercise.manifest.questions))
    said: list[object] = []
    file = Attempt(exercise.kernels.read_bytes(), str(exercise.kernels), "")
    author_kernels(KernelsJob(file, names, whole=whole), said.append)
    (marks,) = [body.marked for body in said if isinstance(body, Traced) and body.marked]
    assert {"get", "swap"} & set(marks.explanations)
    tokens("jaxpr", marks.text)


def test_there_is_much_to_read() -> None:
    assert len(PROGRAMS) > 50


def test_a_line_of_each_kind() -> None:
    text = (
        "# kernel 0: k\n"
        "    x_ref:Ref<vmem>{f32[8,128]}\n"
        "    a:f32[2,128] <- x_ref[i:i+2,:]\n"
        "    cond c acc_ref\n"
        "    o_ref[...] += a\n"
        "    dma_start x_hbm[1,:4,:] -> buf[...] sem#2\n"
        "    b:f32[], _ = scan[length=3] 0 -inf\n"
    )
    assert words("jaxpr", text, Name.Function) == {"cond", "scan"}
    assert words("jaxpr", text, Name.Builtin) == {"dma_start"}
    assert words("jaxpr", text, Name.Namespace) == {"vmem"}
    assert words("jaxpr", text, Name.Attribute) == {"length"}
    assert words("jaxpr", text, Name.Variable) == {"x_ref", "a", "b"}
    assert {"sem#2", "o_ref", "_"} <= words("jaxpr", text, Name)
    assert words("jaxpr", text, Token.Comment.Single) == {"# kernel 0: k"}


@pytest.mark.parametrize(
    "name", ["in", "let", "x" * 80, "größe", "body", "a b", "x\u202ey", "#", "'", '"', "[", "a\nb", "\x1b[31m", "名"]
)
def test_names_of_the_learner(name: str) -> None:
    """Whatever a learner calls things: the text stays whole and known."""

    def inner(x):
        return x + 1

    inner.__name__ = inner.__qualname__ = name
    page = marked(sample(lambda x: jax.jit(inner)(x), f32(4)), __file__)
    tokens("jaxpr", page.text)


def test_short_mosaic() -> None:
    text = "%0 = arith.addi %a, %b : vector<8x?xi32> // sum\n#map = affine_map<(d0) -> (d0 + 1)>\n"
    assert words("mosaic", text, Name.Function) == {"arith.addi"}
    assert words("mosaic", text, Name.Variable) == {"0", "a", "b"}
    assert words("mosaic", text, Keyword.Type) == {"vector", "i32", "affine_map"}


def test_what_is_neither_is_an_error() -> None:
    found: Iterator[tuple[object, str]] = lexer("mosaic").get_tokens("§")
    assert Error in [kind for kind, _ in found]
