"""Probabilities of an answer's choices from the probabilities of its tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MIN_MASS = 0.5
"""How much of the probability must be on the choices for it to say anything about them."""

_WRAPPING = " \t\r\n\"'`"


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an answer, and the probabilities (in (0, 1]) of the likeliest tokens in its place."""

    text: str
    top: Mapping[str, float]


def choice_probabilities(
    tokens: Sequence[Token], choices: Sequence[str], named: str = ""
) -> Mapping[str, float] | None:
    """Returns the probability of each choice, summing to 1; ``None`` where the tokens do not tell.

    Args:
        tokens: of the whole answer, in order.
        choices: names among which the answer chose.
        named: the member of the answer's JSON that holds the choice; also an answer that is the bare choice is read.
    """
    start = _start_of_choice("".join(token.text for token in tokens), choices, named)
    if start is None:
        return None
    position = 0
    for index, token in enumerate(tokens):
        if position + len(token.text) > start:
            mass = _masses(tokens, index, token.text[: start - position], list(choices))
            total = math.fsum(mass.values())
            return {name: mass[name] / total for name in choices} if total >= MIN_MASS else None
        position += len(token.text)
    return None


def _start_of_choice(text: str, choices: Sequence[str], named: str) -> int | None:
    options = "|".join(re.escape(name) for name in sorted(choices, key=len, reverse=True))
    if named:
        found = list(re.finditer(rf'"{re.escape(named)}"\s*:\s*"({options})"', text))
        if found:
            return found[-1].start(1)
    bare = re.fullmatch(rf"[\s\"'`]*({options})[\s\"'`.]*", text)
    return bare.start(1) if bare else None


def _masses(tokens: Sequence[Token], index: int, before: str, choices: list[str]) -> dict[str, float]:
    """Returns how much probability each choice has at a token, and where several begin alike, after it.

    Args:
        before: the part of the token that precedes the choice: a quote, for one.
    """
    mass = dict.fromkeys(choices, 0.0)
    for text, probability in tokens[index].top.items():
        begun = _begun(text, before)
        if not begun:
            continue
        meant = [name for name in choices if name.startswith(begun) or begun.startswith(name)]
        if len(meant) > 1 and text == tokens[index].text:
            for name, share in _shares(tokens, index + 1, begun, meant).items():
                mass[name] += probability * share
            continue
        for name in meant:
            mass[name] += probability / len(meant)
    return mass


def _begun(text: str, before: str) -> str:
    """Returns how a choice begins with a token, as far as the token goes."""
    if before and text.startswith(before):
        text = text[len(before) :]
    return text.strip(_WRAPPING)


def _shares(tokens: Sequence[Token], index: int, begun: str, meant: list[str]) -> dict[str, float]:
    """Returns how choices that begin alike share what the beginning has, by the tokens that follow it."""
    even = dict.fromkeys(meant, 1.0 / len(meant))
    if index >= len(tokens):
        return even
    rests = {name: name[len(begun) :] for name in meant}
    following = _masses(tokens, index, "", [rest for rest in rests.values() if rest])
    # What follows may also be the end of a choice that is whole already.
    following[""] = max(1.0 - math.fsum(following.values()), 0.0) if "" in rests.values() else 0.0
    total = math.fsum(following.values())
    return {name: following[rest] / total for name, rest in rests.items()} if total > 0.0 else even
