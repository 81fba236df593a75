"""Measures events that a language model reads: calls and tokens, and the service's own time beside the model's.

    python -m bench.model [--events 200] [--subjects 20] [--workers 1] [--json FILE]

The model is a scripted server that answers at once, asked over HTTP as any other. What an event costs beyond that is
measured by ratios within one run: the bare question, the event that a model reads, and the same event when its
candidates come with it. One subject is worked at a time, so that times can be subtracted. Tokens are estimated from
the lengths of what is sent and answered (4 characters each).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import CandidateAction
from concord_server.domain.events import EventCandidate, NewEvent
from concord_server.domain.model import EntityRef, EvidenceInput
from concord_server.domain.runs import Run
from concord_server.ports.embedder import Embedder
from concord_server.ports.language_model import ModelRequest, ModelStage
from concord_server.providers.embedders.onnx import OnnxEmbedder
from concord_server.providers.language_models.dialect import Dialects
from concord_server.providers.language_models.openai_model import Endpoint, OpenAIModel
from concord_server.providers.system import SystemClock
from concord_server.services.extraction import ExtractedOnce, ModelExtractor
from concord_server.services.metered_model import MeteredModel
from concord_server.services.settings_cache import CachedSettings
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.engine import EngineOptions, create_engine
from concord_server.storage.migrate import migrate
from concord_server.storage.sessions import PostgresLedger

from tests.support.model_server import MODEL, ModelServer, Received, Reply
from tests.support.runs import Bench

START = datetime(2026, 1, 1, tzinfo=UTC)
CITIES = ("Lagos", "Oslo", "Porto", "Quito", "Hanoi")
HOBBIES = ("chess", "rowing", "pottery", "climbing")


@dataclass(frozen=True)
class Told:
    """One event, and the two facts in it."""

    subject: str
    number: int

    @property
    def facts(self) -> list[dict[str, object]]:
        """As a model answers them."""
        city, hobby = CITIES[self.number % len(CITIES)], HOBBIES[self.number % len(HOBBIES)]
        return [
            {"predicate": "city", "value": city, "action": "supersede", "evidence": f"moved to {city}"},
            {"predicate": "hobby", "value": hobby, "action": "supersede", "evidence": f"taken up {hobby}"},
        ]

    @property
    def text(self) -> str:
        """The words of the event."""
        city, hobby = (fact["value"] for fact in self.facts)
        return f"Note {self.number}: since last week I have moved to {city}, and I have taken up {hobby} again."

    def event(self, *, with_candidates: bool) -> NewEvent:
        """The event as it is appended."""
        candidates = tuple(
            EventCandidate(
                ClaimInput("", str(fact["predicate"]), str(fact["value"])),
                action=CandidateAction.SUPERSEDE,
                evidence=(EvidenceInput(quote=str(fact["evidence"])),),
            )
            for fact in self.facts
        )
        return NewEvent(
            EntityRef("User", self.subject),
            text=self.text,
            occur_time=START + timedelta(days=self.number),
            candidates=candidates if with_candidates else (),
        )


def model_of(told: Sequence[Told]) -> Callable[[Received], Reply]:
    """Returns a model that knows the facts of every event, and answers at once."""
    answers = {one.text: json.dumps({"reasoning": "as told", "facts": one.facts}) for one in told}

    def answer(request: Received) -> Reply:
        return Reply(next(said for text, said in answers.items() if text in request.user), tokens=None)

    return answer


async def worked(bench: Bench, told: Sequence[Told], workers: int, *, with_candidates: bool) -> tuple[Run, float]:
    """Appends the events and works them; returns the run and its seconds."""
    for first in range(0, len(told), 100):
        await bench.append(*(one.event(with_candidates=with_candidates) for one in told[first : first + 100]))
    start = time.perf_counter()
    run, _ = await bench.worked(bench.worker(workers))
    return run, time.perf_counter() - start


async def seconds_of(call: Callable[[], Awaitable[object]], rounds: int) -> float:
    """Returns the median of as many calls, one after the other."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


async def run(url: str, events: int, subjects: int, workers: int) -> dict[str, float]:
    """Measures; times are milliseconds per event."""
    told = [Told(f"u{number % subjects}", number) for number in range(events)]
    engine = create_engine(url, EngineOptions(pool_size=20))
    ledger, embedder, clock = PostgresLedger(engine), OnnxEmbedder.load(), SystemClock()
    settings = CachedSettings(ledger)
    with ModelServer(model_of(told)) as server:
        model = OpenAIModel(Endpoint(server.url, MODEL), Dialects(), clock)
        request = ModelRequest(ModelStage.EXTRACT, "p", "s", told[0].text, "facts", {})
        bare = await seconds_of(lambda: model.ask(request), 100)
        asked = server.asked
        given = _bench(ledger, "given", embedder)
        _, without = await worked(given, told, workers, with_candidates=True)
        read = _bench(ledger, "read", embedder)
        metered = MeteredModel(model, ledger, settings, clock)
        extractor = ModelExtractor(metered, ledger, settings, clock, embedder)
        read.extractor = ExtractedOnce(extractor, ledger)  # type: ignore[assignment]
        summary, seconds = await worked(read, told, workers, with_candidates=False)
        calls = server.asked - asked
        await model.close()
    await embedder.close()
    await ledger.close()
    counts = summary.extract
    assert (counts.processed, counts.failed, counts.rejected) == (events, 0, 0), counts
    return {
        "calls per event": round(calls / events, 3),
        "input tokens per event": round(counts.input_tokens / events, 1),
        "output tokens per event": round(counts.output_tokens / events, 1),
        "ms of the bare question": round(bare * 1000, 2),
        "ms per event with its candidates": round(without / events * 1000, 2),
        "ms per event read by the model": round(seconds / events * 1000, 2),
        "the same, without the question": round((seconds / events - bare) * 1000, 2),
        "times an event with its candidates": round((seconds / events - bare) * events / without, 2),
    }


def _bench(ledger: PostgresLedger, project: str, embedder: Embedder) -> Bench:
    bench = Bench(ledger, project)
    bench.embedder = embedder  # type: ignore[assignment]
    return bench


def main() -> None:
    """Measures, prints a table, and writes JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--subjects", type=int, default=20)
    parser.add_argument("--workers", type=int, default=1, help="subjects worked at once")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="concord-bench-") as directory,
        EmbeddedPostgres(Path(directory)) as server,
    ):
        migrate(server.url)
        results = asyncio.run(run(server.url, arguments.events, arguments.subjects, arguments.workers))
    for name, figure in results.items():
        print(f"{name:<40}{figure:>10}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
