"""``concord observations``: what is believed, what it rests on, and how it came to be so."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.output import OutputFormat

if TYPE_CHECKING:
    from concord import Observation, ObservationVersion

observations = typer.Typer(help="Look at beliefs over facts, their evidence and their history.")

_COLUMNS = ("observation", "state", "facts", "from", "to", "trend", "owner", "tags", "text")
_VERSIONS = ("version", "action", "facts", "recorded from", "run", "reason", "text")


class Order(StrEnum):
    """Orders of a list."""

    NEWEST = "create_time desc"
    CHANGED = "update_time desc"
    SUPPORT = "proof_count desc"


@observations.command("list")
def list_observations(
    *,
    subject: Annotated[str, typer.Option(metavar="TYPE:ID", help="Only those about this entity.")] = "",
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="Only those with this tag; may be repeated.")] = None,
    retired: Annotated[bool, typer.Option("--retired", help="Those that are no longer believed, too.")] = False,
    order: Annotated[Order, typer.Option(help="What comes first.")] = Order.SUPPORT,
    limit: options.Limit = 50,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """List observations: how many facts support each, over what period, and how that develops."""
    from concord import ObservationState, to_dict

    from concord_server.cli.connection import connected, entity_option

    states = (ObservationState.ACTIVE, ObservationState.RETIRED) if retired else ()
    about = entity_option("--subject", subject)
    with connected(target, project, api_key) as client:
        listed = client.list_observations(
            subject=about, domain=domain, tags=tag or (), states=states, order_by=order.value
        )
        found = list(islice(listed, limit or None))
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(each) for each in found])
    else:
        output.write_rows(_COLUMNS, (_row(each) for each in found))


@observations.command("show")
def show(
    observation_id: Annotated[str, typer.Argument(help="Id of the observation.")],
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Show an observation with the facts that it rests on, oldest first."""
    from concord import to_dict

    from concord_server.cli import rendering
    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        found = client.get_observation(observation_id)
    if output_format is OutputFormat.JSON:
        output.write_json(to_dict(found))
        return
    output.write_fields(list(zip(_COLUMNS, _row(found.observation), strict=True)))
    if found.facts:
        output.write_line("")
        output.write_rows(rendering.FACT_COLUMNS, (rendering.fact_row(fact) for fact in found.facts))


@observations.command("history")
def history(
    observation_id: Annotated[str, typer.Argument(help="Id of the observation.")],
    limit: options.Limit = 50,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Show every recorded state of an observation, oldest first: its wording, its support, and why."""
    from concord import to_dict

    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        found = list(islice(client.list_observation_versions(observation_id), limit or None))
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(each) for each in found])
    else:
        output.write_rows(_VERSIONS, (_version_row(each) for each in found))


def _row(each: Observation) -> tuple[object, ...]:
    owner = f"{each.owner.entity_type}:{each.owner.entity_id}" if each.owner else ""
    period = (each.first_time, each.last_time)
    trend = "" if each.trend.value == "UNSPECIFIED" else each.trend.value
    return (
        *(each.observation_id, each.state.value, each.proof_count, *period, trend, owner),
        *(", ".join(each.tags), each.text or "(erased)"),
    )


def _version_row(version: ObservationVersion) -> tuple[object, ...]:
    each = version.observation
    return (
        *(each.version, version.action.value, each.proof_count, version.recorded_from, version.run_id),
        *(version.reason, each.text or "(erased)"),
    )
