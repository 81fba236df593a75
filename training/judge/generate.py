"""Makes labelled pairs from sentence frames: values, subjects, negations, verbs, roles and changes swapped.

Run ``python -m training.judge.generate --out pairs.tsv --seed 7 --count 60000``.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from training.judge import vocabulary as words
from training.judge.frames import CHANGES, FRAMES, OWNED, ROLES, Frame
from training.judge.values import EXCLUDING, VALUES, Value


@dataclass(frozen=True, slots=True)
class Pair:
    """One labelled pair.

    ``forward`` says what ``known`` means for ``statement``: E entails, N neutral, C contradicts, e not contradicted,
    n not entailed, x unknown; ``backward`` the same from ``statement`` to ``known``. ``distinct`` is 1 for statements
    about another subject, 0 for the same subject, x when unknown.
    """

    known: str
    statement: str
    forward: str
    backward: str
    distinct: str
    kind: str


def _person(rng: random.Random) -> str:
    name = rng.choice(words.PEOPLE)
    return f"{name} {rng.choice(words.SURNAMES)}" if rng.random() < 0.3 else name


def _the(first: list[str], second: list[str]) -> Callable[[random.Random], str]:
    return lambda rng: f"The {rng.choice(first)} {rng.choice(second)}"


SUBJECTS: dict[str, Callable[[random.Random], str]] = {
    "person": _person,
    "company": lambda rng: rng.choice(words.COMPANIES),
    "service": _the(words.SERVICE_WORDS, words.SERVICE_KINDS),
    "team": lambda rng: f"The {rng.choice(words.TEAM_WORDS)} {rng.choice(('team', 'group', 'department', 'squad'))}",
    "event": lambda rng: f"The {rng.choice((rng.choice(words.TOPICS) + ' ', rng.choice(words.TEAM_WORDS) + ' ', '', ''))}{rng.choice(words.EVENTS)}",
    "thing": lambda rng: f"The {rng.choice(words.ADJECTIVES + [''] * 8)} {rng.choice(words.THINGS)}".replace("  ", " "),
    "place": lambda rng: f"The {rng.choice(words.ADJECTIVES + [''] * 8)} {rng.choice(words.PLACES)}".replace("  ", " "),
    "country": lambda rng: rng.choice(words.COUNTRIES),
    "city": lambda rng: rng.choice(words.CITIES),
    "title": lambda rng: "",
    "obligation": lambda rng: rng.choice(words.listed(
        """Visitors Employees Students Drivers Members Tenants Nurses Suppliers Players Volunteers Reviewers
        Passengers Interns Patients"""
    )),
    "none": lambda rng: "",
}  # fmt: skip


def _subject(kind: str, rng: random.Random) -> tuple[str, ...]:
    if kind == "title":
        names, company = rng.choice(words.TITLES), rng.choice(words.COMPANIES)
        surfaces = [f"the {name} of {company}" for name in names] + [f"{company}'s {name}" for name in names]
        return tuple(dict.fromkeys(surfaces))
    return (SUBJECTS[kind](rng),)


def _text(template: str, subject: str, value: str, rng: random.Random) -> str:
    inner = (
        subject[0].lower() + subject[1:]
        if subject.startswith("The ") and not template.startswith("{s}")
        else subject
    )
    text = template.format(s=inner, v=value, w=value)
    text = text.replace(" a a", " an a").replace(" a e", " an e").replace(" a i", " an i").replace(" a o", " an o")
    text = text[0].upper() + text[1:]
    if rng.random() < 0.15:
        text += "."
    if rng.random() < 0.06:
        text = text.lower()
    return text


def _another(draw: Callable[[random.Random], Value], not_this: Value, rng: random.Random) -> Value:
    for _ in range(50):
        other = draw(rng)
        if not set(map(str.lower, other)) & set(map(str.lower, not_this)):
            return other
    msg = f"no other value than {not_this}"
    raise ValueError(msg)


def _tool(rng: random.Random) -> tuple[Callable[[random.Random], Value], Value]:
    group = rng.choice(words.TOOLS)
    return (lambda r: (r.choice(group),)), (rng.choice(group),)


def _value(kind: str, rng: random.Random) -> tuple[Callable[[random.Random], Value], Value]:
    if kind in ("tool",):
        return _tool(rng)
    if kind in ("person", "team", "service"):
        return (lambda r: (SUBJECTS[kind](r).replace("The ", "the "),)), (
            SUBJECTS[kind](rng).replace("The ", "the "),
        )
    draw = VALUES[kind]
    return draw, draw(rng)


def _surface(value: Value, rng: random.Random) -> str:
    return value[0] if rng.random() < 0.6 else rng.choice(value)


_KINDS = words.listed(
    """duplicate value subject both denial denials other other_subject_other_value detail detail_value
        detail_subject"""
)
_WEIGHTS = (24, 26, 15, 4, 9, 3, 8, 1, 6, 2, 2)


def _excludes(frame: Frame, kind: str, first: Value, second: Value) -> bool:
    if not frame.exclusive:
        return False
    if kind not in EXCLUDING:
        return True
    return any({first[0], second[0]} == set(pair) for pair in EXCLUDING[kind])


@dataclass(frozen=True, slots=True)
class _Draft:
    """One frame with its slots drawn: the known statement and what may be set against it."""

    frame: Frame
    rng: random.Random
    subject: tuple[str, ...]
    value: Value
    draw: Callable[[random.Random], Value]
    one: str
    two: str

    def make(self, kind: str) -> Pair | None:
        known = self._say(self.one, self.subject, self.value)
        if kind in _NEEDS_SUBJECT and self.frame.subject == "none":
            return None
        if kind.startswith("detail"):
            return self._detail(kind) if self.frame.details else None
        makers: dict[str, Callable[[str], Pair | None]] = {
            "duplicate": self._duplicate,
            "value": self._other_value,
            "subject": self._subject,
            "both": self._both,
            "denial": self._denial,
            "denials": self._denials,
            "other": self._other,
        }
        return makers[kind](known) if kind in makers else None

    def _say(self, template: str, who: tuple[str, ...], what: Value) -> str:
        return _text(template, self.rng.choice(who), _surface(what, self.rng), self.rng)

    def _duplicate(self, known: str) -> Pair:
        other = self._say(self.rng.choice(self.frame.wordings), self.subject, self.value)
        return Pair(known, other, "E", "E", "0", "generated-duplicate")

    def _other_value(self, known: str) -> Pair:
        other = _another(self.draw, self.value, self.rng)
        label = self._label(other)
        return Pair(known, self._say(self.two, self.subject, other), label, label, "0", "generated-value")

    def _subject(self, known: str) -> Pair:
        return _distinct(known, self._say(self.two, self._other_subject(), self.value))

    def _both(self, known: str) -> Pair:
        other = self._other_subject()
        return _distinct(known, self._say(self.two, other, _another(self.draw, self.value, self.rng)))

    def _denial(self, known: str) -> Pair | None:
        if not self.frame.denials:
            return None
        denial = self._say(self.rng.choice(self.frame.denials), self.subject, self.value)
        return Pair(known, denial, "C", "C", "0", "generated-negation")

    def _denials(self, _known: str) -> Pair | None:
        if not self.frame.denials:
            return None
        denial = self.rng.choice(self.frame.denials)
        if self.rng.random() < 0.5 and self.frame.subject != "none":
            text = self._say(denial, self.subject, self.value)
            return _distinct(text, self._say(denial, self._other_subject(), self.value))
        texts = self._say(denial, self.subject, self.value), self._say(denial, self.subject, self.value)
        return Pair(*texts, "E", "E", "0", "generated-duplicate")

    def _other(self, known: str) -> Pair | None:
        if not self.frame.others:
            return None
        other = self._say(self.rng.choice(self.frame.others), self.subject, self.value)
        return Pair(known, other, "N", "N", "0", "generated-verb")

    def _detail(self, kind: str) -> Pair:
        detail = self.rng.choice(self.frame.details)
        first = _text(self.one, self.subject[0], self.value[0], self.rng).rstrip(".")
        long = f"{first} {detail}"
        if kind == "detail":
            short = _text(self.two, self.subject[0], self.value[0], self.rng)
            return Pair(long, short, "E", "N", "0", "generated-detail")
        if kind == "detail_value":
            other = _another(self.draw, self.value, self.rng)
            label = self._label(other)
            short = _text(self.two, self.subject[0], other[0], self.rng)
            return Pair(long, short, label, label, "0", "generated-value")
        return _distinct(long, _text(self.two, self._other_subject()[0], self.value[0], self.rng))

    def _other_subject(self) -> tuple[str, ...]:
        return _another(lambda r: _subject(self.frame.subject, r), self.subject, self.rng)

    def _label(self, other: Value) -> str:
        return "C" if _excludes(self.frame, self.frame.value, self.value, other) else "N"


def _distinct(known: str, statement: str) -> Pair:
    return Pair(known, statement, "N", "N", "1", "generated-subject")


_NEEDS_SUBJECT = frozenset(("subject", "both", "other_subject_other_value", "detail_subject"))


def _frame_pair(frame: Frame, rng: random.Random) -> Pair | None:
    subject = _subject(frame.subject, rng)
    draw, value = _value(frame.value, rng)
    kind = rng.choices(_KINDS, _WEIGHTS)[0]
    one = rng.choice(frame.wordings)
    two = one if rng.random() < 0.35 else rng.choice(frame.wordings)
    return _Draft(frame, rng, subject, value, draw, one, two).make(kind)


def _change_pair(rng: random.Random) -> Pair:
    kind, befores, afters = rng.choice(CHANGES)
    draw, old = _value(kind, rng)
    new = _another(draw, old, rng)
    person = _person(rng)
    before = rng.choice(befores).format(v=old[0], s=person)
    after = rng.choice(afters).format(v=_surface(old, rng), w=_surface(new, rng), s=person)
    if rng.random() < 0.1:
        again = rng.choice(afters).format(v=old[0], w=new[0], s=person)
        same = "E" if again == after else "x"
        return Pair(after, again, same, same, "0", "generated-change")
    return Pair(before, after, "C", "C", "0", "generated-change")


def _role_pair(rng: random.Random) -> Pair:
    kind, wordings, symmetric = rng.choice(ROLES)
    first, second = (SUBJECTS[kind](rng).replace("The ", "the ") for _ in range(2))
    if first == second:
        second = SUBJECTS[kind](random.Random(rng.random())).replace("The ", "the ") + (
            " II" if kind == "company" else ""
        )
    one, two = rng.choice(wordings), rng.choice(wordings)

    def say(template: str, a: str, b: str) -> str:
        text = template.format(a=a, b=b)
        return text[0].upper() + text[1:]

    known = say(one, first, second)
    draw = rng.random()
    if draw < 0.4:
        return Pair(known, say(two, first, second), "E", "E", "0", "generated-duplicate")
    if draw < 0.8:
        same, distinct = ("E", "0") if symmetric else ("n", "1")
        return Pair(known, say(two, second, first), same, same, distinct, "generated-role")
    third = SUBJECTS[kind](rng).replace("The ", "the ")
    return Pair(known, say(two, first, third), "n", "n", "x", "generated-subject")


def generate(count: int, seed: int, more: tuple[Frame, ...] = ()) -> Iterator[Pair]:
    """Yields ``count`` distinct pairs; the same seed gives the same pairs. ``more`` are frames beside ``FRAMES``."""
    frames = FRAMES + 3 * more
    rng = random.Random(seed)
    seen: set[tuple[str, str]] = set()
    while len(seen) < count:
        draw = rng.random()
        if draw < 0.76:
            pair = _frame_pair(rng.choice(frames), rng)
        elif draw < 0.85:
            pair = _frame_pair(rng.choice(OWNED), rng)
        elif draw < 0.93:
            pair = _change_pair(rng)
        else:
            pair = _role_pair(rng)
        if pair is None or pair.known == pair.statement or (pair.known, pair.statement) in seen:
            continue
        seen.add((pair.known, pair.statement))
        yield pair


def main() -> None:
    """Writes generated pairs as tab-separated values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    with arguments.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        for pair in generate(arguments.count, arguments.seed):
            writer.writerow((pair.known, pair.statement, pair.forward, pair.backward, pair.distinct, pair.kind))


if __name__ == "__main__":
    main()
