"""What a run of the stager may answer: only what our own code says."""

from __future__ import annotations

import pytest

from tutor.findings import finding
from tutor.ladder.claims import MOST_PRINTED, Claims
from tutor.protocol import CaseFacts, CaseSpec, Finding
from tutor.wire import Artifact, ArtifactJob, Attempt, HazardJob, Judged, Loaded, Simulated, Traced, TraceJob

ATTEMPT = Attempt(b"", "a.py", "f")
CASES = [CaseSpec(name=name, inputs=[], outputs=[], static={}, sizes={}) for name in ("one", "two")]
TRACE = TraceJob(ATTEMPT, CASES)
EXPORT = ArtifactJob(ATTEMPT, CASES, ["tpu"], chips=("v5e", "v6e"))
SIMULATE = HazardJob(ATTEMPT, CASES[0], "on_wait", b"")
SAID = finding("KT110", "It is so.")


def facts(case: str = "one", **more: object) -> CaseFacts:
    return CaseFacts(case, [], [], [], **{"modes": ["on_wait"], "jaxpr_sha256": "0", **more})  # type: ignore[arg-type]


def traced(case: str = "one", **more: object) -> Traced:
    return Traced(case, [], 0.1, **{"facts": facts(case), **more})  # type: ignore[arg-type]


def program(case: str = "one", data: bytes | None = b"x", **more: object) -> Artifact:
    told = {"platform": "tpu", "findings": [], "seconds": 0.1, "chips": ["v5e", "v6e"], "jaxpr_sha256": "0", **more}
    return Artifact(case=case, data=data, **told)  # type: ignore[arg-type]


def simulated(outputs: bytes | None = b"x", **more: object) -> Simulated:
    told = {"mode": "on_wait", "findings": [], "printed": "", "seconds": 0.1, "jaxpr_sha256": "0", **more}
    return Simulated(case="one", outputs=outputs, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("job", "answers"),
    [
        (TRACE, [Loaded([], 0.1), traced(), traced("two")]),
        (TRACE, [Loaded([], 0.1), traced(), Traced("two", [SAID], 0.1)]),
        (TRACE, [Loaded([SAID], 0.0)]),
        (EXPORT, [program(), program("two", chips=["v5e"]), program("two", chips=["v6e"])]),
        (EXPORT, [program(data=None, findings=[SAID]), program("two")]),
        (EXPORT, [program(), Loaded([SAID], 0.0)]),
        (SIMULATE, [simulated()]),
        (SIMULATE, [simulated(None, unavailable="no")]),
        (SIMULATE, [simulated(None, findings=[SAID])]),
    ],
)
def test_what_our_own_code_says(job, answers):
    claims = Claims(job)
    assert [claims.against(answer) for answer in answers] == [None] * len(answers)
    assert claims.missing() is None


def found(**more: object) -> Finding:
    return Finding(**{"code": "KT110", "severity": "error", "title": "t", "message": "m", **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("job", "answer"),
    [
        (TRACE, Loaded([], float("nan"))),
        (TRACE, Loaded([], float("inf"))),
        (TRACE, Loaded([], -1.0)),
        (TRACE, Loaded([found(code="KT999")], 0.0)),
        (TRACE, Loaded([found(code="../KT110")], 0.0)),
        (TRACE, Loaded([found(message="x" * (1 << 21))], 0.0)),
        (TRACE, Loaded([found(line=n) for n in range(2_000)], 0.0)),
        (TRACE, traced("three")),
        (TRACE, Traced("one", [], 0.1)),
        (TRACE, traced(facts=facts("two"))),
        (TRACE, traced(facts=facts(modes=[]))),
        (TRACE, traced(facts=facts(modes=["on_wait", "another"]))),
        (TRACE, traced(facts=facts(jaxpr_sha256=""))),
        (TRACE, traced(facts=facts(suspects=[found(code="KT999")]))),
        (TRACE, simulated()),
        (TRACE, Judged("one", None, [], 0.0)),  # type: ignore[arg-type]
        (EXPORT, program("three")),
        (EXPORT, program(platform="cpu")),
        (EXPORT, program(chips=[])),
        (EXPORT, program(chips=["v4"])),
        (EXPORT, program(jaxpr_sha256="")),
        (EXPORT, program(data=None)),
        (EXPORT, program(data=None, unavailable="no")),
        (SIMULATE, simulated(None)),
        (SIMULATE, simulated(mode="eager")),
        (SIMULATE, simulated(jaxpr_sha256="")),
        (SIMULATE, simulated(printed="x" * (MOST_PRINTED + 1))),
    ],
)
def test_what_only_a_forger_says(job, answer):
    assert Claims(job).against(answer)


@pytest.mark.parametrize(
    ("job", "answer"), [(TRACE, traced()), (EXPORT, program()), (SIMULATE, simulated()), (TRACE, Loaded([], 0.0))]
)
def test_nothing_is_said_twice(job, answer):
    claims = Claims(job)
    assert claims.against(answer) is None
    assert claims.against(answer)


def test_a_program_for_one_chip_and_none_for_another():
    claims = Claims(EXPORT)
    claims.against(program(chips=["v5e"]))
    assert claims.missing()
