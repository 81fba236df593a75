"""Reads antonyms and synonyms from the WordNet 3.0 database files (Debian package ``wordnet-base``).

Run ``python -m training.judge.wordnet`` to build the tables that the service ships.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from concord_server.domain.discrepancies.words import stem

DEFAULT_DIRECTORY = Path("/usr/share/wordnet")
POS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


@dataclass(frozen=True, slots=True)
class Synset:
    """One set of synonyms: its words and, per word, the ``!`` pointers to (offset, part of speech, word index)."""

    words: tuple[str, ...]
    antonyms: tuple[tuple[int, int, str, int], ...]
    broader: tuple[int, ...] = ()


def read_synsets(directory: Path, pos: str) -> dict[int, Synset]:
    """Returns the synsets of one part of speech (``noun``, ``verb``, ``adj`` or ``adv``) by offset."""
    synsets: dict[int, Synset] = {}
    for line in (directory / f"data.{pos}").read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            continue
        fields = line.split(" ")
        count = int(fields[3], 16)
        words = tuple(fields[4 + 2 * i].split("(")[0].replace("_", " ") for i in range(count))
        pointers = 4 + 2 * count
        antonyms, broader = [], []
        for i in range(int(fields[pointers])):
            symbol, offset, kind, ends = fields[pointers + 1 + 4 * i : pointers + 5 + 4 * i]
            if symbol == "!" and ends != "0000":
                antonyms.append((int(ends[:2], 16) - 1, int(offset), kind, int(ends[2:], 16) - 1))
            elif symbol in ("@", "@i", "&") and kind in (POS[pos], "s"):
                broader.append(int(offset))
        synsets[int(fields[0])] = Synset(words, tuple(antonyms), tuple(broader))
    return synsets


def antonyms(directory: Path = DEFAULT_DIRECTORY) -> Iterator[tuple[str, str, str]]:
    """Yields (word, antonym, part of speech), each pair in both directions."""
    for pos in POS:
        synsets = read_synsets(directory, pos)
        for synset in synsets.values():
            for source, offset, _, target in synset.antonyms:
                other = synsets.get(offset)
                if other is not None:
                    yield synset.words[source], other.words[target], pos


def first_synonyms(directory: Path = DEFAULT_DIRECTORY, most_senses: int = 3) -> dict[str, dict[str, set[str]]]:
    """Returns part of speech → word → synonyms in its most frequent sense, for words of few senses."""
    found: dict[str, dict[str, set[str]]] = {pos: defaultdict(set) for pos in POS}
    for pos in POS:
        synsets = read_synsets(directory, pos)
        for line in (directory / f"index.{pos}").read_text(encoding="utf-8").splitlines():
            if line.startswith("  "):
                continue
            fields = line.split()
            senses = int(fields[2])
            if senses > most_senses or "_" in fields[0]:
                continue
            first = synsets[int(fields[-senses])]
            found[pos][fields[0]] |= {
                word for word in first.words if word.lower() != fields[0] and " " not in word
            }
    return {pos: {word: names for word, names in table.items() if names} for pos, table in found.items()}


def write_antonyms(out: Path, directory: Path = DEFAULT_DIRECTORY) -> int:
    """Writes single-word antonyms, lower case, one ``word<TAB>antonym`` per line; returns how many."""
    pairs = {
        tuple(sorted((word.lower(), other.lower())))
        for word, other, _ in antonyms(directory)
        if word.isalpha() and other.isalpha() and len(word) > 1 and len(other) > 1
    }
    out.write_text("".join(f"{a}\t{b}\n" for a, b in sorted(pairs)), encoding="utf-8")
    return len(pairs)


def write_relatives(out: Path, directory: Path = DEFAULT_DIRECTORY, senses: int = 2) -> int:
    """Writes stem → stems of synonyms, and of directly broader words with a ``>`` before them; returns how many.

    In the most frequent senses of words that occur in WordNet's tagged texts, the common words of English; of rarer
    words only the synonyms.
    """
    synonyms: dict[str, set[str]] = defaultdict(set)
    broader: dict[str, set[str]] = defaultdict(set)
    for pos in POS:
        synsets = read_synsets(directory, pos)
        for word, offsets, tagged in _frequent(directory, pos, senses):
            for synset in (synsets[offset] for offset in offsets):
                if word not in synset.words:
                    continue  # a proper name: WordNet writes it with a capital
                synonyms[stem(word)] |= _stems(synset.words)
                for offset in synset.broader if tagged else ():
                    broader[stem(word)] |= _stems(synsets[offset].words)
    lines = []
    for word in sorted(synonyms.keys() | broader.keys()):
        same = synonyms[word] - {word}
        names = sorted(same) + [f">{name}" for name in sorted(broader[word] - same - {word})]
        if names:
            lines.append(f"{word}\t{' '.join(names)}\n")
    out.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def _frequent(directory: Path, pos: str, senses: int) -> Iterator[tuple[str, list[int], bool]]:
    """Yields (word, offsets of its most frequent senses, whether it occurs in the tagged texts)."""
    for line in (directory / f"index.{pos}").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if line.startswith("  ") or not fields[0].isalpha() or len(fields[0]) < 3:
            continue
        count = int(fields[2])
        tagged = int(fields[-count - 1]) > 0
        if tagged or count <= 3:
            yield fields[0], [int(offset) for offset in fields[-count:][:senses]], tagged


def _stems(words: tuple[str, ...]) -> set[str]:
    return {stem(word) for word in words if word.isalpha() and word.islower()}


def main() -> None:
    """Builds the antonym table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, default=DEFAULT_DIRECTORY)
    parser.add_argument("--out", type=Path, default=Path("server/concord_server/domain/discrepancies/data"))
    arguments = parser.parse_args()
    print(f"{write_antonyms(arguments.out / 'antonyms.txt', arguments.wordnet)} pairs of antonyms")
    print(f"{write_relatives(arguments.out / 'relatives.txt', arguments.wordnet)} words with relatives")


if __name__ == "__main__":
    main()
