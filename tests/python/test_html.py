"""Tables for Jupyter: what comes from servers never becomes markup."""

from __future__ import annotations

import pytest

from remotecl._html import Markup, cell_text, table
from remotecl._table import size


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
