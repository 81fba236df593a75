"""The table of what projects have set for themselves; what is null is left to the default."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import BigInteger, CheckConstraint, Column, Double, ForeignKeyConstraint, Integer, Interval, Table

from concord_server.domain.enums import ContradictionPolicy
from concord_server.domain.project_settings import MAX_PROMPT_BYTES, JudgeMode
from concord_server.storage.columns import counter, metadata, moment, one_of, project_key, text, unit_interval

_THRESHOLDS = (
    "similarity_threshold",
    "conflict_threshold",
    "merge_probability_threshold",
    "supersede_probability_threshold",
)
_PROMPTS = ("extraction_prompt", "judge_prompt", "observation_prompt")
_HORIZONS = ("slow_horizon", "volatile_horizon", "ephemeral_horizon")


def _checks() -> Iterator[CheckConstraint]:
    for name in _THRESHOLDS:
        yield unit_interval(name)
    yield CheckConstraint("conflict_threshold <= similarity_threshold", name="thresholds_ordered")
    yield one_of("contradiction_policy", ContradictionPolicy)
    yield one_of("candidate_policy", ContradictionPolicy)
    yield one_of("judge", JudgeMode)
    for name in _PROMPTS:
        yield CheckConstraint(f"octet_length({name}) <= {MAX_PROMPT_BYTES}", name=name)
    yield CheckConstraint("max_facts_per_event > 0", name="max_facts_per_event")
    yield CheckConstraint("max_model_calls_per_run >= 0", name="max_model_calls_per_run")
    yield CheckConstraint("daily_token_budget >= 0", name="daily_token_budget")
    for name in _HORIZONS:
        yield CheckConstraint(f"{name} > '0'::interval", name=name)


project_settings = Table(
    "project_settings",
    metadata,
    project_key(),
    *(Column(name, Double, nullable=True) for name in _THRESHOLDS),
    text("contradiction_policy", nullable=True),
    text("candidate_policy", nullable=True),
    text("judge", nullable=True),
    *(text(name, nullable=True) for name in _PROMPTS),
    Column("max_facts_per_event", Integer, nullable=True),
    Column("max_model_calls_per_run", Integer, nullable=True),
    Column("daily_token_budget", BigInteger, nullable=True),
    *(Column(name, Interval, nullable=True) for name in _HORIZONS),
    moment("update_time", nullable=True),
    counter("revision"),
    *_checks(),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="project"),
)
