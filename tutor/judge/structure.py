"""`structure`: the exercise's rules, and what the general checks found, on the facts of every case."""

from __future__ import annotations

from tutor.judge import rules
from tutor.judge.oracle import Oracle
from tutor.protocol import CaseFacts, CaseSpec, Finding
from tutor.wire import StructureJob


def structure(job: StructureJob) -> list[Finding]:
    """All findings, the exercise's rules first. Each problem is said for the first case that shows it."""
    general = [found for facts in job.facts for found in facts.suspects]
    return [*_by_the_rules(job), *general, *_own_check(job)]


def _by_the_rules(job: StructureJob) -> list[Finding]:
    if job.rules is None:
        return [found for facts in job.facts for found in rules.calls_a_kernel(facts)]
    reference = {figures.case: figures for figures in job.reference}
    return [
        found
        for facts in job.facts
        for rule in rules.RULES
        for found in rule(job.rules, facts, case_of(facts, job.cases), reference.get(facts.case))
    ]


def _own_check(job: StructureJob) -> list[Finding]:
    """`check(facts)` of the oracle, where an exercise has a rule that no key can say."""
    if job.oracle is None:
        return []
    check = getattr(Oracle(job.oracle).module, "check", None)
    if check is None:
        return []
    return [found for facts in job.facts for found in check(facts) if isinstance(found, Finding)]


def case_of(facts: CaseFacts, cases: list[CaseSpec]) -> CaseSpec:
    """The spec of the case that `facts` are of."""
    return next(case for case in cases if case.name == facts.case)
