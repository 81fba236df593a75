"""Measures what the service itself costs for an event that a model reads, where the model answers at once.

    python -m bench.extraction [--events 200] [--json FILE]

The same facts go in twice in one run: sent as candidates of their events, and taken from as many events by a scripted
model on this machine. The difference is what asking costs: the facts that the model is shown, the question, the reading
and checking of its answer, and what is counted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from concord import Cardinality, Claim, Client, EntityRef, EventCandidate, EventInput, Run, RunState

from tests.support.model_server import MODEL, ModelServer, Received, Reply
from tests.support.service import running_service

SUBJECTS = 20
START = datetime(2026, 1, 1, tzinfo=UTC)
PLACES = ("Lagos", "Graz", "Porto", "Bergen", "Turin", "Osaka", "Leeds", "Quito", "Tartu", "Split")


def said(number: int) -> str:
    """Returns what event ``number`` says."""
    place, other = PLACES[number % 10], PLACES[number // 10 % 10]
    return f"I was in {place} with friend {number}, bought {number} stamps and wrote to my aunt in {other}."


def facts(number: int) -> list[dict[str, Any]]:
    """Returns what event ``number`` states."""
    stated = (
        ("visited_with", f"friend {number}", "with friend"),
        ("bought_stamps", f"{number} stamps", f"bought {number} stamps"),
        ("wrote_to", f"aunt, letter {number}", "wrote to"),
    )
    return [
        {"predicate": predicate, "value": value, "cardinality": "MULTI", "evidence": evidence}
        for predicate, value, evidence in stated
    ]


def answer(request: Received) -> Reply:
    """Answers with what the event states."""
    [spoken] = [line for line in map(json.loads, request.user.split("\n")[1:-1]) if "said" in line]
    number = int(spoken["said"].split(" friend ")[1].split(",")[0])
    return Reply(json.dumps({"reasoning": "", "facts": facts(number)}), tokens=None)


def events(count: int, *, sent: bool) -> Iterator[EventInput]:
    """Yields events, with their facts as candidates or without."""
    for number in range(count):
        stated = facts(number) if sent else []
        claims = [Claim("", f["predicate"], f["value"], cardinality=Cardinality.MULTI) for f in stated]
        yield EventInput(
            EntityRef("Person", f"{'sent' if sent else 'read'}-{number % SUBJECTS}"),
            text=said(number),
            occur_time=START + timedelta(hours=number),
            candidates=[EventCandidate(claim) for claim in claims],
        )


def consolidated(client: Client, given: Sequence[EventInput]) -> float:
    """Appends events, turns them into facts, and returns the milliseconds that each took in the run."""
    for start in range(0, len(given), 100):
        client.append_events(given[start : start + 100])
    started = time.perf_counter()
    run = client.start_run()
    *_, last = client.watch_run(run.run_id)
    taken = time.perf_counter() - started
    assert isinstance(last.update, Run)
    assert last.update.state is RunState.SUCCEEDED
    told = last.update.progress
    assert (told.processed, told.failed, told.rejected, told.conflicted) == (len(given), 0, 0, 0)
    return taken * 1000 / len(given)


def main() -> None:
    """Prints a table, and writes it as JSON where it is asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with ModelServer(answer) as model, tempfile.TemporaryDirectory() as directory:
        environment = {"CONCORD_LLM_BASE_URL": model.url, "CONCORD_LLM_MODEL": MODEL}
        with (
            running_service(Path(directory), environment=environment) as service,
            Client(service.target) as client,
        ):
            consolidated(client, list(events(20, sent=True))[:20])
            sent = consolidated(client, [*events(given.events, sent=True)][20:])
            read = consolidated(client, list(events(given.events, sent=False)))
        asked = [len(request.system) + len(request.user) for request in model.received]
    measured = {
        "events": given.events,
        "facts_per_event": len(facts(0)),
        "sent_ms": round(sent, 2),
        "read_ms": round(read, 2),
        "ratio": round(read / sent, 2),
        "model_calls_per_event": len(asked) / given.events,
        "characters_asked": round(sum(asked) / len(asked)),
        "characters_of_instructions": len(model.received[0].system),
    }
    for name, value in measured.items():
        print(f"{name:<28} {value}")
    if given.json:
        given.json.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
