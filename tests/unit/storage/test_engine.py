"""What a connection is made with."""

from __future__ import annotations

import pytest
from concord_server.storage.engine import EngineOptions, connection_arguments, create_engine
from concord_server.storage.errors import DatabaseNotReadyError


def test_several_hosts_and_what_is_wanted_of_them_reach_the_driver() -> None:
    url = "postgresql://ada:secret@a.example:5432,b.example:5433/ledger?target_session_attrs=read-write"
    arguments = connection_arguments(url, EngineOptions())
    assert arguments["host"] == "a.example,b.example"
    assert arguments["port"] == "5432,5433"
    assert arguments["target_session_attrs"] == "read-write"
    assert arguments["dbname"] == "ledger"
    assert arguments["password"] == "secret"


def test_a_directory_of_a_unix_socket_reaches_the_driver() -> None:
    arguments = connection_arguments("postgresql://concord@/concord?host=/run/postgresql", EngineOptions())
    assert arguments["host"] == "/run/postgresql"


def test_a_connection_string_is_taken_like_a_url() -> None:
    arguments = connection_arguments("host=db.example dbname=ledger", EngineOptions())
    assert (arguments["host"], arguments["dbname"]) == ("db.example", "ledger")


def test_timeouts_are_set_in_milliseconds() -> None:
    options = EngineOptions(statement_timeout=1.5, lock_timeout=0.25, idle_in_transaction_timeout=2)
    settings = connection_arguments("", options)["options"]
    assert "-c statement_timeout=1500" in settings
    assert "-c lock_timeout=250" in settings
    assert "-c idle_in_transaction_session_timeout=2000" in settings


def test_what_the_url_sets_goes_before_the_options() -> None:
    url = "postgresql://h/d?connect_timeout=60&options=-c%20statement_timeout%3D9&application_name=mine"
    arguments = connection_arguments(url, EngineOptions(connect_timeout=5, application_name="concord"))
    assert arguments["connect_timeout"] == "60"
    assert arguments["options"].endswith("-c statement_timeout=9")  # the last one counts
    assert arguments["application_name"] == "mine"


def test_a_malformed_url_is_refused_without_showing_its_password() -> None:
    with pytest.raises(DatabaseNotReadyError) as caught:
        create_engine("postgresql://ada:secret@host:port/ledger?nonsense")
    assert "secret" not in str(caught.value)
    assert "postgresql://user:password@host:5432/database" in caught.value.hint
