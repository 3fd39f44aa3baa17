"""What is written out from the code is current, and says the same in every place."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from tutor.cli.explain import explain
from tutor.findings import codes, page
from tutor.sets.checks import QUANTITY

DOCS = Path(__file__).parents[2] / "docs"


def script(name: str) -> ModuleType:
    """A script of `docs/` as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(text: str) -> str:
    """Without line breaks and indents."""
    return " ".join(text.split())


FINDINGS = script("make_findings")
AUTHORING = (DOCS / "authoring.md").read_text(encoding="utf-8")


def test_findings_page_is_current() -> None:
    assert (DOCS / "findings.md").read_text(encoding="utf-8") == FINDINGS.document(), "run `docs/make_findings.py`"


def test_every_code_is_listed_and_linked() -> None:
    text = FINDINGS.document()
    assert re.findall(r"^## (KT\d+)$", text, re.MULTILINE) == list(codes())
    assert re.findall(r"^- \[(KT\d+)\]", text, re.MULTILINE) == list(codes())


@pytest.mark.parametrize("code", codes())
def test_the_terminal_and_the_page_show_the_same_text(code: str) -> None:
    done = CliRunner().invoke(explain, [code], standalone_mode=False)
    entry = FINDINGS.document().partition(f"## {code}\n")[2].partition("\n## ")[0]
    shown = page(code)
    for heading, text in shown.sections:
        assert f"{heading} {words(text)}" in words(done.output)
        assert f"*{heading}:* {text}" in entry
    for line in shown.example.strip().splitlines():
        assert line.rstrip() in done.output and line in entry
    assert shown.title in done.output and shown.title in entry


def test_files_that_the_authors_page_names_are_there() -> None:
    root = DOCS.parent
    named = re.findall(r"(?:exercises|solutions)/\w+/\w+/", AUTHORING)
    assert named and all((root / name).is_dir() for name in named)
    folders = re.findall(r"^    (exercises/\w+/\w+/).*\n((?:        [\w.*]+ .*\n)+)", AUTHORING, re.MULTILINE)
    assert folders
    for folder, lines in folders:
        for name in re.findall(r"^        ([\w.]+) ", lines, re.MULTILINE):
            assert (root / folder / name).is_file()


def test_what_the_authors_page_quotes_is_in_a_manifest() -> None:
    manifests = "\n".join(p.read_text() for p in (DOCS.parent / "exercises").glob("*/*/exercise.toml"))
    quoted = re.findall(r"^    ((?:starter|quantity|id|ask|bm|bk|sizes) = .*)$", AUTHORING, re.MULTILINE)
    assert len(quoted) >= 6
    for line in quoted:
        assert line in manifests


def test_quantities_of_the_authors_page() -> None:
    said = AUTHORING.partition("Quantities are ")[2].partition(" The answer")[0]
    for word in re.findall(r"`([^`]+)`", said):
        assert QUANTITY.fullmatch(word.replace("STEP", "3"))
