"""What there is in one place, and the names that moved."""

from __future__ import annotations

import warnings

import pytest

import remotecl
from remotecl import types

PARTS = ["devices", "links", "servers", "stats", "status"]


def test_an_overview_shows_servers_devices_and_links(connection):
    shown = repr(remotecl.overview())
    for address in connection.servers:
        assert address in shown
    for device in connection.devices:
        assert device.name.strip()[:12] in shown


def test_without_a_server_an_overview_still_shows_itself(run_program):
    shown = run_program("import remotecl; print(remotecl.overview())").stdout
    assert shown.strip() == "0 servers"


def test_a_part_stays_as_it_was_when_it_was_read():
    overview = remotecl.overview()
    assert overview.servers is overview.servers
    assert remotecl.overview().servers is not overview.servers


@pytest.mark.parametrize("name", types.__all__)
def test_records_have_moved(name):
    with pytest.warns(DeprecationWarning, match=f"remotecl.types.{name} now"):
        assert getattr(remotecl, name) is getattr(types, name)


@pytest.mark.parametrize("name", PARTS)
def test_functions_are_parts_of_the_overview(name):
    with pytest.warns(DeprecationWarning, match=rf"remotecl.overview\(\).{name} now"):
        assert callable(getattr(remotecl, name))


def test_public_names_warn_of_nothing():
    assert len(remotecl.__all__) <= 35
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in remotecl.__all__:
            getattr(remotecl, name)
