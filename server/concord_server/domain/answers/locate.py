"""Finds the answer within what a model said: past its thoughts, fences and prose."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import NamedTuple

from concord_server.domain.answers.answer import Answer, Loss, UnreadableAnswer
from concord_server.domain.answers.reader import Read, ValueReader, begins_value
from concord_server.domain.answers.shapes import holds
from concord_server.domain.answers.tokens import paired
from concord_server.domain.values import Json

MAX_ANSWER_CHARACTERS = 1 << 19
"""What is read of an answer at most."""

_SECOND_READINGS = 4

_THOUGHT = re.compile(
    r"<(?P<close>/)?(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad)\s*>"
    r"|\[(?P<close_b>/)?THINK\]"
    r"|◁(?P<close_k>/)?think▷"
    r"|(?P<close_c><\|channel\|>\s*final\b[^<]{0,80}<\|message\|>)",
    re.IGNORECASE,
)
_MARK = re.compile(r"[\[{<◁]")
_BETWEEN = re.compile(r"[\s,;`*~.\d)-]*(?:json[lc5]?\d?)?[\s`~]*", re.IGNORECASE)
_KEY_ENDS = re.compile(r"\w[\"']\s*:")
_BEFORE_LONE = re.compile(r"(?:^|[\n:`>])[ \t]*\Z")
_AFTER_LONE = re.compile(r"[ \t]*(?:[\n`.<]|\Z)")


class _Found(NamedTuple):
    start: int
    read: Read


def read_answer(text: str, wanted: Collection[str], *, complete: bool = True) -> Answer | UnreadableAnswer:
    """Returns the answer in what a model said; never raises, in time and memory linear in the text.

    Thoughts, fences and prose around it are passed over. Values that follow each other directly are one list. Of
    several answers apart from each other the last counts, and the loss is told.

    Args:
        text: as the model said it.
        wanted: keys by which an object is known for an answer, or for an item of one.
        complete: false when the text was cut off at the limit of its length.
    """
    whole = complete and len(text) <= MAX_ANSWER_CHARACTERS
    content = paired(_unquoted(text[:MAX_ANSWER_CHARACTERS]))
    found = _values(content, wanted, whole=whole)
    if not found:
        if not whole:
            return UnreadableAnswer("cut_off")
        return UnreadableAnswer("no_json" if content.strip() else "empty")
    answer = _answer(content, found, wanted, whole=whole)
    if len(text) > MAX_ANSWER_CHARACTERS:
        return Answer(answer.value, (*answer.losses, Loss.TOO_LONG))
    return answer


def _unquoted(text: str) -> str:
    """Returns the content of a text that is one JSON string: an answer that was encoded twice."""
    stripped = text.strip()
    if len(stripped) > 1 and stripped[0] == stripped[-1] == '"':
        try:
            content = json.loads(stripped)
        except ValueError:
            return text
        return str(content)
    return text


def _values(text: str, wanted: Collection[str], *, whole: bool) -> list[_Found]:
    """Returns the values outside thoughts that may be answers, in their order."""
    reader = ValueReader(text)
    beginning = _beginning_of(wanted)
    found: list[_Found] = []
    position = second_readings = 0
    while mark := _MARK.search(text, position):
        position = mark.start()
        thought = _THOUGHT.match(text, position)
        if thought is not None:
            if _closes(thought):
                found.clear()  # what came before it was thought, whose opening tag is missing
                position = thought.end()
            else:
                position = _after_thought(text, thought.end(), whole=whole)
            continue
        if text[position] in "<◁" or not begins_value(text, position):
            position += 1
            continue
        read = reader.read(position)
        if not holds(read.value, wanted) and second_readings < _SECOND_READINGS:
            # A bracket of prose that is never closed takes the answer after it with it.
            begun = beginning.search(text, position + 1, read.end)
            if begun is not None:
                reader, position = ValueReader(text), begun.start()
                second_readings += 1
                continue
        if holds(read.value, wanted) or _stands_alone(text, position, read.end):
            found.append(_Found(position, read))
        position = read.end
    return found


def _beginning_of(wanted: Collection[str]) -> re.Pattern[str]:
    keys = "|".join(re.escape(key) for key in wanted)
    return re.compile(rf"\{{\s*[\"'](?:reasoning|{keys})[\"']\s*:")


def _closes(tag: re.Match[str]) -> bool:
    return any(tag.group("close", "close_b", "close_k", "close_c"))


def _after_thought(text: str, position: int, *, whole: bool) -> int:
    """Returns where a thought ends. One that is never closed holds the answer itself, unless it was cut off."""
    for tag in _THOUGHT.finditer(text, position):
        if _closes(tag):
            return tag.end()
    return position if whole else len(text)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Tells whether a value stands on a line of its own, or after a colon, rather than within a sentence."""
    before = _BEFORE_LONE.search(text, max(0, start - 80), start)
    return before is not None and _AFTER_LONE.match(text, end) is not None


def _answer(text: str, found: list[_Found], wanted: Collection[str], *, whole: bool) -> Answer:
    """Returns the last answer among the values: the last that holds what is wanted, with those right beside it."""
    holding = [holds(one.read.value, wanted) for one in found]
    if any(holding):
        found = [one for one, held in zip(found, holding, strict=True) if held or isinstance(one.read.value, dict)]
    anchor = max((i for i, one in enumerate(found) if holds(one.read.value, wanted)), default=len(found) - 1)
    first = last = anchor
    while first > 0 and _adjacent(text, found[first - 1], found[first]):
        first -= 1
    while last + 1 < len(found) and _adjacent(text, found[last], found[last + 1]):
        last += 1
    run = found[first : last + 1]
    known = [one.read.value for one in run]
    losses = dict.fromkeys(loss for one in run for loss in one.read.losses)
    others = (one.read.value for one in (*found[:first], *found[last + 1 :]))
    if any(holds(other, wanted) and other not in known for other in others):
        losses[Loss.OTHER_VALUE] = None
    if _is_torn(text, run[0].start, run[-1].read.end, wanted):
        losses[Loss.UNREADABLE_PART] = None
    if len(run) == 1:
        return Answer(known[0], tuple(losses))
    if not whole:
        losses[Loss.CUT_OFF] = None  # between two values it cannot be told
    return Answer(_joined(known), tuple(losses))


def _is_torn(text: str, start: int, end: int, wanted: Collection[str]) -> bool:
    """Tells whether values are part of something larger that could not be read."""
    before, after = text[max(0, start - 80) : start].rstrip(), text[end : end + 80].lstrip()
    if before.endswith(("[", "{", ",", '":')) or after.startswith((",", "]", "}")):
        return True
    keys = "|".join(re.escape(key) for key in wanted)
    line = text.find("\n", end)
    rest_of_line = text[end : line if line >= 0 else len(text)]
    return bool(_KEY_ENDS.search(rest_of_line) or re.search(rf"(?:{keys})[\"']\s*:", text[end:]))


def _adjacent(text: str, one: _Found, following: _Found) -> bool:
    """Tells whether nothing but white space, fences and marks of lists is between two values."""
    between = _BETWEEN.match(text, one.read.end, following.start)
    return between is not None and between.end() == following.start


def _joined(values: list[dict[str, Json] | list[Json]]) -> list[Json]:
    joined: list[Json] = []
    for value in values:
        if isinstance(value, list):
            joined.extend(value)
        else:
            joined.append(value)
    return joined
