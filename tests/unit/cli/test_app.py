from __future__ import annotations

import subprocess
import sys

import concord as client
import pytest
from concord_server.cli import main, output
from concord_server.cli.commands.service import LogFormat, LogLevel, settings
from concord_server.cli.failures import CommandError, ExitCode
from concord_server.config import Settings
from concord_server.domain import enums

HEAVY = (
    "grpc",
    "google.protobuf",
    "concord",
    "pydantic_settings",
    "sqlalchemy",
    "psycopg",
    "onnxruntime",
    "numpy",
)
"""What help must not wait for."""


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_the_commands(capsys, arguments):
    assert main(arguments) == ExitCode.OK
    out = capsys.readouterr().out
    for command in ("serve", "migrate", "demo", "reconcile", "facts", "conflicts", "decisions", "judge"):
        assert f"\n  {command} " in out


def test_help_is_plain_when_piped(capsys):
    main(["reconcile", "--help"])
    assert capsys.readouterr().out.isascii()


def test_a_group_without_a_command_shows_its_help(capsys):
    assert main(["facts"]) == ExitCode.OK
    assert "  list " in capsys.readouterr().out


def test_an_unknown_command_is_one_line(capsys):
    assert main(["reconsile"]) == ExitCode.USAGE
    assert capsys.readouterr().err == (
        "concord: No such command 'reconsile'. Did you mean 'reconcile', 'consolidate'? (see concord --help)\n"
    )


def test_the_version_is_told(capsys):
    assert main(["--version"]) == ExitCode.OK
    name, version = capsys.readouterr().out.split()
    assert name == "concord"
    assert version[0].isdigit()


def test_help_loads_neither_grpc_nor_the_parts_of_the_service():
    program = (
        "import sys\n"
        "from concord_server.cli import main\n"
        "assert main(['reconcile', '--help']) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stderr == "[]\n"


@pytest.mark.parametrize("name", ["FactType", "FactStatus", "ContradictionPolicy", "ConflictState"])
def test_options_offer_the_names_of_the_contract(name):
    known = {member.value for member in getattr(client, name)} - {"UNSPECIFIED"}
    assert {member.value for member in getattr(enums, name)} == known


def test_only_flags_that_were_given_override_the_environment(monkeypatch):
    monkeypatch.setenv("CONCORD_LISTEN", "0.0.0.0:1")
    monkeypatch.setenv("CONCORD_PROCESSES", "3")
    given = settings(listen=None, processes=2, log_level=LogLevel.DEBUG, log_format=LogFormat.JSON)
    assert (given.listen, given.processes, given.log_level, given.log_format) == ("0.0.0.0:1", 2, "debug", "json")


@pytest.mark.parametrize(
    ("flags", "environment", "message"),
    [
        ({"listen": "x"}, {}, "--listen: 'x' is not HOST:PORT with a port from 0 to 65535"),
        ({"processes": 0}, {}, "--processes: input should be greater than or equal to 1"),
        ({"grace_seconds": -1.0}, {}, "--grace: input should be greater than or equal to 0"),
        (
            {},
            {"CONCORD_LOG_LEVEL": "loud"},
            "CONCORD_LOG_LEVEL: input should be 'debug', 'info', 'warning' or 'error'",
        ),
    ],
)
def test_a_wrong_setting_names_the_flag_or_variable_that_gave_it(monkeypatch, flags, environment, message):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CommandError) as caught:
        settings(**flags)
    assert (caught.value.message, caught.value.code) == (message, ExitCode.USAGE)


def test_every_choice_of_the_log_options_is_a_setting():
    for level in LogLevel:
        assert settings(log_level=level).log_level == level.value
    for form in LogFormat:
        assert settings(log_format=form).log_format == form.value


def test_defaults_in_help_are_those_of_the_settings(capsys):
    main(["serve", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    fields = Settings.model_fields
    for name in ("listen", "data_dir", "processes", "embedder_model", "log_level", "log_format"):
        assert f"[default: {fields[name].default}]" in out
    assert f"[default: {fields['grace_seconds'].default:g}]" in out


def test_the_default_target_is_where_the_service_listens_by_default():
    from concord_server.cli import options
    from concord_server.config import DEFAULT_LISTEN

    assert options.DEFAULT_TARGET == client.DEFAULT_TARGET == DEFAULT_LISTEN


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, 漢字, مرحبا, e\u0301", "plain text, 漢字, مرحبا, e\u0301"),
        ("a\tb\r\n", "a\\tb\\r\\n"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u2028b", "a\\u2028b"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("family \U0001f468\u200d\U0001f469", "family \U0001f468\u200d\U0001f469"),
    ],
)
def test_text_is_shown_as_it_is_but_for_what_acts_on_a_terminal(text, shown):
    assert output.printable(text) == shown
