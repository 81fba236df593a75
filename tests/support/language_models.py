"""Language models that answer what a test says, without a server."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from concord_server.ports.language_model import ModelAnswer, ModelRequest, Usage

Said = str | ModelAnswer | Exception


@dataclass
class ScriptedModel:
    """Says what the script has next, then ``answer`` for ever.

    Attributes:
        asked: every question, in order.
    """

    answer: Said | Callable[[ModelRequest], Said] = "[]"
    script: deque[Said | Callable[[ModelRequest], Said]] = field(default_factory=deque)
    asked: list[ModelRequest] = field(default_factory=list)
    name: str = "scripted"

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        """Returns, or raises, what is said."""
        self.asked.append(request)
        following = self.script.popleft() if self.script else self.answer
        said = following(request) if callable(following) else following
        if isinstance(said, Exception):
            raise said
        if isinstance(said, str):
            return ModelAnswer(said, complete=True, usage=Usage(1, 100, 10), model=self.name)
        return said
