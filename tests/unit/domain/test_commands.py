"""Whether a statement can be asked for: every bad field is named, once (semantics, section 2, step 1)."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest
from concord_server.domain.commands import (
    MAX_LINKS,
    MAX_TAGS,
    MAX_URL,
    ClaimInput,
    ReconcileCommand,
    ThresholdOverrides,
    Violations,
    validate_reconcile,
)
from concord_server.domain.enums import Cardinality, FactType, Trust
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.model import ContentLink, EntityRef, EvidenceInput, SourceInput, Thresholds
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.builders import at

NOW = at(100)
FINE = ReconcileCommand(text="Alice lives in Paris")
CLAIM = ClaimInput("Alice", "city", "Paris")


def violations(command: ReconcileCommand, base: Thresholds | None = None) -> list[tuple[str, str]]:
    found = Violations()
    validate_reconcile(command, base or Thresholds(), NOW, found)
    try:
        found.raise_if_any()
    except InvalidFieldsError as error:
        return [(v.field, v.description) for v in error.violations]
    return []


def fields(command: ReconcileCommand) -> list[str]:
    return [name for name, _ in violations(command)]


ALL_FINE = replace(
    FINE,
    type=FactType.RELATIONSHIP,
    domain="people",
    access_scope="team a",
    owner=EntityRef("Person", "alice"),
    claim=replace(CLAIM, value={"city": ["Paris", 1, None]}, qualifiers={"since": 2020}),
    source=SourceInput(source_type="web", url="https://a.example", credibility=1.0),
    evidence=(EvidenceInput(quote="q" * 4000, confidence=1.0),),
    subjects=(EntityRef("Person", "alice"),),
    contents=(ContentLink("c"),),
    tags=("t",),
    observe_time=NOW + timedelta(minutes=5),
    valid_from=NOW + timedelta(days=9),
    valid_to=NOW + timedelta(days=10),
    thresholds=ThresholdOverrides(similarity=0.5, conflict=0.5, merge_probability=0.0),
    corroboration_score=1.0,
    metadata={"any": ["thing"]},
)


@pytest.mark.parametrize("command", [FINE, ALL_FINE])
def test_what_is_fine_is_not_refused(command):
    assert violations(command) == []


BAD = [
    ("text", {"text": ""}),
    ("text", {"text": "  "}),
    ("text", {"text": "a" * 8193}),
    ("text", {"text": "a\x00"}),
    ("text", {"text": "\ud800"}),
    ("text", {"text": "?!"}),
    ("domain", {"domain": " "}),
    ("domain", {"domain": "d" * 257}),
    ("access_scope", {"access_scope": " "}),
    ("access_scope", {"access_scope": "a\nb"}),
    ("access_scope", {"access_scope": "a\ud800"}),
    ("access_scope", {"access_scope": "s" * 257}),
    ("owner.entity_type", {"owner": EntityRef("", "x")}),
    ("owner.entity_type", {"owner": EntityRef("t" * 65, "x")}),
    ("owner.entity_id", {"owner": EntityRef("T", " ")}),
    ("owner.entity_id", {"owner": EntityRef("T", "i" * 257)}),
    ("owner.entity_id", {"owner": EntityRef("T", "a\x00")}),
    ("claim.subject", {"claim": replace(CLAIM, subject="")}),
    ("claim.subject", {"claim": replace(CLAIM, subject=" \t")}),
    ("claim.subject", {"claim": replace(CLAIM, subject="s" * 257)}),
    ("claim.subject", {"claim": replace(CLAIM, subject="a\x00")}),
    ("claim.predicate", {"claim": replace(CLAIM, predicate="")}),
    ("claim.predicate", {"claim": replace(CLAIM, predicate="...")}),
    ("claim.predicate", {"claim": replace(CLAIM, predicate="p" * 129)}),
    ("claim.predicate", {"claim": replace(CLAIM, predicate="a\x00b")}),
    ("claim.predicate", {"claim": replace(CLAIM, predicate="a\ud800b")}),
    ("claim.predicate", {"claim": replace(CLAIM, predicate="\u0301")}),
    ("claim.value", {"claim": replace(CLAIM, value=None)}),
    ("claim.value", {"claim": replace(CLAIM, value=math.nan)}),
    ("claim.value", {"claim": replace(CLAIM, value=2**53 + 1)}),
    ("claim.value", {"claim": replace(CLAIM, value=["a\x00", math.inf])}),
    ("claim.qualifiers", {"claim": replace(CLAIM, qualifiers={"q": math.inf, "r": math.nan})}),
    ("claim.qualifiers", {"claim": replace(CLAIM, qualifiers={"a\x00": 1})}),
    ("source", {"source": SourceInput()}),
    ("source.credibility", {"source": SourceInput(url="u", credibility=1.01)}),
    ("source.credibility", {"source": SourceInput(url="u", credibility=-0.01)}),
    ("source.credibility", {"source": SourceInput(url="u", credibility=math.nan)}),
    ("source.url", {"source": SourceInput(url="u" * (MAX_URL + 1))}),
    ("source.url", {"source": SourceInput(url=" ")}),
    ("source.external_id", {"source": SourceInput(external_id="a\x00")}),
    ("source.title", {"source": SourceInput(title="a\ud800")}),
    ("source.source_type", {"source": SourceInput(source_type="a\x00")}),
    ("source.metadata", {"source": SourceInput(url="u", metadata={"m": math.nan})}),
    ("evidence[1].quote", {"evidence": (EvidenceInput(), EvidenceInput(quote="\x00" + "q" * 4000))}),
    ("evidence[0].confidence", {"evidence": (EvidenceInput(confidence=1.5),)}),
    ("evidence[0].confidence", {"evidence": (EvidenceInput(confidence=math.nan),)}),
    ("evidence[0].locator", {"evidence": (EvidenceInput(locator="\x00"),)}),
    ("evidence[0].source_kind", {"evidence": (EvidenceInput(source_kind="\x00"),)}),
    ("evidence[0].source_ref", {"evidence": (EvidenceInput(source_ref="\ud800"),)}),
    ("evidence[0].extraction_method", {"evidence": (EvidenceInput(extraction_method="\x00"),)}),
    ("subjects[1].entity_id", {"subjects": (EntityRef("T", "a"), EntityRef("T", ""))}),
    ("subjects[0].entity_type", {"subjects": (EntityRef(" ", "a"),)}),
    ("contents[0].content_id", {"contents": (ContentLink(""),)}),
    ("contents[0].content_id", {"contents": (ContentLink("  "),)}),
    ("contents[0].content_id", {"contents": (ContentLink("c" * 257),)}),
    ("tags[1]", {"tags": ("a", "")}),
    ("tags[0]", {"tags": (" ",)}),
    ("tags[0]", {"tags": ("t" * 257,)}),
    ("tags", {"tags": ("t",) * (MAX_TAGS + 1)}),
    ("subjects", {"subjects": (EntityRef("T", "a"),) * (MAX_LINKS + 1)}),
    ("contents", {"contents": (ContentLink("c"),) * (MAX_LINKS + 1)}),
    ("evidence", {"evidence": (EvidenceInput(),) * (MAX_LINKS + 1)}),
    ("observe_time", {"observe_time": NOW + timedelta(minutes=5, microseconds=1)}),
    ("valid_to", {"valid_from": at(9), "valid_to": at(8)}),
    ("valid_to", {"valid_from": at(9), "valid_to": at(9)}),
    ("valid_to", {"observe_time": at(9), "valid_to": at(8)}),
    ("valid_to", {"valid_to": at(99)}),
    ("similarity_threshold", {"thresholds": ThresholdOverrides(similarity=1.5)}),
    ("similarity_threshold", {"thresholds": ThresholdOverrides(similarity=-0.1)}),
    ("similarity_threshold", {"thresholds": ThresholdOverrides(similarity=math.nan)}),
    ("similarity_threshold", {"thresholds": ThresholdOverrides(similarity=0.5)}),
    ("similarity_threshold", {"thresholds": ThresholdOverrides(similarity=-0.1, conflict=0.3)}),
    ("conflict_threshold", {"thresholds": ThresholdOverrides(conflict=1.5)}),
    ("conflict_threshold", {"thresholds": ThresholdOverrides(conflict=math.inf)}),
    ("conflict_threshold", {"thresholds": ThresholdOverrides(conflict=0.9)}),
    ("conflict_threshold", {"thresholds": ThresholdOverrides(similarity=0.5, conflict=0.51)}),
    ("merge_probability_threshold", {"thresholds": ThresholdOverrides(merge_probability=1.1)}),
    ("merge_probability_threshold", {"thresholds": ThresholdOverrides(merge_probability=math.nan)}),
    ("corroboration_score", {"corroboration_score": 1.1}),
    ("corroboration_score", {"corroboration_score": math.nan}),
    ("metadata", {"metadata": {"m": math.inf, "n": "\x00"}}),
]


@pytest.mark.parametrize(("field", "changes"), BAD, ids=[f"{n}-{field}" for n, (field, _) in enumerate(BAD)])
def test_a_bad_field_is_named_once_and_alone(field, changes):
    assert fields(replace(FINE, **changes)) == [field]


def test_every_bad_field_is_named():
    bad = replace(
        FINE,
        text="",
        access_scope=" ",
        claim=ClaimInput("", "", None),
        source=SourceInput(url="u", credibility=5),
        tags=("", ""),
        corroboration_score=2.0,
        observe_time=NOW + timedelta(days=1),
    )
    assert sorted(fields(bad)) == [
        "access_scope",
        "claim.predicate",
        "claim.subject",
        "claim.value",
        "corroboration_score",
        "observe_time",
        "source.credibility",
        "tags[0]",
        "tags[1]",
        "text",
    ]


@given(
    st.builds(
        ReconcileCommand,
        text=st.text(max_size=3),
        domain=st.text(max_size=3),
        access_scope=st.text(max_size=3),
        claim=st.builds(ClaimInput, st.text(max_size=3), st.text(max_size=3), st.none() | st.floats()),
        source=st.builds(SourceInput, url=st.text(max_size=3), credibility=st.none() | st.floats()),
        tags=st.lists(st.text(max_size=2), max_size=3).map(tuple),
        thresholds=st.builds(
            ThresholdOverrides, st.none() | st.floats(), st.none() | st.floats(), st.none() | st.floats()
        ),
    )
)
def test_no_field_is_named_twice(command):
    named = fields(command)
    assert len(named) == len(set(named))


def test_an_occurrence_may_end_when_it_begins():
    assert fields(replace(FINE, type=FactType.EVENT, valid_from=at(9), valid_to=at(9))) == []
    assert fields(replace(FINE, type=FactType.EVENT, valid_from=at(9), valid_to=at(8))) == ["valid_to"]


def test_thresholds_are_checked_against_those_of_the_project():
    strict = Thresholds(similarity=0.95, conflict=0.9)
    assert violations(replace(FINE, thresholds=ThresholdOverrides(conflict=0.94)), strict) == []
    [(field, _)] = violations(replace(FINE, thresholds=ThresholdOverrides(similarity=0.89)), strict)
    assert field == "similarity_threshold"


def test_overrides_leave_the_rest_to_the_project():
    base = Thresholds(similarity=0.9, conflict=0.5, merge_probability=0.8, supersede_probability=0.7)
    assert ThresholdOverrides().over(base) == base
    assert ThresholdOverrides(similarity=0.0).over(base) == replace(base, similarity=0.0)
    assert ThresholdOverrides(0.6, 0.4, 0.3).over(base) == Thresholds(0.6, 0.4, 0.3, 0.7)


def test_a_claim_is_normalised_and_its_value_kept_as_given():
    claim = ClaimInput(" Alice ", "favoriteColor", " Blue ", {"q": 1}).normalised()
    assert (claim.subject, claim.predicate, claim.value) == ("Alice", "favorite_color", " Blue ")
    assert claim.cardinality is Cardinality.SINGLE
    assert ClaimInput("s", "p", 1, cardinality=Cardinality.MULTI).normalised().cardinality is Cardinality.MULTI


def test_the_partition_is_of_scope_domain_type_and_owner():
    partition = replace(FINE, access_scope="s", domain="d", owner=EntityRef("T", "i")).partition
    assert (partition.access_scope, partition.domain, partition.type) == ("s", "d", FactType.ASSERTION)
    assert partition.owner == EntityRef("T", "i")
    assert FINE.partition.owner is None


def test_trust_is_that_of_the_source():
    assert FINE.trust is Trust.TRUSTED
    assert replace(FINE, source=SourceInput(url="u", trust=Trust.UNTRUSTED)).trust is Trust.UNTRUSTED
