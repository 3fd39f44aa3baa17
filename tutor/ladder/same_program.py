"""Every run traces the attempt anew. What they judge must be one program, else they speak of different ones."""

from __future__ import annotations

from tutor.findings import finding
from tutor.ladder.tracing import Tracing
from tutor.protocol import Finding


def another_program(traced: Tracing, case: str, sha256: str) -> list[Finding]:
    """KT392 if a run made another program of this case than the one that the rules were told of."""
    facts = traced.facts.get(case)
    if facts is None or sha256 in ("", facts.jaxpr_sha256):
        return []
    message = (
        f"In case {case} your function gave one program when it was traced for the rules, and another one here. Each "
        "stage traces it anew, with the same shapes, and must get the same kernel."
    )
    hint = "Let it depend on its arguments alone: no random numbers, no global that changes, no look at who calls it."
    return [finding("KT392", message, case=case, hint=hint)]
