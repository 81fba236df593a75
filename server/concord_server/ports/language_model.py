"""The port behind which a language model answers typed questions.

A model is the caller's: nothing that it says is trusted. Those who ask validate the answer and keep what stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol
from uuid import UUID


class ModelStage(StrEnum):
    """What a model is asked for; each stage may have its own endpoint and model."""

    EXTRACT = "extract"
    JUDGE = "judge"
    OBSERVE = "observe"


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls of a model cost: numbers of calls and of tokens, and money where a price is set (USD)."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def plus(self, other: Usage) -> Usage:
        """Returns the sum."""
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question.

    Attributes:
        project: on whose account it is asked.
        system: the instructions; the same for every question of a stage and project, so that caches hit.
        user: the data, delimited as such by who asks.
        schema: JSON schema of the answer, used where the endpoint supports it.
        run_id: the run that it belongs to, if any: its spend is counted there too.
        max_tokens: of the answer.
        choices: names among which the answer chooses, where their probabilities are wanted.
    """

    stage: ModelStage
    project: str
    system: str
    user: str
    schema_name: str
    schema: Mapping[str, object]
    run_id: UUID | None = None
    max_tokens: int = 4096
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model said.

    Attributes:
        text: as received; usually, but never surely, JSON.
        complete: false when it was cut off at the limit of its length.
        usage: of this answer, also where the endpoint did not say (estimated then).
        probabilities: of the choices, from the probabilities of tokens; ``None`` where the endpoint has none.
    """

    text: str
    complete: bool
    usage: Usage
    model: str
    probabilities: Mapping[str, float] | None = None


class ModelError(Exception):
    """A model gave no answer. Messages never hold keys or what was asked.

    Attributes:
        reason: of the public ``ErrorReason``.
        usage: what the asking cost all the same; tokens of a call without an answer are estimated.
    """

    reason = "MODEL_FAILED"
    usage = Usage()


class ModelFailedError(ModelError):
    """A timeout, a server error or a broken response: it may be different next time."""


class ModelRateLimitedError(ModelError):
    """The endpoint asks to wait, or a quota is used up."""

    reason = "RATE_LIMITED"

    def __init__(self, message: str, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelDeniedError(ModelError):
    """The endpoint refuses the key or knows no such model: trying again does not help, whatever is asked."""

    reason = "MODEL_DENIED"


class ModelBudgetSpentError(ModelError):
    """A budget of the project is spent: no call was made."""

    reason = "BUDGET_EXHAUSTED"

    def __init__(self, message: str, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class LanguageModel(Protocol):
    """Answers typed questions."""

    @property
    def name(self) -> str:
        """The model's name, as stored with what it decided."""

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        """Returns the answer, asked for once: who asks decides whether to ask again. No transaction is open.

        Raises:
            ModelFailedError: it may be different next time.
            ModelRateLimitedError: the endpoint asks to wait.
            ModelDeniedError: the endpoint refuses.
            ModelBudgetSpentError: the project's budget, or the run's, is spent.
        """
