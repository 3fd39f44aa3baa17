"""What `doctor` finds, on made-up machines."""

from __future__ import annotations

import pytest

from tutor.cli import machine
from tutor.cli.isolation import how_to_get, isolation
from tutor.ladder.isolation import Isolation
from tutor.wire import Denial


def test_versions_without_importing() -> None:
    assert machine.version("click") is not None
    assert machine.version("no-such-package-of-ours") is None


def test_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert machine.terminal().status == "missing"


PROVED = Isolation(
    "B", [Denial("fork", True, "no"), Denial("call", True, "never")], ["tier A: bubblewrap is not installed"]
)


def test_what_doctor_says_of_the_jail() -> None:
    tier, proof, better = isolation(PROVED)
    assert tier.detail == "tier B: Landlock, seccomp and limits"
    assert proof.fix == "Denied: fork (no); call (never)."
    assert "apt-get install bubblewrap" in (better.fix or "")


def test_what_is_not_denied_is_said() -> None:
    weak = Isolation("C", [Denial("read a file outside", False, "nothing stopped it"), Denial("fork", True, "no")])
    tier, proof, allowed = isolation(weak)
    assert (tier.status, allowed.status) == ("missing", "missing")
    assert "1 of 2 denied" in proof.detail
    assert "read a file outside" in allowed.detail


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("tier A: its server does not start: bwrap: setting up uid map: Permission denied", "sysctl"),
        ("tier A: its server does not start: bwrap: No permissions to create a new namespace", "sysctl"),
        ("tier A: its server does not start: bwrap: Unknown option --size", "0.7"),
        ("tier B: this kernel has no Landlock, or it is switched off", "5.13"),
        ("tier A: a run could read a file outside", "the reason"),
    ],
)
def test_how_to_get_a_better_tier(reason: str, advice: str) -> None:
    assert advice in how_to_get(reason)


def test_workers_that_do_not_start_are_a_problem() -> None:
    (check,) = isolation("the workers do not start: no jax")
    assert (check.status, check.detail) == ("problem", "the workers do not start: no jax")
