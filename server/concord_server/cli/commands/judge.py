"""``concord judge``: tells how two statements relate, without a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from concord_server.cli import options, output
from concord_server.cli.commands.service import EmbedderModel, settings, start_failure
from concord_server.cli.output import OutputFormat

if TYPE_CHECKING:
    from concord_server.bootstrap import PairJudgement


def judge(
    statement: Annotated[str, typer.Argument(help="The new statement.")],
    known: Annotated[str, typer.Argument(help="What is known already.")],
    owner: Annotated[str, typer.Option(help="Whose statements they are, by name.")] = "",
    embedder_model: EmbedderModel = None,
    output_format: options.Output = OutputFormat.TABLE,
) -> None:
    """Tell how a statement relates to a known one.

    Runs the local judge in this process; no service is needed. The decision shown is about this pair alone,
    by the default thresholds.
    """
    given = settings(embedder_model=embedder_model)
    from concord_server import bootstrap

    try:
        verdict = bootstrap.judge_pair(given, statement, known, owner)
    except bootstrap.START_ERRORS as error:
        raise start_failure(error) from error
    fields = _fields(verdict)
    if output_format is OutputFormat.JSON:
        output.write_json(fields)
    elif output.on_terminal():
        from concord_server.cli import rendering

        output.show(rendering.field_table(_flat(fields)))
    else:
        output.write_fields(_flat(fields))


def _fields(verdict: PairJudgement) -> dict[str, Any]:
    judgement = verdict.judgement
    ranked = sorted(judgement.probabilities.items(), key=lambda item: -item[1])
    return {
        "decision": verdict.choice.kind.value.upper(),
        "similarity": round(verdict.similarity, 4),
        "candidate": verdict.candidate,
        "probabilities": {relation.value: round(probability, 4) for relation, probability in ranked},
        "discrepancies": [discrepancy.value for discrepancy in judgement.discrepancies],
        "rationale": judgement.rationale,
        "judge": judgement.judge,
    }


def _flat(fields: dict[str, Any]) -> list[tuple[str, object]]:
    """Returns one line per value."""
    flat: list[tuple[str, object]] = []
    for name, value in fields.items():
        if isinstance(value, dict):
            flat += [(f"p({key})", f"{item:.3f}") for key, item in value.items()]
        elif isinstance(value, list):
            flat.append((name, ", ".join(value) or "none"))
        elif isinstance(value, bool):
            flat.append((name, "yes" if value else "no"))
        else:
            flat.append((name, value))
    return flat
