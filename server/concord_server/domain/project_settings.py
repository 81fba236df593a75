"""What a project may set for itself; later decisions go by it, earlier ones stay."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from concord_server.domain.enums import ContradictionPolicy
from concord_server.domain.model import Thresholds

DEFAULT_MAX_FACTS_PER_EVENT = 20


class JudgeMode(StrEnum):
    """Which judge compares statements."""

    LOCAL = "LOCAL"
    MODEL = "MODEL"
    """The model; the local judge when the model fails."""
    LOCAL_THEN_MODEL = "LOCAL_THEN_MODEL"
    """The model only where the local judge is unsure."""


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The settings of one project.

    Attributes:
        thresholds: for statements that give none of their own.
        contradiction_policy: what a contradiction in Reconcile leads to unless the call says.
        candidate_policy: what a candidate of an event does against another value unless it supersedes.
        extraction_prompt: replaces the default prompt; empty is the default. The other prompts alike.
        max_facts_per_event: valid candidates taken from one event by a model, at most.
        max_model_calls_per_run: 0 is no limit.
        daily_token_budget: tokens in and out per day (UTC); 0 is no limit.
        update_time: when they last changed, ``None`` while all are defaults.
        revision: counts changes; the etag follows from it.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    contradiction_policy: ContradictionPolicy = ContradictionPolicy.SUPERSEDE
    candidate_policy: ContradictionPolicy = ContradictionPolicy.CONFLICT
    judge: JudgeMode = JudgeMode.LOCAL
    extraction_prompt: str = ""
    judge_prompt: str = ""
    observation_prompt: str = ""
    max_facts_per_event: int = DEFAULT_MAX_FACTS_PER_EVENT
    max_model_calls_per_run: int = 0
    daily_token_budget: int = 0
    update_time: datetime | None = None
    revision: int = 0
