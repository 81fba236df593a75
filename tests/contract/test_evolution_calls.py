"""EvolutionService's calls, and those about sources and facts by id: what reaches the use cases, what comes back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid4

import grpc
import pytest
from concord.v1 import (
    briefing_service_pb2,
    enums_pb2,
    evolution_service_pb2,
    reconcile_service_pb2,
)
from concord_server.domain.enums import EvolutionType, FactType, Volatility
from concord_server.domain.lineage import EvolutionEdge, FamilyPage
from concord_server.domain.model import EntityRef
from concord_server.domain.queries import Cursor, Page
from concord_server.ports.sources import SourceName
from concord_server.services.batch_get_facts import FoundFacts
from concord_server.services.branch import Branched
from concord_server.services.context import Replay
from concord_server.services.withdraw_source import Withdrawal
from google.protobuf import json_format
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from tests.contract.ledger_values import FACT, FACT_ID, OTHER_ID, PARENT_ID, PLAIN_FACT, SOURCE, VERSION
from tests.contract.scripted import Edge, failure

Code = grpc.StatusCode
Branch = evolution_service_pb2.BranchRequest
Update = evolution_service_pb2.UpdateFactRequest


async def test_a_branch_reaches_the_use_case_whole(edge: Edge):
    request = json_format.ParseDict(
        {
            "parent_ids": [str(PARENT_ID)],
            "evolution_type": "EVOLUTION_TYPE_CORRECTION",
            "text": "It is 330 m",
            "type": "FACT_TYPE_MEASUREMENT",
            "domain": "towers",
            "access_scope": "s1",
            "owner": {"entity_type": "City", "entity_id": "paris"},
            "claim": {"subject": "tower", "predicate": "height", "value": 330},
            "source": {"url": "https://t.example", "credibility": 0.9},
            "evidence": [{"quote": "330"}],
            "subjects": [{"entity_type": "Tower", "entity_id": "t"}],
            "contents": [{"content_id": "doc-1"}],
            "tags": ["a"],
            "observe_time": "2026-01-01T00:00:00Z",
            "valid_from": "2026-01-02T00:00:00Z",
            "valid_to": "2026-01-03T00:00:00Z",
            "corroboration_score": 0.5,
            "volatility": "VOLATILITY_SLOW",
            "metadata": {"n": 1},
        },
        Branch(),
    )
    edge.script.branch.answer = Branched(FACT, SOURCE, ("mind the gap",))
    response = await edge.evolution.Branch(request)
    assert (response.fact.fact_id, response.source.url) == (str(FACT_ID), SOURCE.url)
    assert list(response.warnings) == ["mind the gap"]
    _, command, idempotency = edge.script.branch.calls[0]
    said = command.statement
    assert (command.parent_ids, command.evolution_type) == ((PARENT_ID,), EvolutionType.CORRECTION)
    assert (said.text, said.type, command.type_given) == ("It is 330 m", FactType.MEASUREMENT, True)
    assert (said.domain, said.access_scope, said.owner) == ("towers", "s1", EntityRef("City", "paris"))
    assert (said.claim.value, said.source.url, said.evidence[0].quote) == (330, "https://t.example", "330")
    assert (said.subjects, said.contents[0].content_id) == ((EntityRef("Tower", "t"),), "doc-1")
    assert (said.tags, said.metadata, said.corroboration_score) == (("a",), {"n": 1}, 0.5)
    assert said.volatility is Volatility.SLOW
    assert [t.day for t in (said.observe_time, said.valid_from, said.valid_to)] == [1, 2, 3]
    assert idempotency is None


async def test_what_a_branch_leaves_open_is_left_to_its_parents(edge: Edge):
    await edge.evolution.Branch(Branch(parent_ids=[str(PARENT_ID)], text="x"))
    _, command, _ = edge.script.branch.calls[0]
    assert (command.evolution_type, command.type_given) == (EvolutionType.EXTENSION, False)
    assert (command.statement.owner, command.statement.volatility) == (None, None)


async def test_every_field_of_a_branch_that_cannot_be_read_is_named_with_those_that_are_bad(edge: Edge):
    request = Branch(
        parent_ids=["x", str(PARENT_ID), ""],
        evolution_type=99,  # type: ignore[arg-type]
        text="",
        request_id="y",
        corroboration_score=2,
        valid_to=Timestamp(nanos=-1),
    )
    failed = await failure(edge.evolution.Branch(request))
    assert (failed.code, failed.reasons) == (Code.INVALID_ARGUMENT, ("INVALID_FIELD",))
    assert set(failed.fields) == {
        "parent_ids[0]",
        "parent_ids[2]",
        "evolution_type",
        "text",
        "request_id",
        "corroboration_score",
        "valid_to",
    }
    assert edge.script.branch.calls == []


async def test_a_branch_has_at_most_a_hundred_parents(edge: Edge):
    failed = await failure(edge.evolution.Branch(Branch(parent_ids=[str(uuid4())] * 101, text="x")))
    assert failed.fields == ("parent_ids",)


async def test_repeated_requests_are_answered_with_what_was_stored(edge: Edge):
    stored = evolution_service_pb2.BranchResponse(warnings=["as before"])
    edge.script.branch.answer = Replay(stored.SerializeToString())
    request_id = str(uuid4())
    response = await edge.evolution.Branch(Branch(parent_ids=[str(PARENT_ID)], text="x", request_id=request_id))
    assert list(response.warnings) == ["as before"]
    idempotency = edge.script.branch.calls[0][2]
    assert (str(idempotency.request_id), idempotency.method) == (request_id, "concord.v1.EvolutionService/Branch")
    encoded = evolution_service_pb2.BranchResponse.FromString(idempotency.encode(Branched(FACT)))
    assert encoded.fact.fact_id == str(FACT_ID)
    edge.script.update_fact.answer = Replay(evolution_service_pb2.UpdateFactResponse().SerializeToString())
    update = Update(fact_id=str(FACT_ID), update_mask=FieldMask(paths=["tags"]), request_id=request_id)
    assert not (await edge.evolution.UpdateFact(update)).HasField("fact")
    edge.script.withdraw_source.answer = Replay(
        reconcile_service_pb2.WithdrawSourceResponse(affected_count=7).SerializeToString()
    )
    withdraw = reconcile_service_pb2.WithdrawSourceRequest(url="https://x.example", request_id=request_id)
    assert (await edge.reconcile.WithdrawSource(withdraw)).affected_count == 7


async def test_a_line_and_its_latest_fact_are_read_by_id(edge: Edge):
    edge.script.get_evolution_chain.answer = [PLAIN_FACT, FACT]
    chain = await edge.evolution.GetEvolutionChain(
        evolution_service_pb2.GetEvolutionChainRequest(fact_id=str(FACT_ID))
    )
    assert [fact.fact_id for fact in chain.facts] == [str(OTHER_ID), str(FACT_ID)]
    latest = await edge.evolution.GetLatestInChain(
        evolution_service_pb2.GetLatestInChainRequest(fact_id=str(OTHER_ID))
    )
    assert latest.fact.fact_id == str(FACT_ID)
    assert edge.script.get_latest_in_chain.calls[0][1] == OTHER_ID


@pytest.mark.parametrize(
    ("method", "request_type"),
    [
        ("GetEvolutionChain", evolution_service_pb2.GetEvolutionChainRequest),
        ("GetLatestInChain", evolution_service_pb2.GetLatestInChainRequest),
        ("GetEvolutionTree", evolution_service_pb2.GetEvolutionTreeRequest),
        ("ListFactVersions", evolution_service_pb2.ListFactVersionsRequest),
        ("UpdateFact", evolution_service_pb2.UpdateFactRequest),
    ],
)
@pytest.mark.parametrize("fact_id", ["", "x", "019a0000-0000-7000-8000-00000000000g"])
async def test_a_malformed_id_is_refused_by_name(edge: Edge, method, request_type, fact_id):
    failed = await failure(getattr(edge.evolution, method)(request_type(fact_id=fact_id)))
    assert failed.code is Code.INVALID_ARGUMENT
    assert "fact_id" in failed.fields


async def test_a_family_is_paged_with_its_edges_and_its_size(edge: Edge):
    tree = evolution_service_pb2.GetEvolutionTreeRequest
    edge_ = EvolutionEdge(OTHER_ID, FACT_ID, EvolutionType.MERGE)
    edge.script.get_evolution_tree.answer = FamilyPage([PLAIN_FACT, FACT], [edge_], FACT_ID, 9)
    first = await edge.evolution.GetEvolutionTree(tree(fact_id=str(FACT_ID), page_size=2))
    assert [fact.fact_id for fact in first.facts] == [str(OTHER_ID), str(FACT_ID)]
    assert [(e.parent_id, e.child_id) for e in first.edges] == [(str(OTHER_ID), str(FACT_ID))]
    assert first.edges[0].evolution_type == enums_pb2.EVOLUTION_TYPE_MERGE
    assert first.total_size == 9
    edge.script.get_evolution_tree.answer = FamilyPage([], [], None, 9)
    last = await edge.evolution.GetEvolutionTree(
        tree(fact_id=str(FACT_ID), page_size=900, page_token=first.next_page_token)
    )
    assert last.next_page_token == ""
    assert [call[1:] for call in edge.script.get_evolution_tree.calls] == [
        (FACT_ID, None, 2),
        (FACT_ID, FACT_ID, 500),
    ]


async def test_a_history_is_paged_with_who_and_why(edge: Edge):
    history = evolution_service_pb2.ListFactVersionsRequest
    edge.script.list_fact_versions.answer = Page([VERSION], Cursor("1", FACT_ID), 3)
    first = await edge.evolution.ListFactVersions(history(fact_id=str(FACT_ID)))
    [version] = first.versions
    assert (version.actor, version.reason) == ("anna", "she moved")
    assert (version.change, version.fact.fact_id) == (enums_pb2.FACT_CHANGE_REVISED, str(FACT_ID))
    assert version.recorded_from.ToDatetime(UTC) == VERSION.recorded_from
    assert version.recorded_to.ToDatetime(UTC) == VERSION.recorded_to
    edge.script.list_fact_versions.answer = Page([], None, 3)
    await edge.evolution.ListFactVersions(history(fact_id=str(FACT_ID), page_token=first.next_page_token))
    assert edge.script.list_fact_versions.calls[1][1:] == (FACT_ID, Cursor("1", FACT_ID), 50)


async def test_a_token_of_another_fact_or_list_is_refused(edge: Edge):
    tree, history = evolution_service_pb2.GetEvolutionTreeRequest, evolution_service_pb2.ListFactVersionsRequest
    edge.script.get_evolution_tree.answer = FamilyPage([FACT], [], FACT_ID, 9)
    token = (await edge.evolution.GetEvolutionTree(tree(fact_id=str(FACT_ID)))).next_page_token
    for call in (
        edge.evolution.GetEvolutionTree(tree(fact_id=str(OTHER_ID), page_token=token)),
        edge.evolution.ListFactVersions(history(fact_id=str(FACT_ID), page_token=token)),
        edge.evolution.GetEvolutionTree(tree(fact_id=str(FACT_ID), page_token="x")),
    ):
        failed = await failure(call)
        assert (failed.code, failed.reasons, failed.fields) == (
            Code.INVALID_ARGUMENT,
            ("INVALID_PAGE_TOKEN",),
            ("page_token",),
        )
    failed = await failure(edge.evolution.GetEvolutionTree(tree(fact_id=str(FACT_ID), page_size=-1)))
    assert failed.fields == ("page_size",)


async def test_the_recorded_state_of_a_fact_that_was_erased_since_has_no_content(edge: Edge):
    blank = replace(FACT, text="", text_raw="", claim=None, tags=(), metadata={})
    edge.script.list_fact_versions.answer = Page([replace(VERSION, fact=blank)], None, 1)
    answer = await edge.evolution.ListFactVersions(
        evolution_service_pb2.ListFactVersionsRequest(fact_id=str(FACT_ID))
    )
    [version] = answer.versions
    assert not version.fact.subjects
    assert not version.fact.contents
    assert version.fact.fact_id == str(FACT_ID)


@pytest.mark.parametrize("paths", [["valid_to", "tags"], ["validTo", "tags"]])
async def test_an_update_reaches_the_use_case_with_the_names_of_its_mask(edge: Edge, paths):
    request = Update(
        fact_id=str(FACT_ID),
        update_mask=FieldMask(paths=paths),
        valid_to=Timestamp(seconds=1_735_689_600),
        tags=["a"],
        reason="left",
        etag='"7"',
    )
    response = await edge.evolution.UpdateFact(request)
    assert response.fact.fact_id == str(FACT_ID)
    _, fact_id, update, reason, etag, idempotency = edge.script.update_fact.calls[0]
    assert (fact_id, reason, etag, idempotency) == (FACT_ID, "left", '"7"', None)
    assert update.mask == {"valid_to", "tags"}
    assert (update.valid_to, update.tags) == (datetime(2025, 1, 1, tzinfo=UTC), ("a",))


async def test_a_mask_in_json_form_reaches_the_use_case_too(edge: Edge):
    request = json_format.ParseDict(
        {"fact_id": str(FACT_ID), "update_mask": "validTo,corroborationScore", "corroboration_score": 0.5},
        Update(),
    )
    await edge.evolution.UpdateFact(request)
    update = edge.script.update_fact.calls[0][2]
    assert update.mask == {"valid_to", "corroboration_score"}
    assert (update.valid_to, update.corroboration_score) == (None, 0.5)


async def test_every_bad_field_of_an_update_is_named(edge: Edge):
    request = Update(
        fact_id="x",
        update_mask=FieldMask(paths=["text", "tags", "corroboration_score"]),
        tags=[" "],
        corroboration_score=2,
        volatility=99,  # type: ignore[arg-type]
    )
    failed = await failure(edge.evolution.UpdateFact(request))
    assert set(failed.fields) == {"fact_id", "update_mask", "tags[0]", "corroboration_score", "volatility"}


async def test_a_withdrawal_reaches_the_use_case_and_tells_what_it_did(edge: Edge):
    edge.script.withdraw_source.answer = Withdrawal(3, (FACT_ID, OTHER_ID))
    response = await edge.reconcile.WithdrawSource(
        reconcile_service_pb2.WithdrawSourceRequest(external_id="doc-1", reason="made up")
    )
    assert response.affected_count == 3
    assert list(response.disputed_fact_ids) == [str(FACT_ID), str(OTHER_ID)]
    assert edge.script.withdraw_source.calls[0][1:] == (SourceName(external_id="doc-1"), "made up", None)


async def test_facts_are_read_by_their_ids(edge: Edge):
    unknown = UUID("019a0000-0000-7000-8000-0000000000ff")
    edge.script.batch_get_facts.answer = FoundFacts((FACT,), (unknown,))
    response = await edge.briefing.BatchGetFacts(
        briefing_service_pb2.BatchGetFactsRequest(
            fact_ids=[str(FACT_ID), str(unknown).upper()], recompute_confidence=True
        )
    )
    assert [fact.fact_id for fact in response.facts] == [str(FACT_ID)]
    assert list(response.missing_ids) == [str(unknown)]
    assert edge.script.batch_get_facts.calls[0][1:] == ((FACT_ID, unknown), True)


@pytest.mark.parametrize(
    ("fact_ids", "fields"),
    [([], ("fact_ids",)), (["x"], ("fact_ids[0]",)), ([str(FACT_ID)] * 501, ("fact_ids",))],
)
async def test_none_too_many_and_malformed_ids_are_refused(edge: Edge, fact_ids, fields):
    request = briefing_service_pb2.BatchGetFactsRequest(fact_ids=fact_ids)
    failed = await failure(edge.briefing.BatchGetFacts(request))
    assert set(failed.fields) == set(fields)


async def test_an_unspecified_volatility_that_is_named_is_cleared(edge: Edge):
    await edge.evolution.UpdateFact(Update(fact_id=str(FACT_ID), update_mask=FieldMask(paths=["volatility"])))
    assert edge.script.update_fact.calls[0][2].volatility is Volatility.STABLE
