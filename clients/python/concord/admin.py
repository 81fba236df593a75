"""Projects, what they go by, and the predicates of their claims."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from concord.enums import Cardinality, ContradictionPolicy
from concord.inputs import UNSET, MaybeUnset


class JudgeMode(StrEnum):
    """Which judge compares statements."""

    UNSPECIFIED = "UNSPECIFIED"
    LOCAL = "LOCAL"
    MODEL = "MODEL"
    LOCAL_THEN_MODEL = "LOCAL_THEN_MODEL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A tenant; no call sees more than one.

    Attributes:
        create_time: when it was first used or created.
    """

    project_id: str
    display_name: str = ""
    create_time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSettings:
    """How a project decides: what is in force.

    Attributes:
        similarity_threshold: similarity from which equal meaning may merge, in [0, 1].
        conflict_threshold: similarity from which a known fact is considered, in [0, 1].
        merge_probability_threshold: probability of equal meaning from which a merge needs no high similarity.
        supersede_probability_threshold: probability from which a contradiction supersedes.
        contradiction_policy: what a contradiction in Reconcile leads to, unless the call says.
        candidate_policy: what a candidate of an event that states another value leads to.
        extraction_prompt: replaces the default prompt; empty is the default. The other prompts alike.
        max_facts_per_event: valid candidates taken from one event at most.
        max_model_calls_per_run: 0 is no limit.
        daily_token_budget: tokens to and from models per day (UTC) at most; 0 is no limit.
        slow_horizon: time without reinforcement after which SLOW facts are UNCONFIRMED.
        volatile_horizon: the same for VOLATILE facts, which are STALE then.
        ephemeral_horizon: the same for EPHEMERAL facts, which are STALE then.
        update_time: when they last changed; None while all are defaults.
        etag: changes with every change.
    """

    similarity_threshold: float
    conflict_threshold: float
    merge_probability_threshold: float
    supersede_probability_threshold: float
    contradiction_policy: ContradictionPolicy
    candidate_policy: ContradictionPolicy
    judge: JudgeMode
    extraction_prompt: str
    judge_prompt: str
    observation_prompt: str
    max_facts_per_event: int
    max_model_calls_per_run: int
    daily_token_budget: int
    slow_horizon: timedelta
    volatile_horizon: timedelta
    ephemeral_horizon: timedelta
    update_time: datetime | None = None
    etag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """What to change about settings, as :class:`ProjectSettings` has them: None returns one to its default.

    Thresholds and ``max_facts_per_event`` must be above 0: in the contract, 0 there stands for the default.
    """

    similarity_threshold: float | None | MaybeUnset = UNSET
    conflict_threshold: float | None | MaybeUnset = UNSET
    merge_probability_threshold: float | None | MaybeUnset = UNSET
    supersede_probability_threshold: float | None | MaybeUnset = UNSET
    contradiction_policy: ContradictionPolicy | None | MaybeUnset = UNSET
    candidate_policy: ContradictionPolicy | None | MaybeUnset = UNSET
    judge: JudgeMode | None | MaybeUnset = UNSET
    extraction_prompt: str | None | MaybeUnset = UNSET
    judge_prompt: str | None | MaybeUnset = UNSET
    observation_prompt: str | None | MaybeUnset = UNSET
    max_facts_per_event: int | None | MaybeUnset = UNSET
    max_model_calls_per_run: int | None | MaybeUnset = UNSET
    daily_token_budget: int | None | MaybeUnset = UNSET
    slow_horizon: timedelta | None | MaybeUnset = UNSET
    volatile_horizon: timedelta | None | MaybeUnset = UNSET
    ephemeral_horizon: timedelta | None | MaybeUnset = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateSuggestion:
    """A name that may mean the same as a predicate.

    Attributes:
        predicate: the other name.
        similarity: cosine of the two names, in [-1, 1].
        seen_count: how often it was proposed and not confirmed.
        last_time: when it was last proposed.
    """

    predicate: str
    similarity: float
    seen_count: int
    last_time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """An attribute that claims use.

    Attributes:
        predicate: its name in lower snake case.
        cardinality: how many values hold at once.
        aliases: other names that mean it.
        suggestions: other names that may mean it, the nearest first.
        fact_count: facts that use it, erased ones aside.
        create_time: when it was first used.
        update_time: when it last changed.
        etag: changes with every change that an update could overwrite.
    """

    predicate: str
    cardinality: Cardinality
    aliases: tuple[str, ...] = ()
    suggestions: tuple[PredicateSuggestion, ...] = ()
    fact_count: int = 0
    create_time: datetime | None = None
    update_time: datetime | None = None
    etag: str = ""
