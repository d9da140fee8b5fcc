#!/usr/bin/env python3
"""Draws docs/pictures/overview.svg, the picture of README.md and docs/architecture.md. Standard library only.

The picture has a light card of its own behind it, so that it reads the same on a light and on a dark page.
"""

from html import escape
from pathlib import Path

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
INK, QUIET, CARD, PANEL = "#1b1f24", "#57606a", "#ffffff", "#f3f5f8"
OURS, OURS_LINE, THEIRS, THEIRS_LINE, LINK = "#dbeafe", "#2563eb", "#ffffff", "#8c959f", "#b45309"


def text(x: float, y: float, words: str, size: int = 14, colour: str = INK, weight: str = "normal") -> str:
    """Words, centred at x."""
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" font-weight="{weight}" '
        f'text-anchor="middle">{escape(words)}</text>'
    )


def panel(x: float, y: float, width: float, height: float, title: str) -> str:
    """A machine."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="10" fill="{PANEL}" stroke="{THEIRS_LINE}"/>'
        + text(x + width / 2, y + 24, title, 15, INK, "bold")
    )


def box(x: float, y: float, width: float, words: str, below: str = "", ours: bool = False) -> str:
    """A program or a library; `ours` are parts of remotecl."""
    fill, line = (OURS, OURS_LINE) if ours else (THEIRS, THEIRS_LINE)
    height = 48
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{line}"/>']
    middle = x + width / 2
    parts.append(text(middle, y + (21 if below else 29), words, 14, INK, "bold" if ours else "normal"))
    if below:
        parts.append(text(middle, y + 38, below, 12, QUIET))
    return "".join(parts)


def arrow(x1: float, y1: float, x2: float, y2: float, colour: str = INK, both: bool = False, width: float = 1.5) -> str:
    """A straight arrow, with a tip at one end or at both."""
    marker = "wire" if colour == OURS_LINE else "call"
    start = f' marker-start="url(#{marker})"' if both else ""
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}" '
        f'marker-end="url(#{marker})"{start}/>'
    )


def markers() -> str:
    """The tips of arrows, one for each colour."""
    tips = {"call": INK, "wire": OURS_LINE, "link": LINK}
    return (
        "<defs>"
        + "".join(
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
            f'<path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
            for name, colour in tips.items()
        )
        + "</defs>"
    )


def server(y: float, name: str, drivers: str, device: str) -> str:
    """A machine with a daemon, a driver and a device."""
    return (
        panel(520, y, 336, 168, name)
        + box(540, y + 40, 296, "remotecl-server", "sessions, queues, transfers", ours=True)
        + arrow(616, y + 88, 616, y + 108)
        + box(540, y + 108, 152, "OpenCL driver", drivers)
        + arrow(692, y + 132, 714, y + 132)
        + box(716, y + 108, 120, device)
    )


def overview() -> str:
    """The picture, as SVG."""
    parts = [
        markers(),
        f'<rect x="1" y="1" width="898" height="428" rx="14" fill="{CARD}" stroke="#d0d7de"/>',
        panel(20, 72, 260, 284, "Your machine"),
        box(40, 112, 220, "Your program", "C, C++, PyOpenCL, …"),
        arrow(150, 160, 150, 188),
        box(40, 188, 220, "OpenCL loader"),
        arrow(150, 236, 150, 264),
        box(40, 264, 220, "libremotecl.so", "one platform, one context", ours=True),
        text(150, 340, "blue: remotecl", 12, OURS_LINE),
        server(20, "Server gpu1", "NVIDIA, AMD, …", "GPU"),
        server(242, "Server gpu2", "PoCL, Intel, …", "GPU or CPU"),
        arrow(260, 276, 540, 84, OURS_LINE, both=True, width=2),
        arrow(260, 300, 540, 306, OURS_LINE, both=True, width=2),
        text(400, 334, "commands, data, events", 14, OURS_LINE, "bold"),
        text(400, 354, "TCP, TLS or shared memory", 12, QUIET),
        f'<path d="M836,84 H876 V306 H836" stroke="{LINK}" stroke-width="2" fill="none" '
        'marker-end="url(#link)" marker-start="url(#link)"/>',
        text(688, 220, "data and events from server to server", 14, LINK, "bold"),
    ]
    title = "A program calls libremotecl.so through the OpenCL loader; that talks to servers, which link to each other."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 430" width="900" height="430" role="img" '
        f'font-family="{FONT}">\n<title>{escape(title)}</title>\n' + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / "overview.svg").write_text(overview(), encoding="utf-8")
