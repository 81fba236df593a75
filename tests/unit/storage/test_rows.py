"""Facts, partitions and probabilities as rows."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from concord_server.domain.enums import ContentRelationship, EvidenceStance, FactType, SubjectRole, Trust
from concord_server.domain.judgement import Relation
from concord_server.domain.model import ContentLink, EntityRef, Evidence, Partition, Source
from concord_server.storage.check import vector_version
from concord_server.storage.decisions import probabilities_from_json, probabilities_to_json
from concord_server.storage.fact_rows import (
    evidence_content_digest,
    fact_values,
    link_values,
    source_identity_digest,
)
from concord_server.storage.fact_tables import STATE_COLUMNS
from concord_server.storage.partitions import partition_id_of

from tests.support.facts import a_claim, a_fact

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class TestPartitionIds:
    def test_equal_partitions_have_one_id(self) -> None:
        assert partition_id_of(Partition(domain="a")) == partition_id_of(Partition(domain="a"))

    @pytest.mark.parametrize(
        "other",
        [
            Partition(access_scope="x"),
            Partition(domain="x"),
            Partition(type=FactType.OPINION),
            Partition(owner_type="person", owner_id="ada"),
            Partition(owner_type="person", owner_id="bob"),
            Partition(access_scope="", domain='","x'),
        ],
    )
    def test_each_field_counts(self, other: Partition) -> None:
        assert partition_id_of(other) != partition_id_of(Partition())

    def test_text_does_not_slip_from_one_field_into_the_next(self) -> None:
        assert partition_id_of(Partition("ab", "c")) != partition_id_of(Partition("a", "bc"))

    def test_the_id_is_a_uuid_of_ones_own_making(self) -> None:
        made = partition_id_of(Partition())
        assert (made.version, made.variant) == (8, "specified in RFC 4122")

    def test_the_id_never_changes(self) -> None:
        # Stored partitions are found by it.
        assert partition_id_of(Partition("s", "d", FactType.EVENT, "t", "i")) == UUID(
            "659f7592-bb86-8e52-ade0-3eb0cbc04488"
        )


class TestFactValues:
    def test_every_column_has_a_value(self) -> None:
        values = fact_values(a_fact(), uuid4())
        assert set(values) == {*STATE_COLUMNS, "fact_id", "version"}

    def test_a_fact_without_a_claim_leaves_its_columns_null(self) -> None:
        values = fact_values(a_fact(), uuid4())
        claim = ("claim_subject", "predicate", "claim_value", "qualifiers", "cardinality")
        assert [values[name] for name in claim] == [None] * 5

    def test_a_claim_is_spread_over_its_columns(self) -> None:
        values = fact_values(a_fact(claim=a_claim([1, "two"], qualifiers={"at": "work"})), uuid4())
        assert values["claim_value"] == [1, "two"]
        assert values["qualifiers"] == {"at": "work"}
        assert values["cardinality"] == "SINGLE"

    def test_trust_is_stored_by_name(self) -> None:
        assert fact_values(a_fact(trust=Trust.THIRD_PARTY), uuid4())["trust"] == "THIRD_PARTY"

    def test_links_keep_their_order_and_lose_their_repeats(self) -> None:
        parent = uuid4()
        fact = a_fact(
            subjects=(EntityRef("person", "b"), EntityRef("person", "a"), EntityRef("person", "b")),
            contents=(ContentLink("doc", ContentRelationship.SUPPORTS),),
            tags=("z", "a", "z"),
            parent_ids=(parent,),
        )
        assert link_values(fact) == {
            "subjects": [
                {"type": "person", "id": "b", "role": "SUBJECT"},
                {"type": "person", "id": "a", "role": "SUBJECT"},
            ],
            "contents": [{"id": "doc", "relationship": "SUPPORTS"}],
            "tags": ["z", "a"],
            "parents": [str(parent)],
        }

    def test_one_entity_in_two_roles_is_two_links(self) -> None:
        roles = (SubjectRole.SUBJECT, SubjectRole.OBJECT)
        fact = a_fact(subjects=tuple(EntityRef("person", "a", role) for role in roles))
        assert [link["role"] for link in link_values(fact)["subjects"]] == ["SUBJECT", "OBJECT"]


def a_source() -> Source:
    return Source(uuid4(), uuid4(), "web", "https://e.org", "T", "x1", 0.5, NOW, Trust.TRUSTED, {}, NOW)


class TestIdentity:
    def test_the_external_id_alone_identifies_a_source_that_has_one(self) -> None:
        source = a_source()
        other = replace(source, url="https://other.org", title="U", source_type="book")
        assert source_identity_digest(source) == source_identity_digest(other)
        assert source_identity_digest(source) != source_identity_digest(replace(source, external_id="x2"))

    def test_else_the_url_does(self) -> None:
        source = replace(a_source(), external_id="")
        assert source_identity_digest(source) == source_identity_digest(replace(source, title="U"))
        assert source_identity_digest(source) != source_identity_digest(replace(source, url="https://f.org"))

    def test_what_came_with_another_source_is_another_piece_of_evidence(self) -> None:
        piece = Evidence(uuid4(), uuid4(), uuid4(), EvidenceStance.SUPPORTS, "q", "", "", "", 0.5, "", NOW)
        again = replace(piece, evidence_id=uuid4(), create_time=NOW.replace(year=2027))
        assert evidence_content_digest(piece) == evidence_content_digest(again)
        for change in ({"source_id": uuid4()}, {"stance": EvidenceStance.UNCLEAR}, {"quote": "r"}):
            assert evidence_content_digest(piece) != evidence_content_digest(replace(piece, **change))


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0, math.inf, -math.inf])
def test_probabilities_survive_json(value: float) -> None:
    document = json.dumps(probabilities_to_json({Relation.SAME: value}), allow_nan=False)
    assert probabilities_from_json(json.loads(document)) == {Relation.SAME: value}


def test_a_judges_nan_survives_json() -> None:
    document = json.dumps(probabilities_to_json({Relation.SAME: math.nan}), allow_nan=False)
    assert math.isnan(probabilities_from_json(json.loads(document))[Relation.SAME])


@pytest.mark.parametrize(
    ("text", "version"), [("0.8.0", (0, 8, 0)), ("0.10", (0, 10)), ("0.8.1-rc1", (0, 8, 1)), ("1.0", (1, 0))]
)
def test_extension_versions_compare_as_numbers(text: str, version: tuple[int, ...]) -> None:
    assert vector_version(text) == version
    assert vector_version(text) >= (0, 8)
