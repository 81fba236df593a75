"""Words and stems of a statement, and small word lists that several detectors share."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_TOKEN = re.compile(r"[^\W_]+(?:[_.'’@:/-]+[^\W_]+)*(?:\+\+|#)?['’]?|[^\w\s]|_+", re.UNICODE)


def listed(words: str) -> tuple[str, ...]:
    """Returns the words of a list that is written as running text."""
    return tuple(words.split())


FUNCTION_WORDS = frozenset(
    listed(
        """a an the this that these those there here it its he she they them his her hers him their theirs we our
        ours us you your yours i my mine me myself himself herself itself themselves who whom whose which what
        where when why how be am is are was were been being have has had having do does did doing done will
        would shall should can could may might must ought of in on at by for with from to into onto upon about
        as than then and or but nor so if while because since until before after during over under above below
        between among through across against within without up down out off near per via also too just very
        really quite still already yet now currently presently again both either neither each every all some
        any no not never only more most less least few many much several own such same other another 's s t
        get gets got getting let lets said says per etc eg ie"""
    )
)
"""Words that carry no content of their own; detectors of polarity, modality and direction read them separately."""

DETERMINERS = frozenset(listed("the a an this that these those his her its their our my your"))
COPULAS = frozenset(listed("is are was were be been being am 's remains became becomes"))
AUXILIARIES = COPULAS | frozenset(
    listed("has have had will would can could may might must shall should does do did")
)

_FOREIGN = frozenset(
    listed(
        """le la les des du une est et dans pour avec sur il elle nous vous sont der die das und ist nicht ein
        eine mit auf von zu den dem sind el los las y es un una en con por para que del se al lo di il gli nel
        della sono e ha o os as não em com uma um do da na no é het een van niet zijn på och är att som det
        inte"""
    )
) - frozenset(listed("die do no as la e o y en se al lo di los las el le del"))  # fmt: skip
ENGLISH = frozenset(
    listed(
        """the is are was were has have of and in on at to for with by from not no a an her his their will must"""
    )
)


@dataclass(frozen=True, slots=True)
class Word:
    """One token.

    Attributes:
        text: as written.
        lower: casefolded, possessive ending removed.
        stem: what remains without inflection.
        start: first character in the statement.
        end: position after the last character.
        possessive: whether it ended in an apostrophe form of ownership.
    """

    text: str
    lower: str
    stem: str
    start: int
    end: int
    possessive: bool = False

    @property
    def content(self) -> bool:
        """Whether the word names something."""
        return self.lower not in FUNCTION_WORDS and any(c.isalnum() for c in self.lower)

    @property
    def capital(self) -> bool:
        """Whether it is written as a name: a capital, or letters mixed with digits or underscores."""
        return self.text[:1].isupper() or self.identifier

    @property
    def identifier(self) -> bool:
        """Whether it mixes letters with digits, underscores or inner capitals, as codes and names of things do."""
        body = self.text
        return any(c.isalpha() for c in body) and (
            "_" in body or any(c.isdigit() for c in body) or bool(re.search(r"[a-z][A-Z]", body)) or "++" in body
        )


def tokenize(text: str) -> tuple[Word, ...]:
    """Returns the words and marks of ``text`` in order."""
    words = []
    for match in _TOKEN.finditer(text):
        raw = match[0]
        lower = raw.casefold().replace("’", "'")
        possessive = False
        if lower.endswith("'s") and len(lower) > 2:
            lower, possessive = lower[:-2], True
        elif lower.endswith("s'"):
            lower, possessive = lower[:-1], True
        lower = lower.rstrip("'") or lower
        words.append(Word(raw, lower, stem(lower), match.start(), match.end(), possessive))
    return tuple(words)


_IRREGULAR = {
    "has": "have", "had": "have", "went": "go", "gone": "go", "goes": "go", "bought": "buy", "sold": "sell",
    "paid": "pay",
    "wrote": "write", "written": "write", "made": "make", "took": "take", "taken": "take", "gave": "give",
    "given": "give",
    "led": "lead", "held": "hold", "kept": "keep", "left": "leave", "lost": "lose", "won": "win", "ran": "run",
    "met": "meet",
    "met ": "meet", "men": "man", "women": "woman", "children": "child", "people": "person", "mice": "mouse",
    "feet": "foot",
    "spoke": "speak", "spoken": "speak", "began": "begin", "begun": "begin", "grew": "grow", "grown": "grow",
    "fell": "fall",
    "fallen": "fall", "rose": "rise", "risen": "rise", "built": "build", "sent": "send", "spent": "spend",
    "taught": "teach",
    "thought": "think", "told": "tell", "sat": "sit", "stood": "stand", "drove": "drive", "driven": "drive",
    "ate": "eat",
    "eaten": "eat", "drank": "drink", "wore": "wear", "worn": "wear", "chose": "choose", "chosen": "choose",
    "became": "become",
    "colour": "color", "colours": "color", "favourite": "favorite", "metres": "meter", "metre": "meter",
    "centre": "center",
    "knives": "knife", "wives": "wife", "lives": "live", "leaves": "leave", "dying": "die", "lying": "lie",
}  # fmt: skip


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Returns ``word`` (lower case) without common English inflection; other words come back as they are."""
    if word in _IRREGULAR:
        word = _IRREGULAR[word]
    if not word.isascii() or not word.isalpha() or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending, keep in (("sses", 2), ("ing", 0), ("ed", 0), ("es", 0), ("s", 0)):
        if word.endswith(ending) and not word.endswith(("ss", "us", "is")):
            base = word[: len(word) - len(ending) + keep]
            if len(base) >= 3 and any(c in "aeiouy" for c in base):
                return _trim(base)
    return _trim(word)


def _trim(base: str) -> str:
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeiouls":
        return base[:-1]
    if len(base) > 3 and base.endswith("e"):
        return base[:-1]
    if len(base) > 4 and base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "y"
    return base


def readable(text: str) -> bool:
    """Whether the detectors can read ``text``: Latin letters, and not plainly another language than English."""
    letters = [c for c in unicodedata.normalize("NFC", text) if c.isalpha()]
    latin = sum("LATIN" in unicodedata.name(c, "") for c in letters)
    if letters and latin < 0.8 * len(letters):
        return False
    lowered = {word.lower for word in tokenize(text)}
    foreign, english = len(lowered & _FOREIGN), len(lowered & ENGLISH)
    accented = sum(not c.isascii() for c in letters)
    return not ((foreign >= 1 and english == 0 and accented > 0) or (foreign >= 2 and foreign > english))
