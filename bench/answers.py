"""Measures how the time to read a model's answer grows with its length, for ordinary and hostile answers.

Run it with ``python -m bench.answers``. Four times the text should take about four times as long; what is read in
quadratic time would take sixteen times as long.
"""

from __future__ import annotations

import json
import time

from concord_server.domain.answers import MAX_ANSWER_CHARACTERS, read_answer

WANTED = ("facts", "predicate")
SHORT = MAX_ANSWER_CHARACTERS // 4
REPEATS = 3

FACT = '{"predicate": "plays", "value": "cello", "confidence": 0.9, "evidence": "I play the cello"},'
PIECES: dict[str, tuple[str, str]] = {
    "valid facts": ('{"facts": [', FACT),
    "facts with a trailing comma": ('{"facts": [', FACT.replace('"},', '",},')),
    "facts in single quotes": ("{'facts': [", FACT.replace('"', "'")),
    "one word": ("", "a"),
    "an open string": ('{"facts": [{"predicate": "p", "value": "', "a"),
    "quotes within a string": ('{"facts": [{"predicate": "p", "value": "', 'a" b '),
    "escapes": ('{"facts": [{"predicate": "p", "value": "', "\\"),
    "open brackets": ("", "["),
    "open braces": ("", '{"a":'),
    "brackets of prose": ("", "{ x [ y "),
    "answers without end": ("", '{"facts": ['),
    "thoughts without end": ("", "<think>"),
    "ends of thoughts": ("", "</think>"),
    "keys without values": ('{"facts": [{', '"a": '),
    "lost quotes": ('{"facts": [', '{"predicate": "x, '),
    "comments": ('{"facts": [', "/* "),
    "white space": ('{"facts": [', " \n"),
    "numbers": ('{"facts": [', "1,"),
    "one number": ('{"facts": [{"value": ', "1"),
}


def seconds(text: str) -> float:
    """Returns the least time of the processor that reading took."""
    taken = []
    for _ in range(REPEATS):
        started = time.process_time()
        read_answer(text, WANTED, complete=False)
        taken.append(time.process_time() - started)
    return min(taken)


def main() -> None:
    """Prints a line for each kind of answer, and all of it as JSON."""
    measured = {}
    print(f"{'answer':<30} {'ms / 128 Ki':>12} {'ms / 512 Ki':>12} {'ratio':>7}")
    for name, (before, piece) in PIECES.items():
        short, long = (seconds((before + piece * (size // len(piece) + 1))[:size]) for size in (SHORT, 4 * SHORT))
        measured[name] = {"short_ms": short * 1e3, "long_ms": long * 1e3, "ratio": long / short}
        print(f"{name:<30} {short * 1e3:>12.2f} {long * 1e3:>12.2f} {long / short:>7.1f}")
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
