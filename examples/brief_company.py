"""Tells the ledger about a company, then prints the briefing of docs/briefing.md.

python examples/brief_company.py [HOST:PORT]
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from concord import (
    Claim,
    Client,
    ContradictionPolicy,
    EntityRef,
    FactStatus,
    FactType,
    JsonValue,
    SourceInput,
    Statement,
    SubjectRole,
    Volatility,
)

GLOBEX = EntityRef("Company", "globex")
HOOLI = EntityRef("Company", "hooli", SubjectRole.OBJECT)


def day(text: str) -> datetime:
    """Returns the beginning of a day in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def said(text: str, when: str, source: str, credibility: float) -> Statement:
    """Returns a statement about the company without a claim."""
    origin = SourceInput(source_type="document", title=source, credibility=credibility, extract_time=day(when))
    return Statement(text, subjects=[GLOBEX], observe_time=day(when), source=origin)


def claimed(text: str, predicate: str, value: JsonValue, when: str, source: str, credibility: float) -> Statement:
    """Returns a statement about the company with a claim, which replaces an older value."""
    origin = SourceInput(source_type="document", title=source, credibility=credibility, extract_time=day(when))
    claim = Claim(subject="globex", predicate=predicate, value=value)
    return Statement(text, claim=claim, subjects=[GLOBEX], observe_time=day(when), source=origin)


STATEMENTS = [
    said("Globex makes gas turbines", "2024-02-03", "Annual report 2023", 0.9),
    said("Globex makes gas turbines", "2025-02-05", "Annual report 2024", 0.9),
    claimed(
        "Globex has its head office in Turin", "head_office", "Turin", "2024-02-03", "Annual report 2023", 0.9
    ),
    claimed("Globex has its head office in Genoa", "head_office", "Genoa", "2026-11-16", "Press release", 0.8),
    claimed("Globex employs 900 people", "employees", 900, "2025-02-05", "Annual report 2024", 0.9),
    claimed("Globex employs 950 people", "employees", 950, "2026-02-06", "Annual report 2025", 0.9),
    claimed("Globex invoices in French", "invoice_language", "fr", "2026-03-02", "Contract 4411", 0.9),
]


def main(target: str = "127.0.0.1:50051", project: str = "globex") -> None:
    """Fills a project and prints what is known."""
    rival = Statement(
        "Globex invoices in English",
        claim=Claim(subject="globex", predicate="invoice_language", value="en"),
        subjects=[GLOBEX],
        observe_time=day("2026-11-20"),
        source=SourceInput(source_type="email", title="Email from sales", credibility=0.4),
        contradiction_policy=ContradictionPolicy.CONFLICT,
    )
    terms = Statement(
        "Globex pays its suppliers within 30 days",
        subjects=[GLOBEX],
        observe_time=day("2025-06-01"),
        volatility=Volatility.SLOW,
    )
    merger = Statement("Globex will merge with Hooli in 2027", type=FactType.PREDICTION, subjects=[GLOBEX, HOOLI])
    with Client(target, project=project) as client:
        for statement in (*STATEMENTS, rival, terms):
            client.reconcile(statement)
        rumour = client.reconcile(merger).fact
        client.update_fact_status(rumour.fact_id, FactStatus.RETRACTED, reason="a rumour")
        print(client.get_entity_briefing("Company", "globex").markdown)


if __name__ == "__main__":
    main(*sys.argv[1:])
