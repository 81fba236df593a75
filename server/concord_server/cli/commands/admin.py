"""``concord admin``: projects, what they go by, and the predicates of their claims."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.commands.predicates import predicates
from concord_server.cli.failures import CommandError, ExitCode
from concord_server.cli.output import OutputFormat

if TYPE_CHECKING:
    from concord import ProjectSettings, SettingsChange

admin = typer.Typer(help="Look after projects and the predicates of their claims.")
projects = typer.Typer(help="List and create projects.")
settings = typer.Typer(help="Look at and change what a project goes by.")

GROUPS = {"projects": projects, "settings": settings, "predicates": predicates}
"""The groups of ``concord admin`` by name."""

Key = Annotated[str, typer.Argument(metavar="KEY", help="A setting, as `concord admin settings show` lists them.")]
Etag = Annotated[str, typer.Option(help="Of the settings as they were read: refuse when they changed since.")]


@projects.command("list")
def list_projects(
    *,
    limit: options.Limit = 50,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """List projects, newest first."""
    from concord import to_dict

    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        found = list(islice(client.list_projects(page_size=min(limit or 500, 500)), limit or None))
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(one) for one in found])
        return
    rows = ((one.project_id, one.display_name, one.create_time) for one in found)
    output.write_rows(("project", "name", "created"), rows)


@projects.command("create")
def create_project(
    project_id: Annotated[
        str, typer.Argument(metavar="PROJECT", help='1 to 64 lower-case letters, digits, "-" and "_".')
    ],
    *,
    name: Annotated[str, typer.Option(help="Its name for people.")] = "",
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Create a project; one also comes into being by its first use."""
    from concord import to_dict

    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        created = client.create_project(project_id, display_name=name)
    if output_format is OutputFormat.JSON:
        output.write_json(to_dict(created))
        return
    shown = [("project", created.project_id), ("name", created.display_name), ("created", created.create_time)]
    output.write_fields(shown)


@settings.command("show")
def show_settings(
    *,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Show the settings in force; an empty prompt is the default one."""
    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        _show(client.get_project_settings(), output_format)


@settings.command("set")
def set_setting(
    key: Key,
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE", help="A number, a policy, a span such as 90d, or a prompt: its words, or @FILE."
        ),
    ],
    *,
    etag: Etag = "",
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Change a setting; later decisions go by it, earlier ones stay."""
    from concord import SettingsChange

    from concord_server.cli.settings_values import SettingError, value_of

    try:
        change = SettingsChange(**{key: value_of(key, value)})
    except SettingError as error:
        raise CommandError(str(error), code=ExitCode.USAGE) from error
    _change(change, etag, output_format, target, project, api_key)


@settings.command("reset")
def reset_setting(
    key: Key,
    *,
    etag: Etag = "",
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Return a setting to its default."""
    from concord import SettingsChange

    from concord_server.cli.settings_values import SettingError, check_name

    try:
        change = SettingsChange(**{check_name(key): None})
    except SettingError as error:
        raise CommandError(str(error), code=ExitCode.USAGE) from error
    _change(change, etag, output_format, target, project, api_key)


def _change(
    change: SettingsChange, etag: str, output_format: OutputFormat, target: str, project: str, api_key: str
) -> None:
    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        try:
            changed = client.update_project_settings(change, etag=etag)
        except ValueError as error:  # of the client, before anything is sent
            raise CommandError(str(error), hint="see concord admin settings reset", code=ExitCode.USAGE) from error
    _show(changed, output_format)


def _show(found: ProjectSettings, output_format: OutputFormat) -> None:
    from concord import to_dict

    from concord_server.cli.settings_values import shown

    if output_format is OutputFormat.JSON:
        output.write_json(to_dict(found))
    else:
        output.write_fields(shown(found))
