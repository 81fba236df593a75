"""Whether what a model states rests on the event: its quotes must be there, said by someone who counts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from concord_server.domain.events import Event
from concord_server.domain.extraction.instructions import instructed_spans
from concord_server.domain.values import Json

AGENT_ROLES = frozenset({"assistant", "system", "developer", "model", "ai", "bot", "agent"})
"""Whose turns are no facts about anybody."""

_SAME = str.maketrans(
    {**dict.fromkeys("‘’‚‛`´", "'"), **dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‐‑‒–—―", "-")}
)
_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…|\[\.\.\.\]|\[…\])\s*")
_AROUND_QUOTE = " \"'.,;:!?"
_MAX_PLACES = 64
_SPEAKER = re.compile(r"^[^:.!?]{1,64}:\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """Something that was said: a turn, the event's text, or a value of its payload.

    Attributes:
        text: as :func:`comparable`.
        counts: whether statements may rest on it.
        instructed: where it speaks to its reader.
    """

    text: str
    counts: bool = True
    instructed: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Grounding:
    """What statements about an event may rest on."""

    passages: tuple[Passage, ...] = field(default_factory=tuple)

    def problem_of_quotes(self, quotes: Sequence[str]) -> str | None:
        """Returns why a statement cannot rest on these quotes, ``None`` when it can."""
        for quote in quotes:
            found = [places for form in _forms(quote) if (places := self._places(form))]
            if not found:
                return "no_evidence_span"
            if all(instructed for places in found for instructed in places):
                return "instruction_to_agent"
        return None

    def problem_of_value(self, value: Json) -> str | None:
        """Returns why a value without a quote is refused, ``None`` when it is not.

        A value need not be there word for word; but where it is, someone who counts must have said it.
        """
        if not any(passage.counts for passage in self.passages):
            return "no_evidence_span"
        words = comparable(value) if isinstance(value, str) else ""
        if not words:
            return None
        places = self._places(words)
        if places:
            return "instruction_to_agent" if all(places) else None
        said_by_agent = any(not passage.counts and words in passage.text for passage in self.passages)
        return "no_evidence_span" if said_by_agent else None

    def _places(self, words: str) -> list[bool]:
        """Returns, for every place where words occur in what counts, whether it speaks to its reader."""
        return [
            any(start < at + len(words) and at < end for start, end in passage.instructed)
            for passage in self.passages
            if passage.counts
            for at in islice(_occurrences(passage.text, words), _MAX_PLACES)
        ]


def passages_of(event: Event) -> Grounding:
    """Returns what was said in an event."""
    passages = [_passage(event.text, counts=True)] if event.text.strip() else []
    for message in event.messages:
        passages.append(_passage(message.text, counts=message.role.strip().casefold() not in AGENT_ROLES))
    passages.extend(_passage(text, counts=True) for text in _texts(dict(event.payload)))
    return Grounding(tuple(passages))


def comparable(text: str) -> str:
    """Returns the form in which quotes are compared: white space, case and the kind of quotes and dashes aside."""
    folded = unicodedata.normalize("NFKC", text).translate(_SAME).casefold()
    return " ".join(folded.split())


def _passage(text: str, *, counts: bool) -> Passage:
    # Lines matter to where a sentence ends, and are lost once white space is collapsed.
    lines = [comparable(line) for line in text.splitlines()]
    joined = "\n".join(line for line in lines if line)
    return Passage(joined.replace("\n", " "), counts, tuple(instructed_spans(joined)))


def _forms(quote: str) -> Iterator[str]:
    """Yields the forms in which a quote may occur: as it is, and without a speaker's name before it."""
    words = comparable(quote)
    stripped = words.strip(_AROUND_QUOTE)
    if not any(character.isalnum() for character in stripped):
        return
    yield stripped
    speaker = _SPEAKER.match(stripped)
    if speaker is not None:
        yield stripped[speaker.end() :].strip(_AROUND_QUOTE)


def _occurrences(text: str, words: str) -> Iterator[int]:
    if not words:
        return
    parts = [part for part in _ELLIPSIS.split(words) if part] or [words]
    at = text.find(parts[0])
    while at >= 0:
        position = at + len(parts[0])
        for part in parts[1:]:
            found = text.find(part, position)
            if found < 0:
                return
            position = found + len(part)
        yield at
        at = text.find(parts[0], at + 1)


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, dict | list):
                yield from _texts(member)
            elif member is not None:
                yield f"{key}: {member}"
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        yield str(value)
