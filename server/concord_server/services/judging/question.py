"""The question that a language model is asked about one pair of statements."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from concord_server.domain.judgement import Relation
from concord_server.ports.judge import JudgePair
from concord_server.ports.language_model import ModelRequest, ModelStage

PROMPT_VERSION = "judge.v1"
ANSWER_VERSION = "answer.v1"

MAX_TOKENS = 1024
"""An answer is a sentence and seven numbers; models that think aloud need more than that."""

CHOICES = tuple(relation.value for relation in Relation)

SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "relation": {"type": "string", "enum": list(CHOICES)},
        "probabilities": {
            "type": "object",
            "properties": {name: {"type": "number", "minimum": 0, "maximum": 1} for name in CHOICES},
            "required": list(CHOICES),
            "additionalProperties": False,
        },
    },
    "required": ["reason", "relation", "probabilities"],
    "additionalProperties": False,
}


@cache
def _read(name: str) -> str:
    return files("concord_server.services.judging.prompts").joinpath(f"{name}.txt").read_text("utf-8").strip()


def instructions(own: str = "") -> str:
    """Returns the instructions; ``own`` is the project's, in place of the default ones, but for the answer's shape."""
    return f"{own.strip() or _read(PROMPT_VERSION)}\n\n{_read(ANSWER_VERSION)}"


def question(pair: JudgePair, own_prompt: str = "") -> ModelRequest:
    """Returns the question about a pair.

    The statements are JSON strings, so that nothing within them ends them.
    """
    data = {"known": pair.known, "new": pair.statement, "owner": pair.owner}
    return ModelRequest(
        stage=ModelStage.JUDGE,
        project=pair.project,
        system=instructions(own_prompt),
        user=json.dumps(data, ensure_ascii=False),
        schema_name="judgement",
        schema=SCHEMA,
        max_tokens=MAX_TOKENS,
        choices=CHOICES,
    )
