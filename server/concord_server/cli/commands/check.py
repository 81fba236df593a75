"""``concord check``: asks whether the ledger supports a statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.failures import CommandError, ExitCode
from concord_server.cli.output import OutputFormat

if TYPE_CHECKING:
    from concord import ClaimCheck

_STYLES = {"SUPPORTED": "green", "CONTRADICTED": "red", "NEEDS_REVIEW": "magenta", "UNSUPPORTED": "yellow"}


def check(
    text: Annotated[str, typer.Argument(help="The statement in words.", show_default=False)] = "",
    *,
    claim: Annotated[
        tuple[str, str, str],
        typer.Option(
            metavar="SUBJECT PREDICATE VALUE",
            help="The statement as a claim; VALUE is JSON, else text.",
            show_default=False,
        ),
    ] = ("", "", ""),
    domain: Annotated[str, typer.Option(help="Only facts of this domain.")] = "",
    owner: Annotated[str, typer.Option(metavar="TYPE:ID", help="Only facts owned by this entity.")] = "",
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Check a statement against what is known, given in words, as a claim, or both."""
    from concord import to_dict

    from concord_server.cli.arguments import claim_option
    from concord_server.cli.connection import connected, entity_option

    given = claim_option(claim)
    if not text and given is None:
        raise CommandError("there is nothing to check", hint="give a text or --claim", code=ExitCode.USAGE)
    owned_by = entity_option("--owner", owner)
    with connected(target, project, api_key) as client:
        checked = client.check_claim(text, claim=given, domain=domain, owner=owned_by)
    if output_format is OutputFormat.JSON:
        output.write_json(to_dict(checked))
    else:
        _show(checked)


def _show(checked: ClaimCheck) -> None:
    from concord_server.cli import rendering

    facts = [("supports", fact) for fact in checked.supporting]
    facts += [("contradicts", fact) for fact in checked.contradicting]
    if not output.on_terminal():
        output.write_fields([("support", checked.support.value), ("rationale", checked.rationale)])
        output.write_rows(("stance", *rendering.FACT_COLUMNS), ((s, *rendering.fact_row(f)) for s, f in facts))
        return
    from rich.text import Text

    support = checked.support.value
    output.show(Text.assemble((support, _STYLES.get(support, "")), "  ", output.printable(checked.rationale)))
    output.show(*(rendering.fact_card(fact) for _, fact in facts))
