"""Small tables as plain text and as HTML, and numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import _html
from ._html import Markup

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class Table:
    """Rows of text under a title. Columns whose name begins with ``>`` are aligned to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names for people."""
        return tuple(name.removeprefix(">") for name in self.columns)

    def is_right(self, column: int) -> bool:
        """Whether a column is aligned to the right."""
        return self.columns[column].startswith(">")

    def text(self) -> str:
        """Lines of equal columns; the title comes first."""
        lines = [self.names, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.columns))]
        aligned = [
            "  ".join(
                cell.rjust(width) if self.is_right(column) else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *(f"  {line}" for line in aligned)])

    def html(self) -> Markup:
        """An HTML table; everything in it is escaped."""
        right = [column for column in range(len(self.columns)) if self.is_right(column)]
        return _html.table(self.title, self.names, self.rows, right=right, wrap=False)


def text_of(tables: Sequence[Table]) -> str:
    """Those that have rows, one below the other."""
    return "\n".join(table.text() for table in tables if table.rows)


def html_of(tables: Sequence[Table]) -> str:
    """Those that have rows, one below the other."""
    return "".join(table.html() for table in tables if table.rows)


def size(count: float) -> str:
    """Bytes, for example ``10.0 MiB``."""
    for unit in _BYTE_UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} {_BYTE_UNITS[-1]}"


def rate(bytes_per_s: float | None) -> str:
    """Bytes per second, or a dash when nobody knows."""
    return "-" if bytes_per_s is None else f"{size(bytes_per_s)}/s"


def share(fraction: float | None) -> str:
    """A fraction in percent, or a dash when nobody knows."""
    return "-" if fraction is None else f"{100 * fraction:.0f} %"


def duration(seconds: float) -> str:
    """Seconds, for example ``2:03:04`` or ``3.2 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def microseconds(time_us: float | None) -> str:
    """A round trip, or a dash when nobody knows."""
    return "-" if time_us is None else f"{time_us:.0f} us"
