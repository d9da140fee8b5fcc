"""Tables for Jupyter: what comes from servers never becomes markup."""

from __future__ import annotations

import pytest

from remotecl._display.html import Markup, cell_text, table
from remotecl._display.table import Table, count, html_of, size, text_of


def test_text_is_escaped_wherever_it_stands():
    evil = "<script>alert('x')</script>"
    shown = table(evil, [evil], [[evil], [[evil, evil]]])
    assert "<script>" not in shown
    assert shown.count("&lt;script&gt;alert(&#x27;x&#x27;)") == 5


def test_a_table_may_stand_in_a_cell():
    inner = table("inner", ["a"], [[1]])
    assert inner in table("outer", ["b"], [[inner]])


def test_a_part_of_markup_is_text_again():
    assert cell_text(Markup("<b>x</b>")[:3]) == "&lt;b&gt;"


@pytest.mark.parametrize(
    ("value", "shown"), [(None, ""), (1234567, "1,234,567"), (41.52, "41.5"), (True, "True"), (["a", 2], "a<br>2")]
)
def test_values_are_shown_for_people(value, shown):
    assert cell_text(value) == shown


def test_a_row_must_fit():
    with pytest.raises(ValueError, match="2 columns got a row of 1"):
        table("t", ["a", "b"], [["x"]])


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KiB"), (1536, "1.5 KiB"), (64 << 20, "64.0 MiB"), (3 << 50, "3072.0 TiB")],
)
def test_sizes_are_shown_for_people(count, shown):
    assert size(count) == shown


def test_what_has_no_room_is_left_out_and_cut_off():
    columns = ("server", "client", "from", ">memory")
    rows = tuple(
        ("gpu1:10990", f"workstation{number} python3.11 12345", "192.168.100.100:41233", "10.1 GiB")
        for number in (1, 2)
    )
    whole = Table("sessions", columns, rows, optional=("from", "server"))
    assert whole.fitted(200) == whole
    assert whole.fitted(72).names == ("server", "client", "memory")
    assert whole.fitted(52).names == ("client", "memory"), "one server for all"
    narrow = whole.fitted(30)
    assert max(map(len, narrow.text().splitlines()[1:])) <= 30 + 2
    assert narrow.rows[0][0].endswith("…")
    two = Table("sessions", columns, (rows[0], ("gpu2:10990", *rows[1][1:])), optional=("from", "server"))
    assert "server" in two.fitted(52).names
    assert Table("x", (">n",), (("1" * 50,),)).fitted(20).rows == (("1" * 50,),), "numbers are never cut off"


def test_one_is_not_many():
    assert [count(number, "buffer") for number in (0, 1, 2, 1234)] == [
        "0 buffers",
        "1 buffer",
        "2 buffers",
        "1,234 buffers",
    ]


def test_an_empty_table_is_its_title():
    assert text_of([Table("0 links", ("server",), ())]) == "0 links"
    assert "0 links" in html_of([Table("0 links", ("server",), ())])
