"""From verdicts to statuses and points."""

from __future__ import annotations

import msgspec
import pytest

from tests.grade.classes import whole
from tests.unit.verdicts import stage, verdict
from tutor.findings import finding
from tutor.grade.points import judge, left_open, not_asked
from tutor.protocol import Access, AccessKind, CaseResult, Kernel, StageResult, Verdict


def with_finding(code: str, *, stage_name: str = "structure", severity: str = "error") -> Verdict:
    """A verdict in which one stage failed with this code, and every number was right."""
    base = whole(failed=stage_name)
    found = finding(code, "It is so.", severity=severity, case="secret")  # type: ignore[arg-type]
    stages = [
        StageResult(one.name, one.status, 0.1, None, [found] if one.name == stage_name else [], one.cases)
        for one in base.stages
    ]
    return verdict(passed=False, stages=stages, score=5 / 6)


def test_all_passed() -> None:
    judged = judge(whole())
    assert (judged.status, judged.share) == ("passed", 1.0)


def test_some_stages_failed() -> None:
    judged = judge(whole(failed="hazards"))
    assert (judged.status, judged.share) == ("partial", 5 / 6)


def test_one_right_case_is_something() -> None:
    assert judge(whole(failed="interpret")).status == "partial"


def test_without_a_right_number_stages_win_nothing() -> None:
    """Loading, tracing and lowering is what any file does."""
    base = whole(failed="interpret")
    stages = [
        StageResult(one.name, one.status, 0.1, None, [], [CaseResult(case.name, "failed") for case in one.cases])
        for one in base.stages
    ]
    judged = judge(verdict(passed=False, stages=stages, score=5 / 6))
    assert (judged.status, judged.share) == ("failed", 0.0)


@pytest.mark.parametrize("code", ["KT111", "KT302", "KT380", "KT381"])
def test_numbers_that_no_kernel_made_win_nothing(code: str) -> None:
    judged = judge(with_finding(code))
    assert (judged.status, judged.share) == ("failed", 0.0)
    assert [flag.code for flag in judged.flags] == [code]
    assert "It is so" in (judged.flags[0].evidence or "") and "It is so" not in judged.flags[0].message


def kernel_that(*kinds: AccessKind) -> Kernel:
    """A kernel with accesses of these kinds, and nothing else of note."""
    accesses = [Access("x_ref", "any", kind, 1, 1, [8, 128], "float32", 1, False, 4096) for kind in kinds]
    return Kernel("kernel", "pallas_call", "only", [1], [], accesses, None, None, None, None, None, None)


@pytest.mark.parametrize(
    ("kernels", "share"),
    [
        ([kernel_that()], 0.0),
        ([kernel_that("load", "sem_wait")], 0.0),
        ([kernel_that("load"), kernel_that()], 0.0),
        ([kernel_that(), kernel_that("load", "store")], 5 / 6),
        ([kernel_that("copy_start", "copy_wait")], 5 / 6),
        ([kernel_that("accumulate")], 5 / 6),
    ],
)
def test_a_kernel_that_writes_nothing_wins_nothing(kernels: list[Kernel], share: float) -> None:
    judged = judge(msgspec.structs.replace(with_finding("KT314"), kernels=kernels))
    assert judged.share == share
    assert ("KT842" in [flag.code for flag in judged.flags]) == (share == 0)


@pytest.mark.parametrize("code", ["KT390", "KT392", "KT393", "KT830"])
def test_deceit_is_suspicious(code: str) -> None:
    judged = judge(with_finding(code))
    assert (judged.status, judged.share) == ("suspicious", 0.0)
    assert [flag.code for flag in judged.flags] == [code]


def warned(code: str, case: str, *, hazards: str = "passed") -> Verdict:
    """A verdict with this warning of `structure` about a case; `hazards` simulated the case `small`."""
    base = whole() if hazards == "passed" else whole(failed="hazards")
    said = [finding(code, "It is so.", severity="warning", case=case)]
    simulated = [CaseResult("small", "passed")]
    stages = [
        msgspec.structs.replace(
            one,
            findings=said if one.name == "structure" else one.findings,
            cases=simulated if one.name == "hazards" else one.cases,
        )
        for one in base.stages
    ]
    return verdict(passed=base.passed, stages=stages, score=base.score)


@pytest.mark.parametrize("case", ["small", "wide"])
def test_memory_that_the_simulator_found_nothing_wrong_with_is_not_confirmed(case: str) -> None:
    """The judge's own run of the program for TPU found it, in a case that was simulated or in another one."""
    judged = judge(warned("KT395", case))
    assert (judged.status, judged.share) == ("unconfirmed", 0.0)
    assert [flag.code for flag in judged.flags] == ["KT395"]


def test_memory_that_hazards_failed_is_left_to_it() -> None:
    assert judge(warned("KT395", "small", hazards="failed")).status == "partial"


def test_roundings_are_a_warning() -> None:
    assert judge(warned("KT396", "small")).status == "passed"


@pytest.mark.parametrize("code", ["KT106", "KT107", "KT108"])
def test_where_the_judging_of_the_structure_ended_early_nothing_is_confirmed(code: str) -> None:
    judged = judge(with_finding(code, stage_name="structure"))
    assert (judged.status, judged.share) == ("unconfirmed", 0.0)
    assert [flag.code for flag in judged.flags][-1] == code


def test_a_run_for_tpu_that_was_not_possible_is_left_open_where_the_reference_was_run() -> None:
    base = whole()
    note = finding("KT394", "It is so.", severity="note", case="small")
    stages = [
        msgspec.structs.replace(one, findings=[note] if one.name == "structure" else one.findings)
        for one in base.stages
    ]
    open_ = msgspec.structs.replace(base, stages=stages)
    judged = judge(open_, base)
    assert (judged.status, judged.share) == ("unconfirmed", 0.0)
    assert [flag.code for flag in judged.flags] == ["KT870"]
    assert judge(open_, open_).status == "passed"


def test_a_note_is_no_deceit() -> None:
    assert judge(with_finding("KT390", severity="note")).status == "partial"


@pytest.mark.parametrize(("code", "where"), [("KT406", "hazards"), ("KT206", "interpret"), ("KT106", "load")])
def test_out_of_time(code: str, where: str) -> None:
    judged = judge(with_finding(code, stage_name=where))
    assert judged.status == "timeout" and [flag.code for flag in judged.flags] == [code]


def test_what_is_too_large_to_simulate_is_no_timeout() -> None:
    assert judge(with_finding("KT412", stage_name="hazards", severity="note")).status == "partial"


def test_a_fault_of_ours_is_no_word_about_the_attempt() -> None:
    judged = judge(verdict(passed=False, stages=[stage("load"), stage("trace", "error", reason="oh")], score=0.5))
    assert (judged.status, judged.share) == ("infra_error", 0.0)


def test_unconfirmed_numbers_win_nothing() -> None:
    others = [stage("structure"), stage("hazards"), stage("lower")]
    numbers = stage("interpret", "unavailable", reason="random bits")
    stages = [stage("load"), stage("trace"), numbers, *others]
    judged = judge(verdict(passed=True, stages=stages, score=1.0))
    assert (judged.status, judged.share) == ("unconfirmed", 0.0)
    assert judged.flags[0].evidence == "random bits"


def test_a_predict_exercise_is_right_or_not() -> None:
    right = verdict(passed=True, stages=[stage("load"), stage("structure")], score=1.0)
    wrong = verdict(passed=False, stages=[stage("load"), stage("structure", "failed")], score=0.5)
    assert (judge(right).status, judge(right).share) == ("passed", 1.0)
    assert (judge(wrong).status, judge(wrong).share) == ("failed", 0.0)


def test_what_was_not_asked_is_said() -> None:
    assert [flag.code for flag in not_asked(None)] == ["KT800"]
    flags = not_asked(whole())
    assert [flag.code for flag in flags] == ["KT800", "KT801"]
    assert flags[1].message == "The stage compile was not asked."


def test_on_a_tpu_nothing_is_said_of_one() -> None:
    verdict_there = verdict(stages=[*whole().stages, stage("compile"), stage("device")])
    assert not_asked(verdict_there) == []


def with_status(**statuses: str) -> Verdict:
    """A verdict in which some stages have another status than `passed`."""
    base = whole()
    stages = [msgspec.structs.replace(one, status=statuses.get(one.name, one.status)) for one in base.stages]
    return verdict(stages=stages, score=5 / 6, passed=False)


@pytest.mark.parametrize("name", ["hazards", "interpret"])
def test_a_stage_that_judges_the_reference_and_not_this_attempt_leaves_it_unconfirmed(name: str) -> None:
    judged = judge(with_status(**{name: "unavailable"}), whole())
    assert (judged.status, judged.share) == ("unconfirmed", 0.0)


def test_a_stage_that_nothing_can_ask_here_does_not_count() -> None:
    evasive = with_status(hazards="unavailable")
    assert judge(evasive, evasive).status == "passed"
    assert judge(evasive).status == "passed"  # the reference was not asked


def test_an_ablation_that_could_not_be_tried_is_left_open_only_where_the_kernel_lowers() -> None:
    note = with_finding("KT391", severity="note")
    assert "structure" in left_open(note)
    stages = [msgspec.structs.replace(one, status="failed") if one.name == "lower" else one for one in note.stages]
    assert "structure" not in left_open(verdict(stages=stages))


def test_facts_that_the_second_witness_could_not_confirm_leave_an_attempt_unconfirmed() -> None:
    note = with_finding("KT397", severity="note")
    assert judge(note, whole()).status == "unconfirmed"
    assert judge(note, note).share > 0


def test_numbers_that_only_interpret_speaks_for_win_nothing() -> None:
    judged = judge(with_status(hazards="failed", lower="failed"))
    assert (judged.status, judged.share, [flag.code for flag in judged.flags]) == ("unconfirmed", 0.0, ["KT832"])
    assert judge(with_status(lower="failed")).share > 0
    assert judge(with_status(hazards="failed")).share > 0
