"""The proposal of predicates over the listed pairs of names, with the real embedder and judge."""

from __future__ import annotations

from concord_server.providers.embedders.onnx import OnnxEmbedder
from concord_server.providers.judges.local import LocalJudge

from bench.predicates.__main__ import CONFIRMED, propose, read_pairs


async def test_no_near_miss_is_confirmed_and_half_of_the_synonyms_are():
    pairs = read_pairs()
    embedder = OnnxEmbedder.load()
    try:
        outcomes = await propose(embedder, LocalJudge.load(), pairs)
    finally:
        await embedder.close()
    confirmed = [pair for pair, outcome in zip(pairs, outcomes, strict=True) if outcome == CONFIRMED]
    assert [f"{pair.known}/{pair.candidate}" for pair in confirmed if not pair.same] == []
    assert len(confirmed) >= sum(pair.same for pair in pairs) / 2
