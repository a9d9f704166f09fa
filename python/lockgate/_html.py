"""Display in notebooks: HTML with inline SVG, without scripts and without other packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from . import _lockgate

if TYPE_CHECKING:
    from ._plan import Comparison
    from ._run import Run
    from ._scenario import Scenario
    from ._table import Table
    from ._test import Tests
    from ._tune import Tuned

#: Rows of a table that a notebook shows.
MOST_ROWS = 10
#: Flows that a figure shows.
MOST_FLOWS = 6
#: Colours that differ for most readers (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
#: Strokes beside the colours, so that lines differ in print too; the first is solid.
STROKES = ("none", "6 3", "2 2", "8 2 2 2", "1 3", "4 4")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], addresses: Sequence[str] = ()) -> str:
    """Returns a table of texts; the address of a column is shown over its heading that is pointed at."""
    titles = [f' title="{escape(address)}"' if address else "" for address in addresses] or [""] * len(header)
    head = "".join(f"<th{title}>{escape(cell)}</th>" for cell, title in zip(header, titles, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def run_page(run: Run) -> str:
    """Returns the verdict, the delays over time, and a table of the flows."""
    colour = "#009e73" if run.holds else "#d55e00"
    parts = [
        f"<div><b>{escape(run._title)}</b><br>",
        f'<span style="color:{colour}">{escape(run.verdict)}</span><br>',
        f"<small>{escape(run._inner.finding)}</small></div>",
        delays(run),
        flows(run),
    ]
    return "".join(parts)


def flows(run: Run) -> str:
    """Returns a table of the flows, without those that carry acknowledgements."""
    shown = [name for name in run.flows if not name.endswith("/return")]
    rows = []
    for name in shown[: 2 * MOST_ROWS]:
        flow = run.flows[name]
        figures = (
            ("owd.p50", flow.owd.p50),
            ("owd.p99", flow.owd.p99),
            ("goodput", flow.goodput),
            ("loss", flow.loss),
        )
        # Any address of the kind has the unit.
        rows.append([name, *(_lockgate.quantity(f"flow.f.{metric}", value) for metric, value in figures)])
    more = len(shown) - len(rows)
    note = f"<small>and {more} more flows</small>" if more > 0 else ""
    return table(["flow", "delay p50", "delay p99", "goodput", "loss"], rows) + note


def delays(run: Run) -> str:
    """Returns a figure of the flows' 99th percentiles of one-way delay over time, on a logarithmic scale."""
    lines: list[tuple[str, list[tuple[float, float]]]] = []
    judged = [of["that"] for of in run.summary["expect"]]
    names = [name for name in run.flows if not name.endswith("/return")]
    # Those that are judged first: they are drawn above the others.
    names.sort(key=lambda name: not any(that.startswith((f"flow.{name}.", f'flow."{name}".')) for that in judged))
    for name in names[:MOST_FLOWS]:
        series = run.series(f'flow."{name}".owd_p99').to_dict()
        points = zip(series["time_s"], series["owd_p99_s"], strict=True)
        lines.append((name, [(at, delay) for at, delay in points if delay]))
    lines = [(name, points) for name, points in lines if points]
    if not lines:
        return ""
    shown = {name for name, _ in lines}
    bounds = [
        (of["that"].removeprefix("flow.").removesuffix(".owd.p99"), limit)
        for of in run.summary["expect"]
        if of["that"].endswith(".owd.p99") and (limit := of.get("below", of.get("at_most")))
    ]
    changes = [phase["from_s"] for phase in run.summary.get("phases", [])[1:]]
    kept = [(name, limit) for name, limit in bounds if name.strip('"') in shown]
    return figure(lines, run.scenario.duration, kept, changes, run.summary.get("warmup_s", 0.0))


def figure(
    lines: list[tuple[str, list[tuple[float, float]]]],
    end: float,
    bounds: Sequence[tuple[str, float]] = (),
    changes: Sequence[float] = (),
    warmup: float = 0.0,
) -> str:
    """Returns lines over time as SVG. The vertical scale is logarithmic, with a line at each power of ten.

    Args:
        lines: Name and points of each line: time and delay, in seconds. The first is drawn above the others.
        end: End of the horizontal axis, in seconds.
        bounds: Name and largest delay of what is expected, in seconds: a red rule each.
        changes: Times of the changes, in seconds: a dashed rule each.
        warmup: End of the time that results leave out, in seconds: grey.
    """
    from math import ceil, floor, log10

    # Half a line of text above the highest power of ten, whose label is centred on it.
    width, height, left, top, bottom = 640, 206, 52, 10, 22
    values = [delay for _, points in lines for _, delay in points] + [limit for _, limit in bounds]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    high = max(high, low + 1)

    def x(at: float) -> float:
        return left + (width - left - 4) * at / end

    def y(delay: float) -> float:
        return top + (height - top - bottom) * (high - log10(delay)) / (high - low)

    size = f'viewBox="0 0 {width} {height}" width="{width}"'
    parts = [f'<svg {size} role="img" font-family="sans-serif" font-size="10">']
    parts.append("<title>one-way delay, 99th percentile of each interval</title>")
    if warmup > 0:
        area = f'x="{left}" y="{top}" width="{x(warmup) - left:.1f}" height="{height - top - bottom}"'
        parts.append(f'<rect {area} fill="#8882"><title>left out of the results</title></rect>')
    for power in range(low, high + 1):
        level, name = y(10.0**power), _lockgate.quantity("flow.f.owd.p99", 10.0**power)
        parts.append(f'<line x1="{left}" x2="{width - 4}" y1="{level:.1f}" y2="{level:.1f}" stroke="#8884"/>')
        place = f'x="{left - 4}" y="{level + 3:.1f}" text-anchor="end" fill="currentColor"'
        parts.append(f"<text {place}>{name}</text>")
    for at in (0.0, end / 2, end):
        anchor = "end" if at == end else "middle"
        place = f'x="{x(at):.1f}" y="{height - 4}" text-anchor="{anchor}" fill="currentColor"'
        parts.append(f"<text {place}>{at:g} s</text>")
    for at in changes:
        place = f'x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{top}" y2="{height - bottom}"'
        parts.append(f'<line {place} stroke="currentColor" stroke-dasharray="2 3">')
        parts.append(f"<title>change at {at:g} s</title></line>")
    for name, limit in bounds:
        place = f'x1="{left}" x2="{width - 4}" y1="{y(limit):.1f}" y2="{y(limit):.1f}"'
        text = f"{name}: at most {_lockgate.quantity('flow.f.owd.p99', limit)}"
        parts.append(f'<line {place} stroke="#c00"><title>{escape(text)}</title></line>')
    # The first is drawn last.
    for (name, points), colour, stroke in reversed(list(zip(lines, COLOURS, STROKES, strict=False))):
        path = " ".join(f"{x(at):.1f},{y(delay):.1f}" for at, delay in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-dasharray="{stroke}">')
        parts.append(f"<title>{escape(name)}</title></polyline>")
    names = [
        f'<span style="color:{colour}">&#9632; {escape(name)}</span>'
        for (name, _), colour in zip(lines, COLOURS, strict=False)
    ]
    limits = "; red: what is expected" if bounds else ""
    legend = f"<div><small>delay p99 over time: {' '.join(names)}{limits}</small></div>"
    return f"{''.join(parts)}</svg>{legend}"


def texts_page(texts: Mapping[str, Any], head: str, after: Iterable[str] = ()) -> str:
    """Returns a table that the library made, with its head, its note and the lines after it."""
    notes = "<br>".join(escape(line) for line in (texts["note"], *after) if line)
    return f"<div>{head}</div>{table(texts['columns'], texts['rows'], texts.get('addresses', ()))}<small>{notes}</small>"


def comparison_page(comparison: Comparison) -> str:
    """Returns the decision and the table of a comparison, as the command prints them."""
    lacking = len(comparison.plan) - len(comparison.table())
    lost = [f"{lacking} runs are missing or failed: see plan.failed"] if lacking else []
    document = comparison._document
    decision = "".join(f"<br>{escape(sentence)}" for sentence in document["decision"])
    head = f"<b>{escape(comparison.plan.title)}</b>, {escape(document['size'])}{decision}"
    return texts_page(document["table"], head, [*document["sentences"], *lost])


def tuned_page(tuned: Tuned) -> str:
    """Returns the judgement and the points of a search, as the command prints them."""
    document = tuned._document
    head = f"<b>{escape(tuned._scenario.title)}</b>, {escape(document['size'])}"
    finalists, points = document["finalists"], document["points"]
    judged = texts_page(finalists, f"{head}<br>{escape(finalists['title'])}", document["sentences"])
    return f"{judged}<details><summary>{escape(points['title'])}</summary>{texts_page(points, '')}</details>"


def tests_page(tests: Tests) -> str:
    """Returns the lines of a test, and the differences from its baseline."""
    document = tests._document
    lines = "".join(f"<div>{escape(line)}</div>" for line in document["lines"])
    table = document["differences"]
    return lines if table is None else lines + texts_page(table, escape(table["title"]), document["gaps"])


def table_page(shown: Table) -> str:
    """Returns the first rows of a table."""
    columns = shown.head(MOST_ROWS).to_dict()
    rows = [[_text(value) for value in row] for row in zip(*columns.values(), strict=True)]
    return f"{table(list(columns), rows)}<small>{len(shown)} rows</small>"


def scenario_page(scenario: Scenario) -> str:
    """Returns the title, and the text in a box that opens."""
    text = escape(scenario.to_toml())
    return f"<details><summary>{escape(repr(scenario))}</summary><pre>{text}</pre></details>"


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
