"""The HTML page of a marked jaxpr: what is in it, what cannot get out of it, and what a browser makes of it."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tutor.cli.access_table import access_table, of_kernels
from tutor.cli.marked import marked_text, pieces
from tutor.cli.page import page
from tutor.protocol import Access, CaseFacts, JaxprLine, Kernel, KernelFacts, MarkedJaxpr, Operand, Span, Staged
from tutor.sets import builtin_root
from tutor.tui.theme import DARK, LIGHT

SOURCE = "def kernel(x_ref, o_ref):\n    x = x_ref[...]\n    o_ref[...] = x + x_ref[...]\n\n"
MARKS = MarkedJaxpr(
    text="kernel {\n  a:f32[8] <- x_ref[...]\n  cond c\n    branch 1 {\n    o_ref[...] <- a\n    in () }\nin () }",
    lines=[
        JaxprLine(fold_end=6),
        JaxprLine("load", "x_ref", "vmem", 2, 8, 1, 0, "get"),
        JaxprLine(source_line=3, primitive="cond", fold_end=5),
        JaxprLine(fold_end=5),
        JaxprLine("store", "o_ref", "vmem", 3, 4, 2, 0, "swap"),
        JaxprLine(),
        JaxprLine(),
    ],
    spans=[
        Span(0, 0, 6, "param"),
        Span(1, 2, 3, "variable"),
        Span(1, 10, 14, "load"),
        Span(1, 14, 19, "space.vmem"),
        Span(4, 4, 9, "space.vmem"),
    ],
    explanations={"get": 'Load: a "slice" of a Ref.', "swap": "Store."},
)
LOAD = Access("x_ref", "vmem", "load", 2, 8, [8], "float32", 1, False, 32)
STORE = Access("o_ref", "vmem", "store", 3, 4, [8], "float32", None, True, None)
KERNEL = Kernel(
    name="kernel", primitive="pallas_call", facts_case="small", grid=[4, None],
    operands=[
        Operand("x_ref", "x", "input", "vmem", [8], [32], "float32"),
        Operand("o_ref", None, "output", "vmem", [8], [32], "float32"),
    ],
    accesses=[LOAD, STORE], loads=1, stores=None, accumulates=0, copies=0, bytes_in=128, bytes_out=128,
)  # fmt: skip
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Read(HTMLParser):
    """The page as a browser's parser sees it: every tag closed in order, its elements, its text by id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str | None]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: dict[str, str] = {}
        self.above: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.elements.append((tag, given))
        if name := given.get("id"):
            assert name not in self.words
            self.words[name] = ""
            self.above[name] = [tag for tag, _ in self.open]
        if tag not in VOID:
            self.open.append((tag, given.get("id")))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, name in self.open:
            if name:
                self.words[name] += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [given for name, given in self.elements if name == tag]


def shown(source: str = SOURCE, marks: MarkedJaxpr = MARKS, kernel: Kernel = KERNEL, title: str = "Read once") -> str:
    return page(title, "attempt.py", source, [kernel], marks)


# ---------------------------------------------------------------- what is in it


def test_lines_both_ways() -> None:
    read = Read(shown())
    links = {given["href"] for given in read.named("a")}
    assert links == {"#s2", "#s3", "#j2", "#j5"}  # from the jaxpr to the source, and back to the first access
    assert {name[1:] for name in links if name} <= set(read.words)
    assert read.words["s2"].split() == ["L2", "x", "=", "x_ref[...]"]
    assert read.words["j2"].split() == ["2L2", "a:f32[8]", "<-", "x_ref[...]"]


def test_titles_and_roles() -> None:
    read = Read(shown())
    (line,) = [given for given in read.named("span") if given.get("id") == "j2"]
    assert line["title"] == 'Load: a "slice" of a Ref.'
    roles = [given["class"] for given in read.named("i")]
    assert roles.count("space vmem") == 2 + 2  # two spans of the text, two rows of the table
    assert "load" in roles


def test_regions_fold() -> None:
    read = Read(shown())
    depth = {name: above.count("details") for name, above in read.above.items() if name.startswith("j")}
    assert depth == {"j1": 1, "j2": 1, "j3": 2, "j4": 3, "j5": 3, "j6": 3, "j7": 1}
    assert [name for name, above in read.above.items() if "summary" in above] == ["j1", "j3", "j4"]


def test_table_and_notes() -> None:
    text = re.sub(r"<[^>]*>", " ", shown())
    assert "x_ref vmem 8 f32 1 · · · 32 B - 1 tile for 8 values 32" in " ".join(text.split())
    assert "one step 1 ×? · ·" in " ".join(text.split())
    assert "grid 4×?; 128 B in" in text
    assert "depends on data" in text and "in a branch" in text


def test_without_places_there_is_no_source() -> None:
    marks = MarkedJaxpr("a = b", [JaxprLine()], [])
    assert "def kernel" not in shown(marks=marks)


def test_what_could_be_shared_is_said_unless_it_would_tell_answers() -> None:
    load = JaxprLine("load", "x_ref", "vmem", None, None, 1, 0, "get")
    marks = MarkedJaxpr("  a <- x_ref[...]\n  b <- x_ref[...]", [load, load], [])
    words = "x_ref is loaded twice, the same elements: one load"
    assert words in shown(marks=marks)
    assert words not in page("Count", "attempt.py", "", [], marks)


# ---------------------------------------------------------------- what cannot get out of it

HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">'\"&amp;{{7*7}}"
)
CONTROLS = "\x1b[2J\x00\x08\x9b\u202ehidden\u2066\ud800\u2028"


def hostile() -> str:
    text = f"  {HOSTILE}{CONTROLS}"
    marks = MarkedJaxpr(
        text, [JaxprLine("load", HOSTILE, "vmem", 1, 0, 0, 0, HOSTILE)], [Span(0, 2, 10, "load")], {HOSTILE: HOSTILE}
    )
    kernel = Kernel(
        name=HOSTILE + CONTROLS, primitive="pallas_call", facts_case="c", grid=[],
        operands=[Operand(HOSTILE, HOSTILE, "input", "vmem", None, [1], HOSTILE)],
        accesses=[Access(HOSTILE, "vmem", "load", 1, 0, [1], HOSTILE, 1, False, 4)],
        loads=1, stores=0, accumulates=0, copies=0, bytes_in=None, bytes_out=None,
    )  # fmt: skip
    return shown(HOSTILE + CONTROLS + "\n", marks, kernel, HOSTILE)


def test_nothing_of_the_learner_is_markup() -> None:
    read = Read(hostile())
    assert len(read.named("script")) == 1 and not read.named("img")
    assert not [name for _, given in read.elements for name in given if name.startswith("on")]
    assert HOSTILE in read.words["s1"] and HOSTILE in read.words["j1"]


def test_control_characters_are_written_out() -> None:
    text = hostile()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\ud800-\udfff]", text)
    assert "\\x1b[2J\\x00\\x08\\x9b\\u202ehidden" in html.unescape(text)


def test_nothing_is_loaded_and_no_style_stands_outside() -> None:
    for given in (shown(), hostile()):
        read = Read(given)
        assert not {"link", "iframe", "object", "img"} & {tag for tag, _ in read.elements}
        assert not [given for _, given in read.elements if {"src", "style"} & set(given)]
        assert all((a["href"] or "").startswith("#") for a in read.named("a"))
        assert "url(" not in given and "@import" not in given


def test_colours_are_those_of_the_screen() -> None:
    light, dark = re.findall(r":root \{(.*?)\}", shown(), re.DOTALL)
    for block, theme in ((light, LIGHT), (dark, DARK)):
        for name in ("load", "store", "accumulate", "copy", "semaphore", "vmem", "smem", "hbm"):
            assert f"--{name}: {theme.variables[name]};" in block


# ---------------------------------------------------------------- the same for a terminal


def test_pieces_make_the_line() -> None:
    marks = MarkedJaxpr("abcdef", [JaxprLine()], [Span(0, 1, 3, "type"), Span(0, 2, 4, "param"), Span(0, 5, 6, "x")])
    assert pieces(marks) == [[("a", None), ("bc", "type"), ("d", "param"), ("e", None), ("f", "x")]]


def test_plain_and_coloured_text_say_the_same() -> None:
    plain, coloured = marked_text(MARKS, color=False), marked_text(MARKS, color=True)
    assert plain[1] == "L 2   a:f32[8] <- x_ref[...]"
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in coloured] == plain
    assert "\x1b[34mL\x1b[0m" in coloured[1] and "\x1b[36mx_ref\x1b[0m" in coloured[1]


def test_table_for_a_terminal() -> None:
    facts = KernelFacts(KERNEL, [], [], [], None, False, None, staged=[Staged("x_ref", 4, 128, 2, 64)])
    text = access_table(KERNEL, facts)
    assert text[:5] == [
        "kernel: grid 4×?; 128 B in, 128 B out over the whole grid",
        "  ref       space  block  dtype  loads  stores  accum.  copies  bytes/step  moved  least  "
        "work                 array",
        "  x_ref     vmem   8      f32        1       ·       ·       ·        32 B  128 B   64 B  "
        "1 tile for 8 values  32",
        "  o_ref     vmem   8      f32        ·      ×?       ·       ·          ×?      -         "
        "×? tiles             32",
        "  one step                           1      ×?       ·       ·",
    ]
    assert "moves again" in " ".join(text)


def product() -> tuple[Kernel, KernelFacts]:
    """A kernel whose table has 113 columns of text: a blocked product with a scratch and a table of integers."""

    def access(ref: str, kind: str, space: str = "vmem") -> Access:
        return Access(ref, space, kind, 3, 0, [32, 128], "float32", 1, True, 16 << 10)  # type: ignore[arg-type]

    def operand(name: str, role: str, space: str, block: list[int | None] | None, shape: list[int]) -> Operand:
        return Operand(name, None, role, space, block, shape, "bfloat16")  # type: ignore[arg-type]

    kernel = Kernel(
        name="matmul", primitive="pallas_call", facts_case="small", grid=[3, 2, 4],
        operands=[
            operand("rows_ref", "prefetch", "smem", None, [7]),
            operand("a_ref", "input", "vmem", [32, 128], [96, 512]),
            operand("b_ref", "input", "vmem", [128, 128], [512, 256]),
            operand("o_ref", "output", "vmem", [32, 128], [96, 256]),
        ],
        accesses=[
            access("rows_ref", "load", "smem"), access("a_ref", "load"), access("b_ref", "load"),
            access("acc_ref", "accumulate"), access("o_ref", "store"),
        ],
        loads=3, stores=1, accumulates=1, copies=0, bytes_in=960 << 10, bytes_out=48 << 10,
    )  # fmt: skip
    staged = [Staged("a_ref", 24, 192 << 10, 12, 96 << 10), Staged("b_ref", 24, 768 << 10, 8, 256 << 10)]
    return kernel, KernelFacts(kernel, [], [], [], None, False, None, staged=staged)


@pytest.mark.parametrize("width", [40, 80])
def test_the_table_in_a_narrow_terminal(width: int) -> None:
    text = "\n".join(access_table(*product(), width=width)) + "\n"
    path = Path(__file__).parent / "goldens" / f"access_{width}.txt"
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(text)
    assert text == path.read_text()
    assert max(map(len, text.splitlines())) <= width and "…" not in text


def test_a_narrow_table_leaves_no_number_out() -> None:
    """Every word of the wide table stands in the narrow one, but for columns in which nothing stands."""
    wide = " ".join(access_table(*product())).split()
    narrow = " ".join(access_table(*product(), width=80)).split()
    assert {word for word in wide if word not in ("·", "-")} <= set(narrow)
    coloured = access_table(*product(), width=80, color=True)
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in coloured] == access_table(*product(), width=80)


def test_where_all_fits_nothing_is_folded() -> None:
    whole = access_table(*product())
    assert access_table(*product(), width=max(map(len, whole)))[1:7] == whole[1:7]


def test_kernels_find_their_facts() -> None:
    facts = KernelFacts(KERNEL, [], [], [], None, False, None)
    small, other = CaseFacts("small", [facts], [], []), CaseFacts("wide", [facts], [], [])
    assert of_kernels([KERNEL], [other, small]) == [(KERNEL, facts)]
    assert of_kernels([KERNEL], [other]) == [(KERNEL, None)]
    assert of_kernels([KERNEL, KERNEL], [small]) == [(KERNEL, None)] * 2


# ---------------------------------------------------------------- the verb


def test_the_verb_prints_one_page(kt, tmp_path) -> None:
    source = builtin_root() / "solutions/03_memory/02_f32_accumulator/reference.py"
    done = kt("jaxpr", "f32_accumulator", str(source), "--html", "--set", str(builtin_root()))
    assert done.code == 0
    read = Read(done.out)
    assert read.words["s16"].startswith("LLLA16")
    assert str(source.parent) not in done.out
    broken = tmp_path / "broken.py"
    broken.write_text("def matmul(:\n")
    done = kt("jaxpr", "f32_accumulator", str(broken), "--html", "--set", str(builtin_root()))
    assert (done.code, done.out) == (1, "")
    assert "KT101" in done.err


def test_two_forms_at_once(kt) -> None:
    assert kt("jaxpr", "scale", "--html", "--json").code == 2


# ---------------------------------------------------------------- in a browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (.ci/run installs it)")


def rendered(text: str, folder: Path, fragment: str = "") -> str:
    """The document after its script ran, written out by a browser."""
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}/p"]
    command = [CHROMIUM, *options, "--dump-dom", file.as_uri() + fragment]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@browser
def test_the_script_opens_what_hides_the_line(tmp_path: Path) -> None:
    folded = shown().replace("<details open>", "<details>")
    read = Read(rendered(folded, tmp_path, "#j5"))
    assert all("open" in given for given in read.named("details"))
    assert all("hidden" not in given for given in read.named("button"))
    lit = [given["id"] for given in read.named("span") if given.get("class") == "l here"]
    assert lit == ["s3", "j3", "j5"]


@browser
def test_a_browser_runs_nothing_of_the_learner(tmp_path: Path) -> None:
    injected = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    for text in (hostile(), shown().replace("</header>", injected + "</header>")):  # the second as if escaping failed
        assert "<title>owned" not in rendered(text, tmp_path)


@browser
def test_the_probe_sees_a_script_that_runs(tmp_path: Path) -> None:
    unguarded = re.sub(r"<meta http-equiv[^>]*>", "", shown())
    text = unguarded.replace("</header>", "<script>document.title='owned'</script></header>")
    assert "<title>owned" in rendered(text, tmp_path)
