"""``concord admin predicates``: what claims are about, and which names mean the same."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.failures import CommandError, ExitCode
from concord_server.cli.output import OutputFormat

if TYPE_CHECKING:
    from concord import Client, Predicate

predicates = typer.Typer(help="List predicates; decide how many values they hold and what else they are called.")

_COLUMNS = ("predicate", "cardinality", "aliases", "suggestions", "facts")


@predicates.command("list")
def list_predicates(
    *,
    suggested: Annotated[bool, typer.Option("--suggested", help="Only predicates with suggestions.")] = False,
    limit: options.Limit = 50,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """List predicates by name, with their aliases and the names that may mean the same."""
    from concord import to_dict

    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        pages = client.list_predicates(only_suggested=suggested, page_size=min(limit or 500, 500))
        found = list(islice(pages, limit or None))
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(one) for one in found])
        return
    output.write_rows(_COLUMNS, map(_row, found))


@predicates.command("set")
def set_predicate(
    name: Annotated[str, typer.Argument(metavar="PREDICATE", help="Its name.")],
    *,
    cardinality: Annotated[
        str,
        typer.Option(
            metavar="single|multi",
            help="How many values hold at once. From multi to single, clashing facts become conflicts.",
            show_default=False,
        ),
    ] = "",
    alias: Annotated[
        list[str] | None,
        typer.Option(help="Another name that means it from now on; accepts a suggestion. May be given again."),
    ] = None,
    unalias: Annotated[
        list[str] | None,
        typer.Option(help="A name that does not mean it any more, and is not learned again. May be given again."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="A suggestion to drop; it is not made again. May be given again."),
    ] = None,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Change a predicate; what is not given stays as it is."""
    from concord import Cardinality, to_dict

    from concord_server.cli.connection import connected

    if cardinality.upper() not in {"", "SINGLE", "MULTI"}:
        raise CommandError(f"{cardinality!r} is neither single nor multi", code=ExitCode.USAGE)
    if not (cardinality or alias or unalias or drop):
        raise CommandError("give --cardinality, --alias, --unalias or --drop", code=ExitCode.USAGE)
    wanted = Cardinality(cardinality.upper() or "UNSPECIFIED")
    with connected(target, project, api_key) as client:
        if not (alias or unalias or drop):
            changed = client.update_predicate(name, cardinality=wanted)
        else:
            known = _find(client, name)
            changed = client.update_predicate(
                known.predicate,
                cardinality=wanted,
                aliases=_without(known.aliases, unalias, "alias", alias) if alias or unalias else None,
                suggestions=_without([s.predicate for s in known.suggestions], drop, "suggestion")
                if drop
                else None,
                etag=known.etag,
            )
    if output_format is OutputFormat.JSON:
        output.write_json(to_dict(changed))
        return
    output.write_fields(zip(_COLUMNS, _row(changed), strict=True))


def _find(client: Client, name: str) -> Predicate:
    known = next((one for one in client.list_predicates(page_size=500) if one.predicate == name), None)
    if known is None:
        raise CommandError(
            f"no claim uses a predicate {name!r}",
            hint="see concord admin predicates list; names are in lower snake case",
            code=ExitCode.NOT_FOUND,
        )
    return known


def _without(
    names: list[str] | tuple[str, ...], gone: list[str] | None, kind: str, added: list[str] | None = None
) -> list[str]:
    for name in gone or ():
        if name not in names:
            raise CommandError(f"there is no {kind} {name!r}", code=ExitCode.USAGE)
    return [*(name for name in names if name not in (gone or ())), *(added or ())]


def _row(predicate: Predicate) -> tuple[object, ...]:
    suggestions = (f"{s.predicate} ({s.similarity:.2f}, seen {s.seen_count})" for s in predicate.suggestions)
    return (
        predicate.predicate,
        predicate.cardinality.lower(),
        ", ".join(predicate.aliases),
        ", ".join(suggestions),
        predicate.fact_count,
    )
