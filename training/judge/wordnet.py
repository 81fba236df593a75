"""Reads antonyms and synonyms from the WordNet 3.0 database files (Debian package ``wordnet-base``).

Run ``python -m training.judge.wordnet --out server/concord_server/domain/discrepancies/data/antonyms.txt`` to
build the antonym table that the service ships.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEFAULT_DIRECTORY = Path("/usr/share/wordnet")
POS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


@dataclass(frozen=True, slots=True)
class Synset:
    """One set of synonyms: its words and, per word, the ``!`` pointers to (offset, part of speech, word index)."""

    words: tuple[str, ...]
    antonyms: tuple[tuple[int, int, str, int], ...]


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
        antonyms = []
        for i in range(int(fields[pointers])):
            symbol, offset, kind, ends = fields[pointers + 1 + 4 * i : pointers + 5 + 4 * i]
            if symbol == "!" and ends != "0000":
                antonyms.append((int(ends[:2], 16) - 1, int(offset), kind, int(ends[2:], 16) - 1))
        synsets[int(fields[0])] = Synset(words, tuple(antonyms))
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
            found[pos][fields[0]] |= {word for word in first.words if word.lower() != fields[0] and " " not in word}
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


def main() -> None:
    """Builds the antonym table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, default=DEFAULT_DIRECTORY)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    print(f"{write_antonyms(arguments.out, arguments.wordnet)} pairs of antonyms")  # noqa: T201


if __name__ == "__main__":
    main()
