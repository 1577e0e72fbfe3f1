"""HTML page of a report, with tables and a script that draws the charts. The file is self-contained and loads nothing else."""

from base64 import b64encode
from datetime import date
from decimal import Decimal
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from node.research.report.queries import TIME, ChartData, Span, number
from rpc.explorer.bundle import joined
from rpc.explorer.files import PREFIX, ROOT, SHEETS
from state.protocol.constants import DAY_SECONDS

HERE = Path(__file__).parent / "web"
MAIN = PREFIX + "report.js"
TYPES = {".js": "text/javascript", ".css": "text/css"}
SHOWN_MAX = 500  # rows per table

# Allows only the page's own script and embedded modules, and loads nothing.
POLICY = "default-src 'none'; script-src {script} data:; style-src 'unsafe-inline' data:; base-uri 'none'; form-action 'none'"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<section class="card" aria-label="Facts"><dl class="facts">{facts}</dl></section>
{parts}
</main>
<footer>{foot}</footer>
<script type="application/json" id="numbers">{numbers}</script>
<script type="module">{script}</script>
</body>
</html>
"""
PART = """<section class="card" aria-label="{title}">
<header><h2>{title}</h2></header>
<p class="muted">{text}</p>
{body}
</section>"""
DETAILS = '<details class="small"><summary class="muted">{words}</summary>{content}</details>'


def page(title: str, facts: list[tuple[str, str]], parts: list[ChartData], span: Span, foot: str) -> str:
    """Return the HTML of a report. Equal input gives equal text."""
    script, style = script_text(), style_text()
    policy = POLICY.format(script=hash_of(script))
    drawn = {part.chart.key: drawing(part, span) for part in parts if is_drawn(part)}
    return PAGE.format(
        policy=escape(policy),
        title=escape(title),
        style=style,
        facts="".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts),
        parts="\n".join(part_text(part) for part in parts),
        foot=escape(foot),
        # Escaped, so that no string can end the script element.
        numbers=msgspec.json.encode(drawn).decode().replace("<", "\\u003c"),
        script=script,
    )


def is_drawn(part: ChartData) -> bool:
    """Whether a section has a chart, which needs more than one row."""
    return bool(part.series) and len(part.rows) > 1


def part_text(part: ChartData) -> str:
    """Return the HTML of a section."""
    chart = part.chart
    if part.missing:
        body = f'<p class="note">Not in this export: {escape(part.missing)}.</p>'
    elif not part.rows:
        body = '<p class="note">There are none in these blocks.</p>'
    elif is_drawn(part):
        body = f'<div id="{chart.key}"></div>\n' + DETAILS.format(words="Numbers", content=table(part))
    else:
        body = table(part)
    if part.query:
        body += "\n" + DETAILS.format(words="SQL", content=f"<pre>{escape(part.query)}</pre>")
    heading = f'<h2 class="part">{escape(chart.heading)}</h2>\n' if chart.heading else ""
    return heading + PART.format(title=escape(chart.title), text=escape(chart.text), body=body)


def table(part: ChartData) -> str:
    """Return the last SHOWN_MAX rows of a section as an HTML table."""
    head = "".join(f'<th scope="col"{css(part.rows[0][i])}>{escape(title)}</th>' for i, title in enumerate(part.titles))
    rows = ("".join(f"<td{css(value)}>{escape(text_of(value))}</td>" for value in row) for row in part.rows[-SHOWN_MAX:])
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    more = len(part.rows) - SHOWN_MAX
    note = f'<p class="muted">The last {SHOWN_MAX} of {len(part.rows):,} rows.</p>' if more > 0 else ""
    caption = f'<caption class="hidden">{escape(part.chart.title)}</caption>'
    return f'{note}<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def css(value: Any) -> str:
    """Return the HTML class attribute for a table cell with this value."""
    return "" if isinstance(value, str | date) else ' class="number"'


def text_of(value: Any) -> str:
    """Format a value as text."""
    if value is None:
        return "–"
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int | Decimal) else f"{value:,.6f}"


def drawing(part: ChartData, span: Span) -> dict[str, Any]:
    """Return the properties with which the explorer's Chart component draws a section, including all its numbers."""
    chart, places = part.chart, {title: i for i, title in enumerate(part.titles)}
    series = []
    for each in part.series:
        columns = [places[column] for column in each.columns]
        if each.kind == "candles":
            names = ("open", "high", "low", "close")
            values: list[Any] = [dict(zip(names, (number(row[i]) for i in columns), strict=True)) for row in part.rows]
        else:
            values = [number(row[columns[0]]) for row in part.rows]
        series.append({"label": each.label, "values": values, "kind": each.kind, "scale": each.scale})
    return {
        "x": [number(row[0]) for row in part.rows],
        "series": series,
        "label": chart.title,
        "unit": chart.unit,
        "isTime": chart.is_by_day,
        "xLabel": TIME if chart.is_by_day else chart.x_label,
        "xTimes": part.times or None,
        "step": span.width if chart.is_by_block else DAY_SECONDS if chart.is_by_day else chart.step,
        "from": 0 if chart.is_filled else None,
        "sync": "blocks" if chart.is_by_block else "days" if chart.is_by_day else "",
    }


def script_text() -> str:
    """Return the page's script: the explorer's chart and its imports bundled into one module, with the libraries as data URLs."""
    sources = {PREFIX + path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted((ROOT / "app").rglob("*.js"))}
    text = joined({**sources, MAIN: (HERE / "report.js").read_text()}, MAIN)
    for path in sorted((ROOT / "vendor").iterdir()):
        if path.suffix in TYPES:
            text = text.replace(f'"{PREFIX}vendor/{path.name}"', f'"{data_url(path)}"')
    assert "</script" not in text.lower(), "the script would end the element that holds it"
    return text


def style_text() -> str:
    """Return the style sheets of the page: the explorer's, and the rules for a standalone page."""
    sheets = [ROOT / sheet.removeprefix(PREFIX) for sheet in SHEETS]
    return "".join(path.read_text() for path in (*sheets, HERE / "report.css"))


def data_url(path: Path) -> str:
    """Return the content of a file as a data URL."""
    return f"data:{TYPES[path.suffix]};base64,{b64encode(path.read_bytes()).decode()}"


def hash_of(text: str) -> str:
    """Return the hash of an inline script for the content security policy."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
