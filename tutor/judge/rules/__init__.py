"""The rules that an exercise may state (FORMATS 1, `[rules]`): one small function each, on the facts of one case.

A rule names exercise inputs and outputs, never the learner's parameter names. The docstring of a rule is the line that
a learner reads about it.
"""

from __future__ import annotations

from collections.abc import Callable

from tutor.judge.rules.memory import right_alias, right_scratch, right_space, small_blocks
from tutor.judge.rules.traffic import enough_copies, fetched_once, few_bytes, few_loads, few_steps, few_stores
from tutor.judge.rules.work import (
    all_required,
    calls_a_kernel,
    nothing_forbidden,
    nothing_outside,
    right_dot,
    some_kernel,
)
from tutor.protocol import CaseFacts, CaseSpec, Figures, Finding, Rules

__all__ = ["RULES", "Rule", "calls_a_kernel"]

Rule = Callable[[Rules, CaseFacts, CaseSpec, Figures | None], list[Finding]]

RULES: tuple[Rule, ...] = (
    some_kernel,
    nothing_outside,
    nothing_forbidden,
    all_required,
    right_space,
    right_scratch,
    right_alias,
    few_loads,
    few_stores,
    enough_copies,
    right_dot,
    few_steps,
    few_bytes,
    small_blocks,
    fetched_once,
)
"""In the order in which their findings are shown."""
