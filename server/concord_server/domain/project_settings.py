"""What a project may set for itself; later decisions go by it, earlier ones stay."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from concord_server.domain.enums import ContradictionPolicy
from concord_server.domain.freshness import Horizons
from concord_server.domain.model import Thresholds

T = TypeVar("T")

DEFAULT_MAX_FACTS_PER_EVENT = 20

MAX_PROMPT_BYTES = 32 * 1024
"""Longest prompt, in UTF-8."""


class JudgeMode(StrEnum):
    """Which judge compares statements."""

    LOCAL = "LOCAL"
    MODEL = "MODEL"
    """The model; the local judge when the model fails."""
    LOCAL_THEN_MODEL = "LOCAL_THEN_MODEL"
    """The model only where the local judge is unsure."""


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The settings of one project, as they are in force.

    Attributes:
        thresholds: for statements that give none of their own.
        contradiction_policy: what a contradiction in Reconcile leads to unless the call says.
        candidate_policy: what a candidate of an event does against another value unless it supersedes.
        extraction_prompt: replaces the default prompt; empty is the default. The other prompts alike.
        max_facts_per_event: valid candidates taken from one event by a model, at most.
        max_model_calls_per_run: 0 is no limit.
        daily_token_budget: tokens in and out per day (UTC); 0 is no limit.
        horizons: when facts go stale.
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
    horizons: Horizons = field(default_factory=Horizons)
    update_time: datetime | None = None
    revision: int = 0

    @property
    def etag(self) -> str:
        """Opaque token that changes with every change of the settings."""
        return f'"{self.revision}"'


DEFAULTS = ProjectSettings()
"""What is in force where a project has set nothing."""


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """What a project has set for itself; ``None`` leaves the default, also one that a later release changes.

    Attributes:
        update_time: when it last changed.
        revision: counts changes.
    """

    similarity_threshold: float | None = None
    conflict_threshold: float | None = None
    merge_probability_threshold: float | None = None
    supersede_probability_threshold: float | None = None
    contradiction_policy: ContradictionPolicy | None = None
    candidate_policy: ContradictionPolicy | None = None
    judge: JudgeMode | None = None
    extraction_prompt: str | None = None
    judge_prompt: str | None = None
    observation_prompt: str | None = None
    max_facts_per_event: int | None = None
    max_model_calls_per_run: int | None = None
    daily_token_budget: int | None = None
    slow_horizon: timedelta | None = None
    volatile_horizon: timedelta | None = None
    ephemeral_horizon: timedelta | None = None
    update_time: datetime | None = None
    revision: int = 0

    def with_values(self, values: OwnSettings, names: frozenset[str]) -> OwnSettings:
        """Returns these with the named fields, members of :data:`SETTABLE`, as they are in ``values``."""
        return replace(self, **{name: getattr(values, name) for name in names})

    def in_force(self) -> ProjectSettings:
        """Returns these with the defaults of what is not set."""
        thresholds, horizons = DEFAULTS.thresholds, DEFAULTS.horizons
        return ProjectSettings(
            thresholds=Thresholds(
                similarity=_or(self.similarity_threshold, thresholds.similarity),
                conflict=_or(self.conflict_threshold, thresholds.conflict),
                merge_probability=_or(self.merge_probability_threshold, thresholds.merge_probability),
                supersede_probability=_or(self.supersede_probability_threshold, thresholds.supersede_probability),
            ),
            contradiction_policy=_or(self.contradiction_policy, DEFAULTS.contradiction_policy),
            candidate_policy=_or(self.candidate_policy, DEFAULTS.candidate_policy),
            judge=_or(self.judge, DEFAULTS.judge),
            extraction_prompt=_or(self.extraction_prompt, DEFAULTS.extraction_prompt),
            judge_prompt=_or(self.judge_prompt, DEFAULTS.judge_prompt),
            observation_prompt=_or(self.observation_prompt, DEFAULTS.observation_prompt),
            max_facts_per_event=_or(self.max_facts_per_event, DEFAULTS.max_facts_per_event),
            max_model_calls_per_run=_or(self.max_model_calls_per_run, DEFAULTS.max_model_calls_per_run),
            daily_token_budget=_or(self.daily_token_budget, DEFAULTS.daily_token_budget),
            horizons=Horizons(
                slow=_or(self.slow_horizon, horizons.slow),
                volatile=_or(self.volatile_horizon, horizons.volatile),
                ephemeral=_or(self.ephemeral_horizon, horizons.ephemeral),
            ),
            update_time=self.update_time if any(getattr(self, name) is not None for name in SETTABLE) else None,
            revision=self.revision,
        )


SETTABLE = frozenset(each.name for each in fields(OwnSettings)) - {"update_time", "revision"}
"""Names of what a project can set."""

NOTHING_SET = OwnSettings()


def _or(value: T | None, default: T) -> T:
    return default if value is None else value
