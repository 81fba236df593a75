"""Where Priya worked, and when the ledger knew it: lineage, valid time and recorded time on one example.

    python examples/lineage_and_time.py

docs/lineage-and-time.md goes through it step by step.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

from concord import Claim, Client, EvolutionType, Fact, FactFilter, SourceInput, Statement

STAFF_LIST, LETTER = "https://staff.example/priya", "https://letters.example/17"

MOMENTS = [datetime(year, month, 1, tzinfo=UTC) for year, month in ((2021, 6), (2022, 10), (2023, 6), (2024, 6))]


def employer(client: Client, company: str, since: datetime, source: str) -> Fact:
    """States since when Priya works at a company, and returns the fact that the statement supports."""
    statement = Statement(
        f"Priya works at {company}",
        claim=Claim(subject="Priya", predicate="employer", value=company),
        observe_time=since,
        source=SourceInput(url=source),
    )
    return client.reconcile(statement).fact


def tell(client: Client) -> Iterator[tuple[str, Fact]]:
    """Tells the ledger what was learned, in that order; yields each step with the fact that it was about."""
    acme = employer(client, "Acme", datetime(2021, 1, 1, tzinfo=UTC), STAFF_LIST)
    yield "Acme is told", acme

    bolt = employer(client, "Bolt", datetime(2023, 3, 1, tzinfo=UTC), STAFF_LIST)
    yield "Bolt is told", bolt

    corvid = employer(client, "Corvid", datetime(2022, 9, 1, tzinfo=UTC), LETTER)
    yield "Corvid comes late", corvid

    client.withdraw_source(url=LETTER, reason="the letter was made up")
    yield "its source goes", client.get_fact(corvid.fact_id).fact

    left = datetime(2024, 2, 1, tzinfo=UTC)
    yield "Bolt is ended", client.update_fact(bolt.fact_id, valid_to=left, reason="she left")


def held(client: Client, moment: datetime, recorded: datetime) -> str:
    """Returns what held at a moment, by what was on record at a time."""
    where = FactFilter(predicate="employer", as_of=moment, known_at=recorded)
    return ", ".join(str(fact.claim.value) for fact in client.list_facts(where) if fact.claim) or "-"


def show_times(client: Client, told: list[tuple[str, Fact]]) -> None:
    """Prints what held when (across), by what was on record after each step (down)."""
    print(f"{'':<20}" + "".join(f"{moment:%Y-%m}".ljust(10) for moment in MOMENTS).rstrip())
    for step, fact in told:
        assert fact.update_time is not None
        answers = [held(client, moment, fact.update_time) for moment in MOMENTS]
        print(f"{step:<20}" + "".join(f"{answer:<10}" for answer in answers).rstrip())


def show_history(client: Client, fact: Fact) -> None:
    """Prints every recorded state of a fact."""
    for version in client.list_fact_versions(fact.fact_id):
        until = f"{version.fact.valid_to:%Y-%m}" if version.fact.valid_to else "open"
        print(f"{version.fact.status.value:<12}until {until:<9}{version.reason}")


def derive(client: Client, bolt: Fact) -> Fact:
    """Adds what follows from a fact, and corrects it; returns the corrected one."""
    engineer = client.branch(
        [bolt.fact_id],
        Statement("At Bolt, Priya is a data engineer", source=SourceInput(url=STAFF_LIST)),
        evolution_type=EvolutionType.REFINEMENT,
    )
    scientist = client.branch(
        [engineer.fact.fact_id],
        Statement("At Bolt, Priya is a data scientist", source=SourceInput(url=STAFF_LIST)),
        evolution_type=EvolutionType.CORRECTION,
    )
    return scientist.fact


def show_lineage(client: Client, fact: Fact) -> None:
    """Prints the line that leads to a fact, what its first fact has become, and the whole family."""
    chain = client.get_evolution_chain(fact.fact_id)
    print("line:   " + " > ".join(one.text for one in chain))
    print("latest: " + client.get_latest_in_chain(chain[0].fact_id).text)
    family = client.get_evolution_tree(fact.fact_id)
    texts = {one.fact_id: one.text for one in family.facts}
    for edge in family.edges:
        print(f"edge:   {texts[edge.parent_id]} > {texts[edge.child_id]} ({edge.evolution_type.value.lower()})")


def main() -> None:
    """Reads the arguments, tells the story, and prints what the ledger says of it."""
    parser = argparse.ArgumentParser(description="Lineage, valid time and recorded time on one example.")
    parser.add_argument("--target", default="127.0.0.1:50051", help="the service (default: %(default)s)")
    parser.add_argument("--project", default=f"lineage-{uuid.uuid4()}", help="project to write to; a new one")
    arguments = parser.parse_args()

    with Client(arguments.target, project=arguments.project) as client:
        told = list(tell(client))
        acme, bolt = told[0][1], told[1][1]
        show_times(client, told)
        print()
        show_history(client, acme)
        print()
        show_lineage(client, derive(client, bolt))


if __name__ == "__main__":
    main()
