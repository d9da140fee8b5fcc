#!/usr/bin/env python3
"""Writes a benchmark's report into its page, between `<!-- begin: NAME -->` and `<!-- end: NAME -->`.

    scripts/performance_tables.py NAME REPORT.json...  the section NAME, from what `remotecl bench`, `benchmarks.dnn`,
                                                       `benchmarks.ar` (with --json) or
                                                       tests/programs/programs.py wrote; the machine is the first one's
    scripts/performance_tables.py --check              fails where a section is not in this script's format

Standard library only. `make performance SECTION=NAME` measures and writes into docs/performance.md;
`make programs`, `make training` and `make augmented-reality`, each with SECTION=NAME, do so into docs/applications.md.
"""

import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "docs" / "performance.md", ROOT / "docs" / "applications.md"]
COLUMNS = ["case", "unit", "remotecl", "p99", "max", "native", "raw", "ceiling", "ratio", "target"]
SECTION = re.compile(r"(<!-- begin: ([\w-]+) -->\n)(.*?)(<!-- end: \2 -->\n)", re.DOTALL)
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n"
# Of training: a row for each choice of optimisations, and all places in it.
PLACES = {"native": ["ms", "gain"], "remotecl": ["ms", "gain", "target"], "far": ["ms", "gain", "target"]}
TRAINING_COLUMNS = ["network", "images", "kernels", "layout", "queues", "launches", "builds"]
TRAINING_COLUMNS += [f"{place} {what}" for place, whats in PLACES.items() for what in whats]
TRAINING_HEAD = f"| {' | '.join(TRAINING_COLUMNS)} |\n{'|---' * len(TRAINING_COLUMNS)}|\n"
# Of the augmented-reality pipeline: a row for each link and configuration, and one for each target.
PIPELINE_COLUMNS = ["link", "configuration", "frames/s", "alone ms", "p50 ms", "p99 ms", "client kB", "servers kB"]
PIPELINE_COLUMNS += ["client ms", "servers ms", "energy J"]
PIPELINE_HEAD = f"| {' | '.join(PIPELINE_COLUMNS)} |\n{'|---' * len(PIPELINE_COLUMNS)}|\n"
TARGET_COLUMNS = ["link", "complete, compared", "times", "target", "PoCL-R"]
TARGET_HEAD = f"| {' | '.join(TARGET_COLUMNS)} |\n{'|---' * len(TARGET_COLUMNS)}|\n"
# Programs of others: a row for each, what its first run and later ones take at each place, and what came of it.
PROGRAM_COLUMNS = ["program", "does", "first native s", "first TCP s"]
PROGRAM_COLUMNS += ["native ms", "TCP ms", "memory ms", "two servers ms", "TCP ratio", "memory ratio", "result"]
PROGRAM_HEAD = f"| {' | '.join(PROGRAM_COLUMNS)} |\n{'|---' * len(PROGRAM_COLUMNS)}|\n"
NONE = "\N{EN DASH}"
LOWER_IS_BETTER = {"us", "ms"}
# Busier than this, in running threads a core, a machine is called loaded.
QUIET = 0.25
# How a section begins: by this script, with nothing, or pasted before there was one.
WRITTEN = re.compile(
    r"`[^`]+`, .+, driver .+\. .+, \d+ cores, load average \d+\.\d\d before the run(: \*\*a loaded machine\*\*)?\. "
    r"\d+ \w+ \d{4}, commit `[0-9a-f]{7,}`\.( Few repetitions \(`--quick`\)\.)?"
    r"(( Far: [\d.]+ Gbit/s, [\d.]+ ms each way\.)? A read of 4 bytes: (\w+ [\d.]+ us(, )?)+\.)?"
    r"( [\d,]+ points of [\d,]+, \w+ of [\d.]+ Mbit/s, pictures of \d+ pixels square, \d+ frames on their way\."
    r" Client: [^`]+\.( Servers: `[^`]+`\.)? Links: .+\.)?"
    r"( \d+ of \d+ programs work\.)?"
)
UNMEASURED = re.compile(r"Not measured yet: `[^`]+`\.\n")
PASTED = re.compile(r"Pasted by hand in commit `[0-9a-f]{7,}`; the run was on \d+ \w+ \d{4}\. No newer run exists\.")


def number(value: float | None) -> str:
    """Three significant digits, but never fewer than the integer part has."""
    if value is None:
        return NONE
    for decimals, limit in ((2, 10), (1, 100)):
        text = f"{value:.{decimals}f}"
        if float(text) < limit:
            return text
    return f"{value:.0f}"


def make_row(result: dict) -> str:
    """One line of the table."""
    target = number(result["target"]) + (" met" if result["met"] else " missed") if result["target"] else ""
    figures = [number(result[name]) for name in COLUMNS[2:-1]]
    return f"| {' | '.join([result['name'], result['unit'], *figures, target])} |\n"


def training_table(report: dict) -> str:
    """What `benchmarks.dnn` wrote; each network's last row says what all of its choices bring together."""
    networks: dict[tuple, dict[tuple, dict]] = {}
    for row in report["results"]:
        options = row["options"]
        choice = (options["kernels"], "batched" if options["batched"] else "images", options["queues"])
        networks.setdefault((row["network"], row["batch"]), {}).setdefault(choice, {})[row["where"]] = row
    text = TRAINING_HEAD
    for network, choices in networks.items():
        for choice, places in choices.items():
            first = next(iter(places.values()))
            cells = [*network, *choice, first["launches"], first["builds"]]
            text += f"| {' | '.join(map(str, [*cells, *training_figures(places, 'gain')]))} |\n"
        last = {place: row | {"step_s": None, "target_s": None} for place, row in places.items()}
        cells = [*network, "all", "", "", "", "", *training_figures(last, "speedup")]
        text += f"| {' | '.join(map(str, cells))} |\n" if len(choices) > 1 else ""
    return text


def training_figures(rows: dict, gain: str) -> list[str]:
    """Of all places: a step, how much faster it is, and what it should be at most."""
    cells = []
    for place, whats in PLACES.items():
        row = rows.get(place, {})
        target = row.get("target_s")
        values = {
            "ms": number(row["step_s"] * 1e3 if row.get("step_s") else None),
            "gain": number(row.get(gain)),
            "target": f"{number(target * 1e3)} {'met' if row['met'] else 'missed'}" if target else "",
        }
        cells += [values[what] for what in whats]
    return cells


def pipeline_table(report: dict) -> str:
    """What `benchmarks.ar` wrote, and the targets of each link below it."""
    text = PIPELINE_HEAD
    for row in report["results"]:
        times = [1e3 * row[name] for name in ("alone_s", "latency_p50_s", "latency_p99_s")]
        traffic = [row[name] / 1e3 if row[name] else None for name in ("client_bytes", "peer_bytes")]
        used = [1e3 * row["processor_s"], 1e3 * row["servers_s"] or None, row["energy_j"]]
        figures = [number(value) for value in (row["frames_per_s"], *times, *traffic, *used)]
        text += f"| {' | '.join([row['link'], row['configuration'], *figures])} |\n"
    text += f"\n{TARGET_HEAD}"
    for link, targets in report["targets"].items():
        for target in targets:
            verdict = f"{number(target['least'])} {'met' if target['met'] else 'missed'}"
            cells = [link, target["name"], number(target["times"]), verdict, number(target["paper"])]
            text += f"| {' | '.join(cells)} |\n"
    return text


def program_table(report: dict) -> str:
    """What tests/programs/programs.py wrote."""
    text = PROGRAM_HEAD
    for row in report["programs"]:
        first, then, ratios = (row.get(key, {}) for key in ("first_s", "then_s", "ratios"))
        later = [1e3 * then[name] if name in then else None for name in ("native", "tcp", "memory", "two")]
        values = [first.get("native"), first.get("tcp"), *later, ratios.get("tcp"), ratios.get("memory")]
        figures = [number(value) for value in values]
        result = row["status"] if row["status"] == "works" else f"{row['status']}: {row['reason']}"
        text += f"| {' | '.join([row['name'], row['does'], *figures, ' '.join(result.replace('|', '/').split())])} |\n"
    return text


def pipeline_facts(report: dict) -> str:
    """What went through the pipeline of augmented reality, and over what."""
    links = "; ".join(f"`{name}`: {words}" for name, words in report["links"].items())
    servers = report["remotecl_device"]
    of_servers = f" Servers: `{servers['device']}`." if servers and servers != report["native_device"] else ""
    return (
        f"{report['points']:,} points of {report['capacity']:,}, {report['codec']} of "
        f"{report['video_mbit_per_s']:.1f} Mbit/s, pictures of {report['pixels']} pixels square, "
        f"{report['in_flight']} frames on their way. Client: {report['client']}.{of_servers} Links: {links}."
    )


def link_of(report: dict) -> str:
    """How far the places of training are."""
    link = f"Far: {report['gbit_per_s']:g} Gbit/s, {report['delay_ms']:g} ms each way. "
    trips = ", ".join(f"{place['name']} {number(place['round_trip_s'] * 1e6)} us" for place in report["places"])
    return link * any(place["name"] == "far" for place in report["places"]) + f"A read of 4 bytes: {trips}."


def product_commit(*paths: str) -> str:
    """The last commit that changed what is measured."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", *paths]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def make_section(report: dict, commit: str = "") -> str:
    """What stands between the markers: device and machine, and the table."""
    device = report["native_device"] or report["remotecl_device"]
    loaded = ": **a loaded machine**" if report["load"] > QUIET * report["cores"] else ""
    day = datetime.fromisoformat(report["date"].replace("Z", "+00:00"))
    training, pipeline, programs = "places" in report, "in_flight" in report, report.get("programs", [])
    measured = "dnn" if training else "ar"
    commit = commit or product_commit("cpp", *([f"benchmarks/{measured}"] if training or pipeline else []))
    works = sum(row["status"] == "works" for row in programs)
    facts = [
        f"`{device['device']}`, {device['platform']}, driver {device['driver']}.",
        f"{report['cpu']}, {report['cores']} cores, load average {report['load']:.2f} before the run{loaded}.",
        f"{day.day} {day:%B %Y}, commit `{commit}`.",
        *(["Few repetitions (`--quick`)."] if report["quick"] else []),
        *([link_of(report)] if training else []),
        *([pipeline_facts(report)] if pipeline else []),
        *([f"{works} of {len(programs)} programs work."] if programs else []),
    ]
    if programs:
        table = program_table(report)
    elif training or pipeline:
        table = training_table(report) if training else pipeline_table(report)
    else:
        table = HEAD + "".join(map(make_row, report["results"]))
    return " ".join(facts) + "\n\n" + table


def page_with(name: str) -> Path:
    """The page that has the section of that name."""
    pages = [page for page in PAGES for found in SECTION.findall(page.read_text()) if found[1] == name]
    if len(pages) != 1:
        names = " and ".join(f"docs/{page.name}" for page in PAGES)
        raise SystemExit(f"{names} have not one section between markers of the name {name}")
    return pages[0]


def replace_section(page: str, name: str, section: str) -> str:
    """The page's text with another section of that name."""
    return SECTION.sub(lambda found: found[1] + section + found[4] if found[2] == name else found[0], page)


def row_problem(line: str, columns: list[str]) -> str:
    """What this script would have written otherwise; empty if nothing."""
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if len(cells) != len(columns):
        return "has not one cell for each column"
    if line != f"| {' | '.join(cells)} |" or not cells[0] or not cells[1]:
        return "is not a row"
    row = dict(zip(columns, cells, strict=True))
    if columns is COLUMNS:
        return figures_problem(row, COLUMNS[2:-1], "target", "remotecl", is_less_better=row["unit"] in LOWER_IS_BETTER)
    if columns is PROGRAM_COLUMNS:
        return figures_problem(row, PROGRAM_COLUMNS[2:-1], "", "TCP ms", is_less_better=True)
    if columns is PIPELINE_COLUMNS:
        return figures_problem(row, PIPELINE_COLUMNS[2:], "", "frames/s", is_less_better=False)
    for place, whats in PLACES.items():
        figures = [f"{place} {what}" for what in whats if what != "target"]
        target = f"{place} target" if "target" in whats else ""
        if problem := figures_problem(row, figures, target, f"{place} ms", is_less_better=True):
            return problem
    return ""


def figures_problem(row: dict, figures: list[str], target_name: str, measured: str, *, is_less_better: bool) -> str:
    """The same for some figures, one of which may have a target."""
    target, _, verdict = row.get(target_name, "").partition(" ")
    for figure in (*(row[name] for name in figures), target or NONE):
        if figure != NONE and not (re.fullmatch(r"[\d.]+", figure) and number(float(figure)) == figure):
            return f"{figure} is not how a figure is written"
    if not target:
        return "" if not verdict else "has a verdict without a target"
    if verdict not in ("met", "missed") or row[measured] == NONE:
        return "has a target without a verdict"
    # Equal after rounding may be either.
    distance = float(row[measured]) - float(target)
    better = distance < 0 if is_less_better else distance > 0
    return "has the wrong verdict" if distance and better != (verdict == "met") else ""


def target_problems(table: str) -> list[str]:
    """The same for the lines of targets."""
    problems = []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != len(TARGET_COLUMNS):
            problems.append(f"{line}: has not one cell for each column")
            continue
        row = dict(zip(TARGET_COLUMNS, cells, strict=True))
        if problem := figures_problem(row, ["times", "PoCL-R"], "target", "times", is_less_better=False):
            problems.append(f"{cells[0]}, {cells[1]}: {problem}")
    return problems


def section_problems(name: str, section: str) -> list[str]:
    """Where a section is not in the format of `make_section`, or of what was pasted before there was one."""
    if UNMEASURED.fullmatch(section):
        return []
    facts, _, table = section.partition("\n\n")
    problems = []
    if table.startswith(PIPELINE_HEAD):
        table, _, targets = table.partition(f"\n{TARGET_HEAD}")
        problems += [f"{name}: {problem}" for problem in target_problems(targets)]
    if not WRITTEN.fullmatch(facts) and not PASTED.fullmatch(facts):
        problems.append(f"{name}: does not begin with device, machine, date and commit")
    kinds = ((TRAINING_HEAD, TRAINING_COLUMNS), (PIPELINE_HEAD, PIPELINE_COLUMNS), (PROGRAM_HEAD, PROGRAM_COLUMNS))
    kinds += ((HEAD, COLUMNS),)
    head, columns = next((kind for kind in kinds if table.startswith(kind[0])), kinds[-1])
    if not table.startswith(head) or table == head:
        return [*problems, f"{name}: has not the table's columns, or no rows"]
    for line in table.removeprefix(head).splitlines():
        if problem := row_problem(line, columns):
            problems.append(f"{name}: {line.split('|')[1].strip() or line}: {problem}")
    return problems


def page_problems(page: str) -> list[str]:
    """Of all sections, and of markers that are not in pairs."""
    found = {match[2]: match[3] for match in SECTION.finditer(page)}
    problems = [problem for name, section in found.items() for problem in section_problems(name, section)]
    if not found or len(re.findall(r"<!-- (?:begin|end): ", page)) != 2 * len(found):
        problems.append("markers are not in pairs, or a name is there twice")
    return problems


def main(arguments: list[str]) -> int:
    """The command line above."""
    if arguments == ["--check"]:
        problems = [f"docs/{page.name}: {problem}" for page in PAGES for problem in page_problems(page.read_text())]
        print("\n".join(problems) or "the tables of the benchmarks are in the generator's format")
        return 1 if problems else 0
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    name, *files = arguments
    report, *others = (json.loads(Path(file).read_text()) for file in files)
    for other in others:
        for key in {"results", "failures", "programs"} & report.keys():
            report[key] += other[key]
    if report["failures"]:
        raise SystemExit("the run had failures:\n" + "\n".join(report["failures"]))
    page = page_with(name)
    page.write_text(replace_section(page.read_text(), name, make_section(report)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
