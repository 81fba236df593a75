from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from concord.v1 import briefing_service_pb2 as pb
from concord.v1 import enums_pb2, resources_pb2
from concord_server.domain.commands import ClaimInput
from concord_server.domain.entities import EntityOrder
from concord_server.domain.enums import FactStatus, FactType, SubjectRole
from concord_server.domain.model import EntityRef
from concord_server.domain.queries import Cursor, FactFilter, Page
from concord_server.domain.search import SearchQuery
from concord_server.services.briefing import BriefingQuery
from concord_server.services.check_claim import ClaimQuestion
from concord_server.services.context import CallContext, Replay
from concord_server.services.entities import LinkChange
from concord_server.services.merge_entities import EntityMerge, MergeReceipt
from google.protobuf.struct_pb2 import Value

from tests.contract.briefing_values import BRIEFING
from tests.contract.ledger_values import CONFLICT, CONFLICT_ID, FACT, FACT_ID, NOW, OTHER_ID
from tests.contract.scripted import Edge, failure

REQUEST_ID = "0b9c7f0e-63a5-4d6c-9d7b-2f3f5a1c0001"
CALLER = CallContext("default")
CURSOR = Cursor("x", OTHER_ID)
_UNKNOWN: Any = 99


async def test_a_search_goes_to_its_use_case_and_comes_back(edge: Edge):
    response = await edge.briefing.SearchFacts(
        pb.SearchFactsRequest(
            query="port 6543",
            domain="ops",
            access_scope="",
            entity=resources_pb2.EntityRef(
                entity_type="Host", entity_id="db", role=enums_pb2.SUBJECT_ROLE_LOCATION
            ),
            min_similarity=0.25,
            include_superseded=True,
        )
    )
    [result] = response.results
    assert (result.fact.fact_id, result.similarity, result.text_rank, result.score) == (
        str(FACT_ID), 0.5, 0.25, 0.03125,
    )  # fmt: skip
    where = FactFilter(
        domain="ops",
        access_scope="",
        entity=EntityRef("Host", "db", SubjectRole.LOCATION),
        roles=(SubjectRole.LOCATION,),
    )
    query = SearchQuery("port 6543", where, top_k=10, min_similarity=0.25, include_superseded=True)
    assert edge.script.briefing.search_facts.calls == [(CALLER, query)]


@pytest.mark.parametrize(("asked", "given"), [(0, 10), (1, 1), (100, 100), (101, 100)])
async def test_a_search_returns_ten_unless_asked_otherwise_and_a_hundred_at_most(edge: Edge, asked, given):
    await edge.briefing.SearchFacts(pb.SearchFactsRequest(query="x", top_k=asked))
    [(_, query)] = edge.script.briefing.search_facts.calls
    assert query.top_k == given


async def test_every_bad_field_of_a_search_is_named(edge: Edge):
    failed = await failure(
        edge.briefing.SearchFacts(pb.SearchFactsRequest(query="?!", top_k=-1, min_similarity=2, predicate="!"))
    )
    assert set(failed.fields) == {"query", "top_k", "min_similarity", "predicate"}
    assert edge.script.briefing.search_facts.calls == []


async def test_a_briefing_goes_to_its_use_case_and_comes_back(edge: Edge):
    edge.script.briefing.get_entity_briefing.answer = replace(BRIEFING, facts=Page([FACT], CURSOR, 3))
    request = pb.GetEntityBriefingRequest(
        entity_type="Person",
        entity_id="old-ada",
        statuses=[enums_pb2.FACT_STATUS_ACTIVE],
        types=[enums_pb2.FACT_TYPE_EVENT],
        roles=[enums_pb2.SUBJECT_ROLE_OBJECT],
        page_size=1,
        max_tokens=99,
        include_conflicted=True,
    )
    response = await edge.briefing.GetEntityBriefing(request)
    assert (response.entity_type, response.entity_id) == ("Person", "ada")
    assert [fact.fact_id for fact in response.facts] == [str(FACT_ID)]
    assert response.total_count == 3
    assert dict(response.by_type) == {"FACT_TYPE_MEASUREMENT": 3}
    assert dict(response.by_status) == {"FACT_STATUS_ACTIVE": 2, "FACT_STATUS_DISPUTED": 1}
    assert [conflict.conflict_id for conflict in response.open_conflicts] == [str(CONFLICT_ID)]
    assert response.markdown == "# ada (Person)"
    assert response.generate_time.ToDatetime(NOW.tzinfo) == NOW
    where = FactFilter(types=(FactType.EVENT,), statuses=(FactStatus.ACTIVE,), roles=(SubjectRole.OBJECT,))
    query = BriefingQuery(EntityRef("Person", "old-ada"), where, include_conflicted=True, max_tokens=99)
    assert edge.script.briefing.get_entity_briefing.calls == [(CALLER, query, None, 1)]
    request.page_token = response.next_page_token
    await edge.briefing.GetEntityBriefing(request)
    assert edge.script.briefing.get_entity_briefing.calls[1] == (CALLER, query, CURSOR, 1)
    request.domain = "other"
    failed = await failure(edge.briefing.GetEntityBriefing(request))
    assert failed.reasons == ("INVALID_PAGE_TOKEN",)


async def test_every_bad_field_of_a_briefing_is_named(edge: Edge):
    failed = await failure(
        edge.briefing.GetEntityBriefing(
            pb.GetEntityBriefingRequest(
                entity_id="x" * 257, roles=[_UNKNOWN], max_tokens=-1, page_size=-1, page_token="?"
            )
        )
    )
    assert set(failed.fields) == {"entity_type", "entity_id", "roles[0]", "max_tokens", "page_size", "page_token"}


async def test_ranked_facts_come_with_the_parts_of_their_scores(edge: Edge):
    response = await edge.briefing.ListNoteworthyFacts(pb.ListNoteworthyFactsRequest(include_conflicted=True))
    [ranked] = response.results
    assert (ranked.confidence_part, ranked.source_part, ranked.recency_part) == (0.375, 0.0625, 0.125)
    assert ranked.score == 0.5625
    assert response.total_size == 1
    calls = edge.script.briefing.list_noteworthy_facts.calls
    assert calls == [(CALLER, FactFilter(), None, 50, True)]


async def test_a_check_goes_to_its_use_case_and_comes_back(edge: Edge):
    claim = resources_pb2.Claim(subject="Lena", predicate="employer", value=Value(string_value="Acme"))
    owner = resources_pb2.EntityRef(entity_type="Person", entity_id="lena")
    response = await edge.briefing.CheckClaim(pb.CheckClaimRequest(claim=claim, owner=owner))
    assert response.support == enums_pb2.CLAIM_SUPPORT_CONTRADICTED
    assert [fact.fact_id for fact in response.contradicting] == [str(FACT_ID)]
    assert response.rationale == "another value holds"
    question = ClaimQuestion(
        claim=ClaimInput("Lena", "employer", "Acme"), where=FactFilter(owner=EntityRef("Person", "lena"))
    )
    assert edge.script.briefing.check_claim.calls == [(CALLER, question)]


async def test_a_check_of_nothing_and_a_malformed_claim_are_refused(edge: Edge):
    assert (await failure(edge.briefing.CheckClaim(pb.CheckClaimRequest()))).fields == ("text",)
    nothing = pb.CheckClaimRequest(claim=resources_pb2.Claim(), domain="\n")
    failed = await failure(edge.briefing.CheckClaim(nothing))
    assert set(failed.fields) == {"claim.subject", "claim.predicate", "claim.value", "domain"}


async def test_entities_are_listed_in_the_order_asked_for(edge: Edge):
    response = await edge.briefing.ListEntities(
        pb.ListEntitiesRequest(entity_type="Person", order_by="fact_count  desc")
    )
    [entity] = response.entities
    assert (entity.entity_type, entity.entity_id, entity.fact_count) == ("Person", "ada", 3)
    await edge.briefing.ListEntities(pb.ListEntitiesRequest())
    assert edge.script.briefing.list_entities.calls == [
        (CALLER, "Person", EntityOrder.MOST_FACTS, None, 50),
        (CALLER, "", EntityOrder.NEWEST, None, 50),
    ]
    failed = await failure(edge.briefing.ListEntities(pb.ListEntitiesRequest(order_by="fact_count")))
    assert failed.fields == ("order_by",)


async def test_links_are_made_and_removed(edge: Edge):
    links = edge.script.briefing.change_links
    linked = await edge.briefing.LinkEntity(
        pb.LinkEntityRequest(
            fact_id=str(FACT_ID),
            entity_type="Person",
            entity_id="ada",
            role=enums_pb2.SUBJECT_ROLE_SOURCE,
            etag="e",
        )
    )
    assert linked.fact.fact_id == str(FACT_ID)
    change = LinkChange(FACT_ID, ("Person", "ada"), SubjectRole.SOURCE, "e")
    assert links.linking.calls == [(CALLER, change, None)]
    await edge.briefing.UnlinkEntity(
        pb.UnlinkEntityRequest(fact_id=str(FACT_ID), entity_type="Person", entity_id="ada")
    )
    assert links.unlinking.calls == [(CALLER, LinkChange(FACT_ID, ("Person", "ada"), None), None)]
    failed = await failure(edge.briefing.LinkEntity(pb.LinkEntityRequest(request_id="x")))
    assert set(failed.fields) == {"fact_id", "entity_type", "entity_id", "request_id"}


async def test_entities_are_merged_once_for_a_request_id(edge: Edge):
    request = pb.MergeEntitiesRequest(
        entity_type="Person", from_id="a", into_id="b", reason="same", request_id=REQUEST_ID
    )
    response = await edge.briefing.MergeEntities(request)
    assert response.moved_count == 2
    assert [conflict.conflict_id for conflict in response.conflicts] == [str(CONFLICT_ID)]
    [(caller, merge, idempotency)] = edge.script.briefing.merge_entities.calls
    assert (caller, merge) == (CALLER, EntityMerge("Person", "a", "b", "same"))
    assert idempotency.request_id == UUID(REQUEST_ID)
    assert pb.MergeEntitiesResponse.FromString(idempotency.encode(MergeReceipt(2, (CONFLICT,)))) == response
    stored = pb.MergeEntitiesResponse(moved_count=7)
    edge.script.briefing.merge_entities.answer = Replay(stored.SerializeToString())
    assert await edge.briefing.MergeEntities(request) == stored


async def test_an_entity_is_not_merged_into_itself(edge: Edge):
    failed = await failure(
        edge.briefing.MergeEntities(pb.MergeEntitiesRequest(entity_type="Person", from_id="a", into_id="a"))
    )
    assert failed.fields == ("into_id",)


async def test_a_list_gives_confidence_as_of_now_when_asked(edge: Edge):
    edge.script.briefing.recompute_confidence.answer = [replace(FACT, confidence=0.125)]
    response = await edge.briefing.ListFacts(pb.ListFactsRequest(recompute_confidence=True))
    assert [fact.confidence for fact in response.facts] == [0.125]
    assert edge.script.briefing.recompute_confidence.calls == [(CALLER, [FACT])]
    await edge.briefing.ListFacts(pb.ListFactsRequest())
    assert len(edge.script.briefing.recompute_confidence.calls) == 1
