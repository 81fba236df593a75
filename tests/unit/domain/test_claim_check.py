"""Whether the ledger supports a statement."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from concord_server.domain.choice import Hit
from concord_server.domain.claim_check import JudgedFact, check_judged, check_slot, rendered
from concord_server.domain.enums import Cardinality, ClaimSupport, FactStatus, Volatility
from concord_server.domain.judgement import Discrepancy, Judgement, Relation
from concord_server.domain.model import Claim, Fact, Thresholds
from concord_server.domain.values import Json

from tests.support.facts import a_claim, a_fact
from tests.unit.domain.builders import at

NOW = at(10)
CONFLICT = UUID(int=7)
SUPPORTED, UNSUPPORTED, CONTRADICTED, NEEDS_REVIEW = ClaimSupport


def known(value: Json, **fields: Any) -> Fact:
    return a_fact(**{"claim": a_claim(value), "create_time": at(1)} | fields)


def slot(value: Json, *facts: Fact, cardinality: Cardinality = Cardinality.SINGLE) -> ClaimSupport | None:
    check = check_slot(a_claim(value, cardinality=cardinality), facts, NOW)
    return check.support if check else None


def judged(relation: Relation, probability: float = 0.8, *, similarity: float = 0.9, **fields: Any) -> JudgedFact:
    discrepancies = fields.pop("discrepancies", ())
    rest = (1 - probability) / (len(Relation) - 1)
    probabilities = {each: probability if each is relation else rest for each in Relation}
    return JudgedFact(a_fact(**fields), Hit(similarity, Judgement(probabilities, discrepancies, "because")))


def judge(*found: JudgedFact) -> ClaimSupport:
    return check_judged(found, Thresholds()).support


def test_the_value_that_holds_decides():
    assert slot("Blue ", known("blue")) is SUPPORTED
    assert slot("red", known("blue")) is CONTRADICTED
    assert slot("red") is None


@pytest.mark.parametrize(
    "fields",
    [
        {"status": FactStatus.SUPERSEDED},
        {"status": FactStatus.RETRACTED},
        {"status": FactStatus.ARCHIVED},
        {"status": FactStatus.PENDING},
        {"status": FactStatus.DISPUTED, "off_timeline": True},
        {"valid_to": at(5)},
        {"valid_from": at(11)},
        {"volatility": Volatility.EPHEMERAL, "last_reinforce_time": at(1)},
    ],
)
def test_what_does_not_hold_now_says_nothing(fields):
    assert slot("blue", known("blue", **fields)) is None
    assert slot("red", known("blue", **fields)) is None


def test_what_is_in_dispute_needs_review():
    members = (
        known("blue", conflict_id=CONFLICT),
        known("red", conflict_id=CONFLICT, status=FactStatus.PENDING),
    )
    check = check_slot(a_claim("red"), members, NOW)
    assert check is not None
    assert (check.support, check.supporting, check.contradicting) == (NEEDS_REVIEW, members[1:], members[:1])
    assert slot("blue", known("blue", status=FactStatus.DISPUTED)) is NEEDS_REVIEW


def test_partitions_that_disagree_need_review():
    assert slot("blue", known("blue"), known("red")) is NEEDS_REVIEW
    assert slot("blue", known("blue"), known("blue")) is SUPPORTED


def test_one_of_several_values_contradicts_no_other():
    assert slot("red", known("blue"), cardinality=Cardinality.MULTI) is None
    assert slot("blue", known("blue"), known("red"), cardinality=Cardinality.MULTI) is SUPPORTED


def test_an_object_supports_its_parts():
    whole = known({"city": "Porto", "zip": 4000})
    assert slot({"city": "porto"}, whole) is SUPPORTED
    assert slot({"city": "Lisbon"}, whole) is CONTRADICTED
    assert slot({"city": "Porto", "street": "x"}, whole) is NEEDS_REVIEW
    assert slot({"city": "Lisbon", "street": "x"}, whole) is CONTRADICTED


def test_the_judge_must_say_same():
    assert judge(judged(Relation.SAME)) is SUPPORTED
    assert judge(judged(Relation.SAME, 0.4)) is SUPPORTED
    assert judge(judged(Relation.SAME, 0.4, similarity=0.7)) is NEEDS_REVIEW
    assert judge(judged(Relation.SAME, discrepancies=(Discrepancy.NUMBER,))) is NEEDS_REVIEW


@pytest.mark.parametrize("relation", [r for r in Relation if r is not Relation.SAME])
def test_similarity_alone_supports_nothing(relation):
    assert judge(judged(relation, similarity=1.0)) is not SUPPORTED


def test_a_certain_contradiction_contradicts_unless_it_is_about_someone_else():
    for relation in (Relation.CONTRADICTION, Relation.CORRECTION):
        assert judge(judged(relation)) is CONTRADICTED
        assert judge(judged(relation, 0.6)) is NEEDS_REVIEW
        assert judge(judged(relation, discrepancies=(Discrepancy.ENTITY,))) is UNSUPPORTED


def test_more_than_is_known_needs_review_and_what_is_beside_it_is_unsupported():
    assert judge(judged(Relation.REFINEMENT)) is NEEDS_REVIEW
    assert judge(judged(Relation.EXTENSION), judged(Relation.DISTINCT)) is UNSUPPORTED
    assert judge() is UNSUPPORTED


def test_inconsistent_probabilities_decide_nothing():
    broken = JudgedFact(a_fact(), Hit(1.0, Judgement({Relation.SAME: float("nan")})))
    assert judge(broken) is NEEDS_REVIEW


def test_facts_that_disagree_or_are_in_dispute_need_review():
    assert judge(judged(Relation.SAME), judged(Relation.CONTRADICTION)) is NEEDS_REVIEW
    assert judge(judged(Relation.SAME, conflict_id=CONFLICT)) is NEEDS_REVIEW
    assert judge(judged(Relation.SAME, conflict_id=CONFLICT), judged(Relation.SAME)) is SUPPORTED
    assert judge(judged(Relation.CONTRADICTION, conflict_id=CONFLICT)) is NEEDS_REVIEW


def test_every_fact_that_says_so_is_named():
    first, second, other = judged(Relation.SAME), judged(Relation.SAME), judged(Relation.EXTENSION)
    check = check_judged([first, other, second], Thresholds())
    assert check.supporting == (first.fact, second.fact)
    assert (check.contradicting, check.rationale) == ((), "because")


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (Claim("Lena", "shoe_size", 39), "Lena shoe size 39"),
        (
            Claim("Lena", "employer", "Acme", {"since": 2020, "as": "clerk"}),
            "Lena employer Acme as clerk since 2020",
        ),
        (Claim("u1", "address", {"city": "Porto"}), 'u1 address {"city": "Porto"}'),
        (Claim("u1", "is_member", True), "u1 is member true"),
    ],
)
def test_a_claim_is_put_in_plain_words(claim, text):
    assert rendered(claim) == text
