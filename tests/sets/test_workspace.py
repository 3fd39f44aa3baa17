"""The learner's files: where they are, and that nothing a learner wrote is ever lost."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from tutor.sets import Exercise, ExerciseSet, Workspace, WorkspaceError, load_set, workspace_root, write_atomic


@pytest.fixture
def loaded(tiny: Path) -> ExerciseSet:
    return load_set(tiny)


@pytest.fixture
def scale(loaded: ExerciseSet) -> Exercise:
    return loaded.exercise("scale")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "work")


def renumbered(tiny: Path, chapter: str, folder: str) -> Exercise:
    """The set after an update that moved the exercise."""
    target = tiny / "exercises" / chapter / folder
    (tiny / "exercises/01_refs/01_scale").rename(target)
    return load_set(tiny).exercise("scale")


def test_made_from_the_starter(workspace: Workspace, scale: Exercise) -> None:
    opened = workspace.open(scale)
    assert opened.path == workspace.root / "tiny" / "01_refs" / "01_scale.py"
    assert opened.made and not opened.newer_starter
    assert opened.path.read_text() == scale.starter
    assert not workspace.open(scale).made


def test_looking_makes_nothing(workspace: Workspace, scale: Exercise) -> None:
    assert workspace.find(scale) is None
    assert workspace.unsaved(scale) is None
    assert workspace.problem() is None
    assert not workspace.root.exists()


@pytest.mark.parametrize(("chapter", "folder"), [("01_refs", "05_scale"), ("02_blocks", "09_scale")])
def test_renumbered_is_moved_not_rewritten(
    tiny: Path, workspace: Workspace, scale: Exercise, chapter: str, folder: str
) -> None:
    old = workspace.save(scale, b"mine \xff\r\n")
    opened = workspace.open(renumbered(tiny, chapter, folder))
    assert opened.moved_from == old and not old.exists()
    assert opened.path == workspace.root / "tiny" / chapter / f"{folder}.py"
    assert opened.path.read_bytes() == b"mine \xff\r\n"
    assert not opened.newer_starter


def test_unsaved_text_moves_with_its_file(tiny: Path, workspace: Workspace, scale: Exercise) -> None:
    workspace.save(scale, "mine")
    workspace.keep_unsaved(scale, "half a thought")
    moved = renumbered(tiny, "02_blocks", "09_scale")
    path = workspace.open(moved).path
    assert workspace.unsaved(moved) == "half a thought"
    assert not (workspace.root / "tiny" / "01_refs").exists()
    assert sorted(p.name for p in path.parent.iterdir()) == [".09_scale.py.unsaved", "09_scale.py"]


def test_a_slug_that_ends_alike_is_not_mistaken(tiny: Path, workspace: Workspace, scale: Exercise) -> None:
    other = workspace.root / "tiny" / "01_refs" / "02_batched_scale.py"
    other.parent.mkdir(parents=True)
    other.write_text("another exercise")
    assert workspace.open(scale).made
    assert other.read_text() == "another exercise"


def test_changed_starter_is_offered_never_applied(tiny: Path, workspace: Workspace, scale: Exercise) -> None:
    path = workspace.open(scale).path
    before = path.read_bytes()
    (tiny / "exercises/01_refs/01_scale/starter.py").write_text("# better\n")
    assert workspace.open(scale).newer_starter
    assert path.read_bytes() == before
    workspace.keep_mine(scale)
    assert not workspace.open(scale).newer_starter
    assert path.read_bytes() == before


def test_reset_keeps_what_it_replaces(workspace: Workspace, scale: Exercise) -> None:
    assert workspace.reset(scale).kept is None
    kept = []
    for text in ("one", "two"):
        workspace.save(scale, text)
        reset = workspace.reset(scale)
        assert reset.path.read_text() == scale.starter
        assert reset.kept is not None
        kept.append(reset.kept)
    assert [p.name for p in kept] == ["01_scale.kept-1.py", "01_scale.kept-2.py"]
    assert [p.read_text() for p in kept] == ["one", "two"]
    assert workspace.find(scale) == workspace.path(scale)


def test_reset_takes_the_changed_starter(tiny: Path, workspace: Workspace, scale: Exercise) -> None:
    workspace.open(scale)
    (tiny / "exercises/01_refs/01_scale/starter.py").write_text("# better\n")
    assert workspace.reset(scale).kept is not None
    assert workspace.read(scale) == b"# better\n"
    assert not workspace.open(scale).newer_starter


def test_unsaved_text_survives(workspace: Workspace, scale: Exercise) -> None:
    workspace.open(scale)
    workspace.keep_unsaved(scale, "half a thought")
    assert workspace.unsaved(scale) == "half a thought"
    workspace.save(scale, "whole")
    assert workspace.unsaved(scale) is None
    workspace.keep_unsaved(scale, "whole")
    assert workspace.unsaved(scale) is None  # what is saved needs no rescue


def test_set_ids_are_apart(tiny: Path, workspace: Workspace, scale: Exercise) -> None:
    workspace.save(scale, "of tiny")
    manifest = tiny / "exercises/set.toml"
    manifest.write_text(manifest.read_text().replace('"tiny"', '"other"'))
    assert workspace.open(load_set(tiny).exercise("scale")).made


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_workspace_is_said_plainly(workspace: Workspace, scale: Exercise) -> None:
    workspace.save(scale, "mine")
    path = workspace.path(scale)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(WorkspaceError, match="Permission denied"):
            workspace.save(scale, "lost?")
        assert workspace.read(scale) == b"mine"
    finally:
        path.parent.chmod(0o755)


def test_a_read_only_file_system_loses_nothing(
    workspace: Workspace, scale: Exercise, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace.save(scale, "mine")

    def refuse(target: Path, data: bytes) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(target))

    monkeypatch.setattr("tutor.sets.workspace.write_atomic", refuse)
    with pytest.raises(WorkspaceError, match=r"01_scale\.py: Read-only file system\."):
        workspace.save(scale, "lost?")
    with pytest.raises(WorkspaceError):
        workspace.reset(scale)
    assert path.read_text() == "mine" and workspace.read(scale) == b"mine"


def test_a_workspace_that_cannot_be(tmp_path: Path, scale: Exercise) -> None:
    (tmp_path / "file").write_text("")
    workspace = Workspace(tmp_path / "file" / "below")
    with pytest.raises(WorkspaceError) as caught:
        workspace.open(scale)
    assert "The workspace cannot be used" in caught.value.message and str(tmp_path / "file") in caught.value.message
    assert "--workspace" in (caught.value.hint or "")
    assert workspace.problem() == f"{tmp_path / 'file'} is not a folder."


def test_root_from_option_variable_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert workspace_root(None, {}) == tmp_path / "kerneltutor"
    assert workspace_root(None, {"KERNELTUTOR_WORKSPACE": "/somewhere"}) == Path("/somewhere")
    assert workspace_root("~/here", {"KERNELTUTOR_WORKSPACE": "/somewhere"}) == tmp_path / "here"
    assert workspace_root(None, {"KERNELTUTOR_WORKSPACE": ""}) == tmp_path / "kerneltutor"


def test_atomic_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.py"
    write_atomic(path, b"old")
    path.chmod(0o640)
    link = tmp_path / "link.py"
    link.symlink_to(path)
    write_atomic(link, b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def fail(self: Path, target: Path) -> None:
        raise OSError("no")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no"):
        write_atomic(path, b"half")
    assert path.read_bytes() == b"new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file.py", "link.py"]
