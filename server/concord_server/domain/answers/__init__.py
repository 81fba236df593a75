"""Reads what language models answer: JSON, or what was meant to be."""

from concord_server.domain.answers.answer import Answer, Loss, UnreadableAnswer
from concord_server.domain.answers.items import Items, items_of, member_of
from concord_server.domain.answers.locate import MAX_ANSWER_CHARACTERS, read_answer

__all__ = [
    "MAX_ANSWER_CHARACTERS",
    "Answer",
    "Items",
    "Loss",
    "UnreadableAnswer",
    "items_of",
    "member_of",
    "read_answer",
]
