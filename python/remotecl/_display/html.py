"""Tables for Jupyter. All input is foreign text and is escaped, except `Markup`."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence


class Markup(str):
    """HTML that this package has made, for example a table inside a cell. Never use it for a server's text."""

    __slots__ = ()


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Collection[int] = (),
    wrap: bool = True,
) -> Markup:
    """An HTML table with a caption. Numbers, and columns whose index is in `right`, are aligned to the right.

    None is an empty cell. Without `wrap` the cells stay on one line each.

    Raises:
        ValueError: a row has more or fewer cells than there are columns.

    Example::

        table("2 servers", ["server", "round trip (us)"], [["gpu1:10990", 41.5], ["gpu2:10990", None]])
    """
    body = ""
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"a table of {len(columns)} columns got a row of {len(row)} cells")
        body += f"<tr>{_cells('td', row, right, wrap)}</tr>"
    head = _cells("th", columns, right, wrap)
    return Markup(
        f"<table><caption style='text-align:left;white-space:nowrap'>{cell_text(caption)}</caption>"
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
    if _is_number(value):
        return Markup(f"{value:,}")
    return Markup(html.escape(str(value)))


def _cells(tag: str, row: Sequence[object], right: Collection[int], wrap: bool) -> str:
    def style(column: int, value: object) -> str:
        side = "right" if column in right or _is_number(value) else "left"
        return f"text-align:{side}" if wrap else f"text-align:{side};white-space:nowrap"

    return "".join(
        f"<{tag} style='{style(column, value)}'>{cell_text(value)}</{tag}>" for column, value in enumerate(row)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
