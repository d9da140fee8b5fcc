"""Small tables as plain text and as HTML, and numbers as people read them."""

from __future__ import annotations

import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from . import html
from .html import Markup

# How much of a shortened text must stay.
_SHORTEST = 12
# These columns are left out only if all rows have the same value.
_TELLING = ("server", "buffer")
_INDENT = 2  # of rows
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class Table:
    """Rows of text under a title. Columns whose name begins with ``>`` are aligned to the right.

    `optional` names columns that are left out if there is no room for them, the first one first.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    optional: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Clients and servers choose their own names, which must not be able to forge a line.
        object.__setattr__(self, "title", visible(self.title))
        object.__setattr__(self, "rows", tuple(tuple(visible(cell) for cell in row) for row in self.rows))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names for people."""
        return tuple(name.removeprefix(">") for name in self.columns)

    def is_right(self, column: int) -> bool:
        """Whether a column is aligned to the right."""
        return self.columns[column].startswith(">")

    def fitted(self, width: int, gap: int = 2) -> Table:
        """As much of it as fits in lines of `width` characters, with `gap` characters between columns."""
        table = self
        for name in self.optional:
            if table._width(gap) <= width:
                return table
            table = table._without(name)
        return table._shortened(width, gap)

    def _widths(self) -> list[int]:
        return [max(len(line[column]) for line in [self.names, *self.rows]) for column in range(len(self.columns))]

    def _width(self, gap: int) -> int:
        return sum(self._widths()) + gap * len(self.columns)

    def _without(self, name: str) -> Table:
        """Without this column, if it can be spared."""
        if name not in self.names:
            return self
        if name in _TELLING and len({row[self.names.index(name)] for row in self.rows}) > 1:
            return self
        left = [column for column, other in enumerate(self.names) if other != name]
        rows = tuple(tuple(row[column] for column in left) for row in self.rows)
        return replace(self, columns=tuple(self.columns[column] for column in left), rows=rows)

    def _shortened(self, width: int, gap: int) -> Table:
        """The table with the longest texts shortened by an ellipsis."""
        table = self
        while (excess := table._width(gap) - width) > 0:
            widths = [0 if table.is_right(column) else size for column, size in enumerate(table._widths())]
            longest = widths.index(max(widths))
            room = max(widths[longest] - excess, _SHORTEST, *(size for size in widths if size < widths[longest]))
            if room >= widths[longest]:
                room = widths[longest] - 1
            if room < _SHORTEST:
                break
            rows = (
                tuple(_cut(cell, room) if column == longest else cell for column, cell in enumerate(row))
                for row in table.rows
            )
            table = replace(table, rows=tuple(rows))
        return table

    def text(self) -> str:
        """Lines of equal columns; the title comes first."""
        if not self.rows:
            return self.title
        lines = [self.names, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.columns))]
        aligned = [
            "  ".join(
                cell.rjust(width) if self.is_right(column) else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *(f"{' ' * _INDENT}{line}" for line in aligned)])

    def html(self) -> Markup:
        """An HTML table, or only the title if it would be empty; everything in it is escaped."""
        if not self.rows:
            return Markup(f"<div>{html.cell_text(self.title)}</div>")
        right = [column for column in range(len(self.columns)) if self.is_right(column)]
        return html.table(self.title, self.names, self.rows, right=right, wrap=False)


class Shown(ABC):
    """Something that shows itself as tables: as text at a prompt and by ``print()``, as HTML in Jupyter."""

    @abstractmethod
    def _tables(self) -> list[Table]:
        """The tables to show."""

    def __repr__(self) -> str:
        return text_of(self._tables(), terminal_width())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return html_of(self._tables())


def visible(text: str) -> str:
    """The text with an escape sequence for everything that could control a terminal or reverse a line."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def terminal_width() -> int | None:
    """The width of the terminal that this process prints to; None if it is not a terminal."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if is_terminal else None


def text_of(tables: Sequence[Table], width: int | None = None) -> str:
    """The tables that have rows, one below the other, in lines of at most `width`; only titles if none has."""
    shown = _filled(tables)
    if width is not None:
        shown = [table.fitted(width - _INDENT) for table in shown]
    return "\n".join(table.text() for table in shown)


def html_of(tables: Sequence[Table]) -> str:
    """The same as HTML."""
    return "".join(table.html() for table in _filled(tables))


def _filled(tables: Sequence[Table]) -> Sequence[Table]:
    return [table for table in tables if table.rows] or tables[:1]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def count(number: int, what: str) -> str:
    """How many there are of something, for example ``1 buffer`` or ``2 buffers``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def size(count: float) -> str:
    """Bytes, for example ``10.0 MiB``."""
    for unit in _BYTE_UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} {_BYTE_UNITS[-1]}"


def rate(bytes_per_s: float | None) -> str:
    """Bytes per second, or a dash if unknown."""
    return "-" if bytes_per_s is None else f"{size(bytes_per_s)}/s"


def share(fraction: float | None) -> str:
    """A fraction in percent, or a dash if unknown."""
    return "-" if fraction is None else f"{100 * fraction:.0f} %"


def duration(seconds: float) -> str:
    """Seconds, for example ``2:03:04`` or ``3.2 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def microseconds(time_us: float | None) -> str:
    """A round trip, or a dash if unknown."""
    return "-" if time_us is None else f"{time_us:,.0f} us"
