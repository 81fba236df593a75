"""Measures what forming observations costs the service itself, where the model answers at once.

    python -m bench.observe [--facts 400] [--json FILE]

Facts become observations in a run of the stage OBSERVE by a scripted model on this machine: those of one owner, which
are one group, and those of an owner for every eight facts, whose groups go in parallel. Once with a quarter of the
facts and once with all, so that it shows what grows faster than they do. The time in the scripted server is counted
too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from concord import Claim, Client, EntityRef, EventCandidate, EventInput, Run, RunScope, RunStage, RunState

from tests.support.model_server import MODEL, ModelServer, Received, Reply
from tests.support.service import running_service

START = datetime(2026, 1, 1, tzinfo=UTC)
EXTRACT, OBSERVE = (RunScope(stages=(stage,)) for stage in (RunStage.EXTRACT, RunStage.OBSERVE))
WORDS = ("harbour", "violin", "orchard", "ledger", "glacier", "lantern", "saddle", "compass", "meadow", "kiln")


def answer(request: Received) -> Reply:
    """Answers that the new facts of the question agree, and cites all of them."""
    data: dict[str, Any] = json.loads(request.user.removeprefix("<data>").removesuffix("</data>"))
    facts = data["new_facts"]
    cited = [fact["id"] for fact in facts]
    created = {"text": facts[0]["text"], "source_fact_ids": cited, "reason": "they agree"}
    said = {"creates": [created], "updates": [], "merges": [], "retires": []}
    return Reply(json.dumps(said), tokens=None)


def events(count: int, owners: int, name: str) -> Sequence[EventInput]:
    """Returns so many facts, of each of so many owners as many."""
    return [
        EventInput(
            EntityRef("Person", f"{name}-{number % owners}"),
            occur_time=START + timedelta(hours=number),
            candidates=[
                EventCandidate(Claim("", f"{WORDS[number % 10]} {number}", f"{WORDS[number // 10 % 10]} {number}"))
            ],
        )
        for number in range(count)
    ]


def observed(client: Client, model: ModelServer, given: Sequence[EventInput]) -> dict[str, float]:
    """Turns events into facts, and the facts into observations; returns what the latter took."""
    for start in range(0, len(given), 100):
        client.append_events(given[start : start + 100])
    list(client.consolidate(EXTRACT))
    before = model.asked
    begun = time.perf_counter()
    last = list(client.consolidate(OBSERVE))[-1].update
    taken = time.perf_counter() - begun
    assert isinstance(last, Run)
    assert last.state is RunState.SUCCEEDED
    assert (last.progress.processed, last.progress.failed) == (len(given), 0)
    return {"calls": model.asked - before, "facts_per_second": round(len(given) / taken, 1)}


def main() -> None:
    """Prints a table, and writes it as JSON where it is asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=400)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    measured: list[dict[str, object]] = []
    with ModelServer(answer) as model, tempfile.TemporaryDirectory() as directory:
        environment = {"CONCORD_LLM_BASE_URL": model.url, "CONCORD_LLM_MODEL": MODEL}
        with running_service(Path(directory), environment=environment) as service:
            for count in (given.facts // 4, given.facts):
                for owners in (1, max(1, count // 8)):
                    project = f"{count}-{owners}"
                    with Client(service.target, project=project) as client:
                        taken = observed(client, model, events(count, owners, "p"))
                    measured.append({"facts": count, "groups": owners, **taken})
    print("".join(f"{name:>18}" for name in measured[0]))
    for row in measured:
        print("".join(f"{value:>18}" for value in row.values()))
    if given.json:
        given.json.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
