"""Changes real sentences so that the label is known: denials, existence, passive, antonyms, synonyms."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from training.judge.generate import Pair
from training.judge.vocabulary import listed
from training.judge.wordnet import antonyms, first_synonyms

_CLAUSE = re.compile(
    r"^(?P<det>An?|The|Two|Three|Some) (?P<noun>[\w' -]+?) (?P<be>is|are) (?P<verb>\w+ing)\b(?P<rest>.*?)\.?$"
)
_OBJECT = re.compile(r"^(?P<object>(?:an?|the|some) (?:\w+ )?\w+)(?P<tail>(?: (?:in|on|at|with|near|by) .*)?)$")
_PARTICIPLES = dict(
    entry.split(":")
    for entry in listed(
        """playing:played riding:ridden eating:eaten holding:held cutting:cut slicing:sliced chopping:chopped
        peeling:peeled throwing:thrown kicking:kicked catching:caught chasing:chased washing:washed
        cleaning:cleaned painting:painted reading:read carrying:carried pulling:pulled pushing:pushed
        driving:driven cooking:cooked frying:fried mixing:mixed pouring:poured drinking:drunk writing:written
        opening:opened climbing:climbed brushing:brushed petting:petted feeding:fed watching:watched
        hitting:hit lifting:lifted wearing:worn building:built making:made repairing:repaired using:used
        selling:sold folding:folded dragging:dragged grating:grated stirring:stirred strumming:strummed
        inspecting:inspected examining:examined drawing:drawn shooting:shot"""
    )
)
_BE_OR_HELP = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|should|must|may|might|do|does|did)\b(?! not|n't)"
)
_NEGATIVE = re.compile(r"\b(not|no|never|nobody|none|nothing|few)\b|n't|\?|, (and|but|which|who)\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+")


def clause_pairs(sentence: str, rng: random.Random) -> Iterator[Pair]:
    """Yields pairs made from a sentence such as "A man is playing a guitar"."""
    match = _CLAUSE.match(sentence.strip())
    if match is None:
        return
    det, noun, be, verb, rest = match["det"], match["noun"], match["be"], match["verb"], match["rest"]
    low = f"{det.lower()} {noun}"
    base = f"{det} {noun} {be} {verb}{rest}"
    same = [base, f"There {be} {low} {verb}{rest}"]
    if det in ("A", "An", "The"):
        same.append(f"{'The' if det != 'The' else 'A'} {noun} {be} {verb}{rest}")
        if det == "The" and noun[0] in "aeiou":
            same.pop()
    denied = [
        f"{det} {noun} {be} not {verb}{rest}",
        f"There {be} no {noun} {verb}{rest}",
        f"No {noun} {be} {verb}{rest}",
    ]
    parts = _OBJECT.match(rest.strip())
    if parts is not None and verb in _PARTICIPLES:
        thing, tail = parts["object"], parts["tail"]
        passive = f"{thing[0].upper()}{thing[1:]} is being {_PARTICIPLES[verb]} by {low}{tail}"
        same += [passive, passive]
        swapped = f"{thing[0].upper()}{thing[1:]} is {verb} {low}{tail}"
        yield Pair(base, swapped, "n", "n", "x", "transformed-role")
    one, two = rng.sample(same, 2)
    yield Pair(one, two, "E", "E", "0", "transformed-duplicate")
    yield Pair(rng.choice(same), rng.choice(denied), "C", "C", "0", "transformed-negation")
    if rng.random() < 0.3:
        one, two = rng.sample(denied, 2)
        yield (
            Pair(one, two, "x", "x", "0", "transformed-negation")
            if "not" in one + two
            else Pair(one, two, "E", "E", "0", "transformed-duplicate")
        )


def negation_pairs(sentence: str, rng: random.Random) -> Iterator[Pair]:
    """Yields a sentence against its denial, made by "not" after its first auxiliary, and its contraction."""
    found = _BE_OR_HELP.search(sentence)
    if found is None or found.start() > 60 or _NEGATIVE.search(sentence):
        return
    end = found.end()
    plain = f"{sentence[:end]} not{sentence[end:]}"
    short = (
        f"{sentence[:end]}n't{sentence[end:]}"
        if found[1] in listed("is are was were has have had could would should does do did")
        else plain
    )
    yield Pair(sentence, rng.choice((plain, short)), "C", "C", "0", "transformed-negation")
    if short != plain and rng.random() < 0.3:
        yield Pair(plain, short, "E", "E", "0", "transformed-duplicate")


class Lexicon:
    """Swaps single words by WordNet."""

    def __init__(self, directory: Path) -> None:
        self._antonyms: dict[str, list[str]] = {}
        for word, other, _ in antonyms(directory):
            if word.isalpha() and other.isalpha():
                self._antonyms.setdefault(word.lower(), []).append(other.lower())
        self._synonyms: dict[str, list[str]] = {}
        for pos, table in first_synonyms(directory).items():
            for word, names in table.items():
                if pos in ("verb", "adj", "adv", "noun") and len(word) > 3:
                    self._synonyms.setdefault(word, []).extend(sorted(names))

    def antonym_pair(self, sentence: str, rng: random.Random) -> Pair | None:
        """Returns the sentence against itself with one word turned into its opposite."""
        if re.search(r"\b(or|not|no|nobody)\b|n't", sentence, re.IGNORECASE):
            return None
        return self._swap(sentence, self._antonyms, rng, ("C", "transformed-antonym"))

    def synonym_pair(self, sentence: str, rng: random.Random) -> Pair | None:
        """Returns the sentence against itself with one word turned into a synonym."""
        return self._swap(sentence, self._synonyms, rng, ("E", "transformed-synonym"))

    def _swap(
        self, sentence: str, table: dict[str, list[str]], rng: random.Random, label: tuple[str, str]
    ) -> Pair | None:
        skip = (
            {"man", "woman", "men", "women", "back", "in", "out", "up", "down", "right", "there", "here"}
            if label[0] == "E"
            else {"back", "there", "here", "in", "on", "being", "like", "all"}
        )
        spots = [m for m in _WORD.finditer(sentence) if m[0] in table and m[0] not in skip and m.start() > 0]
        if not spots:
            return None
        spot = rng.choice(spots)
        word = rng.choice(table[spot[0]])
        if word == spot[0]:
            return None
        before = sentence[: spot.start()]
        if before.endswith((" a ", " an ")):
            before = re.sub(r" an? $", " an " if word[0] in "aeiou" else " a ", before)
        changed = before + word + sentence[spot.end() :]
        return Pair(sentence, changed, label[0], label[0], "0", label[1])


def transformed(sentences: Iterable[str], directory: Path, seed: int) -> Iterator[Pair]:
    """Yields pairs made from real sentences; the same seed gives the same pairs."""
    rng = random.Random(seed)
    lexicon = Lexicon(directory)
    for sentence in sentences:
        yield from clause_pairs(sentence, rng)
        if rng.random() < 0.35:
            yield from negation_pairs(sentence, rng)
        for make, chance in ((lexicon.antonym_pair, 0.7), (lexicon.synonym_pair, 0.35)):
            if rng.random() < chance:
                pair = make(sentence, rng)
                if pair is not None:
                    yield pair
