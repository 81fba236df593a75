"""Tells where a text speaks to the one who reads it for facts, instead of saying something about its subject.

This is the last of several fences: partition and subject are the event's whatever a model answers, and what it quotes
must be there. It knows English phrases; what it lets through is stored with the event's trust, as anything else is.
"""

from __future__ import annotations

import re

_TAKES_OVER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b"
    r"(?: (?:all|any|every|everything|anything|of|the|your|my|our|these|those|this))*"
    r"(?: (?:previous|prior|earlier|preceding|above|other))*"
    r" (?:instructions?|prompts?|rules?|guidelines?|directions|above|system messages?)\b"
    r"|\b(?:system prompt|developer mode|jailbreak|prompt injection)\b"
    r"|\b(?:new|updated|real|actual) (?:system )?instructions?\b[^.!?\n]{0,20}:"
    r"|(?<![-=#*<\[])[-=#*<\[]{2,}+ ?/?(?:end|begin(?:ning)?|start) (?:of )?(?:the )?\w{0,20} ?"
    r"(?:data|event|conversation|transcript|input|content)\b"
    r"|\b(?:data|end) [0-9a-f]{16}\b"
    r"|<\|(?:im_start|im_end|system|assistant|endoftext)\|>|\[/?inst\]|<<sys>>"
    r"|^(?:system|developer) ?:"
    r"|[\"'](?:facts|predicate|reasoning)[\"'] ?:",
    re.IGNORECASE | re.MULTILINE,
)
"""Says to the reader what it is to do; the rest of the passage is no better."""

_ASKS = re.compile(
    r"\b(?:store|save|record|add|write|insert|output|emit|extract|return|create|register|memori[sz]e|remember)\b"
    r"[^.!?\n]{0,40}\b(?:facts?|claims?|entr(?:y|ies)|ledger|json|subject|predicate|scope|database"
    r"|(?:to|in|into) (?:your |the )?memory)\b"
    r"|\bfrom now on,? (?:you|respond|answer|reply|act|always|never|treat|store)\b"
    r"|\byou are (?:now|no longer) (?:an?|my|in|the|free|bound|allowed)\b"
    r"|\bset (?:the )?(?:subject|access.?scope|scope|owner|confidence|trust) (?:to|as|=)"
    r"|\b(?:assistant|agent|model|ai|chatbot|bot) (?:must|should|shall|has to|needs to|will always|will never)\b"
    r"|\bact as (?:a|an|if|my|the)\b|\bpretend (?:to be|that you|you are)\b"
    r"|\b(?:do not|don't|never) (?:tell|mention|reveal|disclose|warn|ask) (?:the user|anyone|them|him|her)\b"
    r"|\breveal your\b|\bas an ai\b",
    re.IGNORECASE,
)
"""Asks the reader for something; other sentences of the passage may be as good as any."""

_SENTENCE_END = re.compile(r"(?<![.!?。！？])[.!?。！？]++[\"')\]]*+\s++|\n+")


def is_instruction(text: str) -> bool:
    """Tells whether a text speaks to its reader."""
    return _TAKES_OVER.search(text) is not None or _ASKS.search(text) is not None


def instructed_spans(text: str) -> list[tuple[int, int]]:
    """Returns where a passage speaks to its reader, as positions from and to, in order."""
    taken_over = _TAKES_OVER.search(text)
    spans = []
    for start, end in _sentences(text):
        if taken_over is not None and end > taken_over.start():
            spans.append((start, len(text)))
            break
        if _ASKS.search(text, start, end):
            spans.append((start, end))
    return spans


def _sentences(text: str) -> list[tuple[int, int]]:
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(text))]
    return [(start, end) for start, end in zip(starts, [*starts[1:], len(text)], strict=True) if start < end]
