"""Tables for Jupyter. Everything that comes in is text from somewhere else and is escaped, except `Markup`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


class Markup(str):
    """HTML that this package has made, for example a table inside a cell. Never make one of a server's words."""

    __slots__ = ()


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    """An HTML table with a caption. Numbers are aligned to the right, None is an empty cell.

    Raises:
        ValueError: a row has more or fewer cells than there are columns.

    Example::

        table("2 servers", ["server", "round trip (us)"], [["gpu1:10990", 41.5], ["gpu2:10990", None]])
    """
    head = "".join(f"<th style='text-align:left'>{cell_text(name)}</th>" for name in columns)
    body = "".join(f"<tr>{_cells(row, len(columns))}</tr>" for row in rows)
    return Markup(
        f"<table><caption style='text-align:left'>{cell_text(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def cell_text(value: object) -> Markup:
    """`value` as HTML that shows it: escaped unless it is `Markup`; lists and tuples one item per line."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return Markup()
    if isinstance(value, (list, tuple)):
        return Markup("<br>".join(map(cell_text, value)))
    if isinstance(value, float):
        return Markup(f"{value:,.1f}")
    if isinstance(value, int) and not isinstance(value, bool):
        return Markup(f"{value:,}")
    return Markup(html.escape(str(value)))


def bytes_text(size: int) -> str:
    """A number of bytes for people: ``"512 bytes"``, ``"1.5 MiB"``."""
    amount = float(size)
    for unit in _UNITS[:-1]:
        if amount < 1024:
            return f"{amount:.4g} {unit}"
        amount /= 1024
    return f"{amount:.4g} {_UNITS[-1]}"


def _cells(row: Sequence[object], columns: int) -> str:
    if len(row) != columns:
        raise ValueError(f"a table of {columns} columns got a row of {len(row)} cells")
    return "".join(f"<td style='text-align:{_side(value)}'>{cell_text(value)}</td>" for value in row)


def _side(value: object) -> str:
    return "right" if isinstance(value, (int, float)) and not isinstance(value, bool) else "left"
