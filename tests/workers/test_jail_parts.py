"""What a jail is made of, without starting one."""

import struct
from pathlib import Path

import pytest

from tutor.ladder.jailed import secret_folders
from tutor.workers import seccomp
from tutor.workers.jail import bubblewrap, jail_named, jail_of
from tutor.workers.view import View, concealed, readable, worker_view


def test_every_number_of_the_filter_has_its_name():
    for names, numbers in seccomp.DENIED.items():
        assert len(names.split()) == len(numbers), names
    numbers = [number for group in seccomp.DENIED.values() for number in group]
    assert len(set(numbers)) == len(numbers)


class Machine:
    """Runs a filter as the kernel does."""

    def __init__(self, itself: int = 77) -> None:
        code = seccomp.program(itself)
        self.steps = [struct.unpack("=HBBI", code[at : at + 8]) for at in range(0, len(code), 8)]

    def asks(self, number: int, *arguments: int, architecture: int = 0xC000003E) -> int:
        """The errno that a call gets; 0 if it may go on."""
        data = {0: number, 4: architecture} | {16 + 8 * i: a & 0xFFFFFFFF for i, a in enumerate(arguments)}
        at, loaded = 0, 0
        while True:
            operation, yes, no, operand = self.steps[at]
            at += 1
            if operation == 0x20:
                loaded = data.get(operand, 0)
            elif operation == 0x06:
                return 0 if operand == 0x7FFF0000 else operand & 0xFFFF
            else:
                holds = {0x15: loaded == operand, 0x35: loaded >= operand, 0x45: bool(loaded & operand)}[operation]
                at += yes if holds else no


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ((0,), 0),  # read
        ((9,), 0),  # mmap
        ((202,), 0),  # futex
        ((57,), 1),
        ((280,), 1),  # the last of the list
        ((56, 0x3D0F00), 0),  # a thread, with the flags of pthread_create
        ((56, 17), 1),
        ((435,), 38),
        ((53, 1), 0),
        ((53, 2), 1),
        ((62, 77), 0),
        ((62, 78), 1),
        ((62, -77), 1),
        ((62, 0), 1),
        ((302, 0), 0),
        ((302, 77), 0),
        ((302, 78), 1),
        ((157, 1), 1),
        ((157, 15), 0),
        ((72, 0, 8), 1),
        ((72, 8, 1), 0),
        ((16, 0, 0x5412), 1),
        ((16, 0, 0x5401), 0),
        ((0x40000000,), 1),
    ],
)
def test_the_filter(call, answer):
    assert Machine().asks(*call) == answer


def test_another_architecture_is_refused_whole():
    assert Machine().asks(0, architecture=0x40000003) == 1


def test_what_the_view_of_a_worker_holds():
    view = worker_view((), secret_folders())
    home = str(Path.home())
    assert not any(home == path or home.startswith(path.rstrip("/") + "/") for path in view.shown)
    for secret in secret_folders():
        seen = any(str(secret).startswith(path.rstrip("/") + "/") for path in view.shown)
        assert not seen or str(secret) in view.hidden or any(str(secret).startswith(h) for h in view.hidden)


def test_hidden_folders_under_every_name(tmp_path):
    real = tmp_path / "real"
    for name in ("builtin/a.py", "other/b.py", "c.py"):
        (real / name).parent.mkdir(parents=True, exist_ok=True)
        (real / name).write_text("")
    link = tmp_path / "link"
    link.symlink_to(real)
    view = View([str(link), str(real)], [str(real / "builtin")])
    assert concealed(view) == [str(link / "builtin"), str(real / "builtin")]
    whole, listed = readable(view)
    assert listed == [str(link), str(real)]
    assert set(whole) == {str(real / "c.py"), str(real / "other")}
    command = bubblewrap(view, {})
    for path in concealed(view):
        assert command[command.index(path) - 1] == "--tmpfs"


def test_what_is_hidden_inside_of_what_is_hidden_is_named_once(tmp_path):
    """As in a wheel: the set, and its two halves."""
    for name in ("builtin/exercises", "builtin/solutions", "beside"):
        (tmp_path / name).mkdir(parents=True)
    hidden = [tmp_path / "builtin" / "exercises", tmp_path / "builtin", tmp_path / "builtin" / "solutions"]
    assert worker_view([tmp_path], hidden).hidden[-1:] == [str(tmp_path / "builtin")]
    assert len([path for path in worker_view([tmp_path], hidden).hidden if str(tmp_path) in path]) == 1


def test_a_hidden_folder_that_is_shown_itself_is_gone(tmp_path):
    assert readable(View([str(tmp_path)], [str(tmp_path)])) == ([], [])


def test_the_jail_on_the_command_line(tmp_path):
    jail = jail_of("B", View([str(tmp_path)]))
    assert jail.read == [str(tmp_path)]
    assert jail_of("C", View([str(tmp_path)])).read == []
    assert jail_named(["program"]).tier == "C"
