// Pictures of numbers, drawn by uPlot on a canvas: lines, areas, steps, bars and candles over time or over numbers. Its colours are those
// of the theme, and the numbers stand below as a table.
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { Table } from "./layout.js";
import { csvText, fileName, saveFile, savePicture } from "./save.js";

const LIBRARY = "/explorer/vendor/uplot.js";
const SHEET = "/explorer/vendor/uplot.css";
const HEIGHT = 240;
const ROWS_MAX = 200;
const DIGITS = 6;
const CHARACTER_PIXELS = 7.2;
const CANDLE_SHARE = 0.7;
const CANDLE_PIXELS_MAX = 24;
const WICK_PIXELS = 1;
const FILL_SHARE = "26";
const FILLED = ["area", "bars", "steps", "steps-before"]; // kinds that show a value as a length, which begins at zero
const SERIES_COLOURS = 8;
const DRAG_PIXELS_MIN = 5;
const DAY_SECONDS = 86400;
const DARK = matchMedia("(prefers-color-scheme: dark)");

const WHOLE = Array.from({ length: 13 }, (_, i) => [1, 2, 5].map((digit) => digit * 10 ** i)).flat();

let uPlot = null;
let isStyled = false;

// Loads what draws, when a picture is first shown; returns whether it is there.
function useLibrary() {
  const [isThere, setThere] = useState(uPlot !== null);
  useEffect(() => {
    if (isThere) return;
    import(LIBRARY).then((module) => {
      uPlot = module.default;
      setThere(true);
    }, () => {}); // the numbers stand below all the same
  }, [isThere]);
  return isThere;
}

function useSheet() {
  if (isStyled) return;
  isStyled = true;
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = SHEET;
  document.head.append(link);
}

// A colour of the theme as it is now, "#rrggbb": a canvas knows no variables, and `light-dark()` stands in them.
function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.documentElement.append(probe);
  const [red, green, blue] = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  probe.remove();
  return `#${[red, green, blue].map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

// A number of which a few digits are enough: "1.25 M", "0.000251".
export function roughText(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (size >= unit) return `${trimmed((value / (letter === "k" ? 1e3 : unit)).toPrecision(DIGITS))} ${letter}`;
  }
  return trimmed(value.toPrecision(DIGITS));
}

function trimmed(text) {
  const short = text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
  return short.replace("-", "−");
}

function utcText(seconds) {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}

// A picture. `x` are times in seconds since 1970 (`isTime`) or numbers, ascending. `series` are {label, values, kind, colour, scale}:
// `kind` is line, area, steps-line, steps (filled, each value lasts until the next one), steps-before (or begins after the one before), bars or
// candles, whose values are {open, high, low, close}; null leaves a gap. `scale` is "y", or "right"
// for numbers of another size, which have their axis on the right. `label` says what the picture shows, for those who can't see it, and
// `unit` what is counted, `isWhole` whether only whole numbers are; `step` is the width of a period, for bars and candles.
// `rows` and `columns` are the numbers as a table; without them it is made of what is drawn, unless they stand elsewhere (`hasNumbers`).
// `xTimes` are the times of x in seconds since 1970, or null, where x are blocks: dates stand below the numbers of the axis.
// Axes begin at `from`; without it at zero if a series of theirs is filled. A range of x is chosen by dragging, and the whole one
// again by a double click or a button. Charts with the same `sync` share the range and the pointer.
export function Chart({ x, series, label, unit = "", isTime = true, height = HEIGHT, xLabel = isTime ? "Time (UTC)" : "", format = roughText, from = null,
  step = 0, isWhole = false, rows, columns, hasNumbers = true, sync = "", xTimes = null }) {
  useSheet();
  const isThere = useLibrary();
  const place = useRef(null);
  const plotted = useRef(null);
  const chosen = useRef(null); // the range of x as [low, high], which a new plot keeps; null is the whole
  const [isZoomed, setZoomed] = useState(false);
  const [legend, setLegend] = useState(null);
  const round = useTheme();
  const key = useMemo(() => ({}), [JSON.stringify([x, xTimes, series.map(({ values, ...rest }) => [values, rest])])]);
  useEffect(() => {
    if (!x.length || !isThere) return undefined;
    const element = place.current;
    const before = chosen.current;
    const onRange = ({ scales: { x: { min, max } } }) => {
      chosen.current = min <= x[0] && max >= x.at(-1) ? null : [min, max];
      element.dataset.range = `${min} ${max}`;
      setZoomed(chosen.current !== null);
    };
    const wanted = { x, series, isTime, height, format, from, step, isWhole, sync, xTimes, width: element.clientWidth, onMove: setLegend, onRange };
    const plot = new uPlot(options(wanted), dataOf(x, series), element);
    passTouches(plot.over);
    if (before && x.some((value) => value >= before[0] && value <= before[1])) plot.setScale("x", { min: before[0], max: before[1] });
    plotted.current = plot;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth && element.clientWidth !== plot.width) plot.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [key, round, height, isThere, sync]);
  if (!x.length) return html`<p class="muted">There is nothing to show yet.</p>`;
  const showWhole = () => {
    for (const plot of sync ? uPlot.sync(sync).plots : [plotted.current]) plot.setScale("x", { min: plot.data[0][0], max: plot.data[0].at(-1) });
  };
  const file = fileName(label);
  const saveNumbers = () => saveFile(`${file}.csv`, new Blob([csvText({ x, series, isTime, xLabel, xTimes })], { type: "text/csv" }));
  const saveDrawn = () => {
    const keys = series.map((one, i) => [one.label, colour(colourOf(one, i))]);
    const title = unit ? `${label} (${unit})` : label;
    savePicture(plotted.current.ctx.canvas, file, { title, keys, ground: colour("surface"), ink: colour("text"), font: fontText() });
  };
  const at = legend !== null && legend < x.length ? legend : null;
  const where = (i) => (isTime ? `${utcText(x[i])} UTC` : `${xLabel} ${xText(x[i], xTimes, format)}${xTimes?.[i] ? `, ${utcText(xTimes[i])} UTC` : ""}`);
  return html`
    <figure class="chart">
      <div class="picture" role="img" aria-label=${`${label}. The numbers are in the table below.`} ref=${place} style=${{ minHeight: `${height}px` }}></div>
      <figcaption class="small">
        ${series.map((one, i) => html`
          <span class="key"><span class="swatch" style=${{ background: `var(--${colourOf(one, i)})` }}></span>${one.label}${at !== null
            && html` <b>${valueText(one, at, format)}</b>`}</span>`)}
        <span class="muted">${at !== null ? where(at) : unit}</span>
        ${isThere && html`<span class="tools">
          ${isZoomed && html`<button type="button" onClick=${showWhole}>Whole range</button>`}
          <button type="button" title="Save the chart as a picture" aria-label=${`Save as PNG: ${label}`} onClick=${saveDrawn}>PNG</button>
          <button type="button" title="Save the numbers" aria-label=${`Save as CSV: ${label}`} onClick=${saveNumbers}>CSV</button>
        </span>`}
      </figcaption>
      ${hasNumbers && html`<${Numbers} ...${{ x, series, label, isTime, xLabel, format, rows, columns, xTimes }} />`}
    </figure>
  `;
}

// uPlot handles only events of a mouse, so touches are passed on as such. If the page scrolls instead, the touch counts as not moved.
function passTouches(over) {
  let begin = null;
  const pass = (from, to, where) => over.addEventListener(from, (event) => {
    if (event.pointerType !== "touch") return;
    const { clientX, clientY } = where(event);
    over.dispatchEvent(new MouseEvent(to, { bubbles: true, clientX, clientY, movementX: 1 }));
  });
  pass("pointerdown", "mousemove", (event) => event);
  pass("pointerdown", "mousedown", (event) => (begin = event));
  pass("pointermove", "mousemove", (event) => event);
  pass("pointerup", "mouseup", (event) => event);
  pass("pointercancel", "mousemove", () => begin);
  pass("pointercancel", "mouseup", () => begin);
}

// A number of the x axis: blocks in full, others in a few digits.
function xText(value, xTimes, format) {
  return xTimes ? value.toLocaleString("en") : format(value);
}

function fontText() {
  return `12px ${getComputedStyle(document.body).fontFamily}`;
}

// The words at an axis: in full where the rough ones would be the same, as those of a supply that hardly changes.
function distinct(splits, format) {
  const texts = splits.map((value) => (value === null ? "" : format(value)));
  if (new Set(texts).size === texts.length) return texts;
  const decimals = Math.max(0, Math.min(9, 1 - Math.floor(Math.log10(Math.abs(splits[1] - splits[0])))));
  return splits.map((value) => (value === null ? "" : value.toLocaleString("en", { maximumFractionDigits: decimals })));
}

// Counts the changes of the theme.
function useTheme() {
  const [round, setRound] = useState(0);
  useEffect(() => {
    // The button writes the theme after it has told of it.
    const turn = () => setTimeout(() => setRound((n) => n + 1), 30);
    addEventListener("themechange", turn);
    DARK.addEventListener("change", turn);
    return () => {
      removeEventListener("themechange", turn);
      DARK.removeEventListener("change", turn);
    };
  }, []);
  return round;
}

function colourOf(one, i) {
  return one.colour ?? `series-${(i % SERIES_COLOURS) + 1}`;
}

function dataOf(x, series) {
  return [x, ...series.flatMap(({ kind, values }) =>
    kind === "candles" ? ["open", "high", "low", "close"].map((part) => values.map((value) => value?.[part] ?? null)) : [values])];
}

function options({ x, series, isTime, height, format, from, step, isWhole, sync, xTimes, width, onMove, onRange }) {
  const ink = colour("muted");
  const grid = { stroke: colour("line"), width: 1 };
  const font = fontText();
  const on = (wanted) => series.filter(({ scale = "y" }) => scale === wanted);
  const hasRight = on("right").length > 0;
  const axis = (scale, side) => ({
    scale, side, font, stroke: ink, grid: side === 1 ? { show: false } : grid, ticks: grid,
    space: Math.min(36, height / 5), ...(isWhole ? { incrs: WHOLE } : {}),
    ...(hasRight ? { label: on(scale).map(({ label }) => label).join(", "), labelFont: font, labelSize: 18, labelGap: 0 } : {}),
    values: (_, splits) => distinct(splits, format),
    size: (_, values) => 18 + CHARACTER_PIXELS * Math.max(3, ...(values ?? []).map(({ length }) => length)),
  });
  const range = (scale) => {
    const begin = from ?? (on(scale).some(({ kind }) => FILLED.includes(kind)) ? 0 : null);
    return (_, low, high) => (low === null ? [0, 1] : bounds(low, high, begin));
  };
  const whole = padded(x[0], x.at(-1), series, step);
  const numbers = (plot, splits) => (xTimes ? dated(plot, splits, x, xTimes) : splits.map((value) => format(value)));
  return {
    width, height, tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    padding: [10, hasRight ? 0 : isTime || xTimes ? 26 : 12, 0, 0],
    legend: { show: false },
    cursor: { drag: { setScale: true, x: true, y: false, dist: DRAG_PIXELS_MIN }, points: { size: 6 }, ...(sync ? { sync: { key: sync } } : {}) },
    scales: {
      x: { time: isTime, range: (_, low, high) => (low <= x[0] && high >= x.at(-1) ? whole : [low, high]) },
      y: { range: range("y") },
      right: { range: range("right") },
    },
    axes: [
      { font, stroke: ink, grid, ticks: grid, space: xTimes ? 78 : isTime ? 70 : 60, values: isTime ? TIMES : numbers },
      axis("y", 3),
      ...(hasRight ? [axis("right", 1)] : []),
    ],
    series: [{}, ...series.flatMap((one, i) => drawn(one, colour(colourOf(one, i)), i))],
    hooks: {
      setCursor: [({ cursor }) => onMove(cursor.idx ?? null)],
      setScale: [(plot, scale) => scale === "x" && onRange(plot)],
      draw: [(plot) => drawCandles(plot, series, step)],
    },
  };
}

// The ends of an axis for values from `low` to `high`. It begins at `begin`, or else at zero if that is near, below the lowest value if not.
function bounds(low, high, begin) {
  const rest = (high - low) * 0.08 || Math.abs(high) * 0.02 || 1;
  if (begin !== null) return [low < begin ? low - rest : begin, high + rest];
  return [low >= 0 && low < (high - low) / 2 ? 0 : low - rest, high + rest];
}

// Numbers of blocks, with the dates of the blocks below where they change. A block without a known time has that of the last known one
// before it.
function dated(plot, splits, x, xTimes) {
  const timeAt = (value) => xTimes[x.findLastIndex((block, i) => block <= value && xTimes[i] !== null)] ?? null;
  const { min, max } = plot.scales.x;
  const isShort = timeAt(max) - (timeAt(min) ?? xTimes[0]) < 2 * DAY_SECONDS;
  const dates = splits.map((value) => {
    const time = timeAt(value);
    return time === null ? "" : isShort ? utcText(time).slice(5, 16) : utcText(time).slice(0, 10);
  });
  return splits.map((value, i) => `${value.toLocaleString("en")}\n${dates[i] === dates[i - 1] ? "" : dates[i]}`);
}

// Bars and candles of the first and the last time stay whole.
function padded(low, high, series, step) {
  const rest = series.some(({ kind }) => kind === "bars" || kind === "candles") ? step / 2 : 0;
  return low === high ? [low - (rest || 1), high + (rest || 1)] : [low - rest, high + rest];
}

// Of each unit: the time words, and with what they begin where a larger one changes. 24 hours, and days as the chain writes them.
const TIMES = [
  [86400 * 365, "{YYYY}", null, null, null, null, null, null, 1],
  [86400 * 28, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
];

function drawn({ kind = "line", scale = "y", label }, stroke) {
  const base = { label, scale, stroke, width: 1.6, points: { show: false }, spanGaps: true };
  if (kind === "candles") return ["open", "high", "low", "close"].map(() => ({ ...base, stroke: "transparent", paths: () => null }));
  if (kind === "bars") return [{ ...base, fill: stroke, width: 0, paths: uPlot.paths.bars({ size: [CANDLE_SHARE, 40] }) }];
  if (kind === "steps") return [{ ...base, fill: stroke + FILL_SHARE, paths: uPlot.paths.stepped({ align: 1 }) }];
  if (kind === "steps-before") return [{ ...base, fill: stroke + FILL_SHARE, paths: uPlot.paths.stepped({ align: -1 }) }];
  if (kind === "steps-line") return [{ ...base, paths: uPlot.paths.stepped({ align: 1 }) }];
  if (kind === "area") return [{ ...base, fill: stroke + FILL_SHARE }];
  return [base];
}

// Draws the candles over what uPlot has drawn: a wick from low to high, a body from open to close, green where the price rose.
function drawCandles(plot, series, step) {
  const { ctx } = plot;
  let place = 1;
  for (const { kind } of series) {
    if (kind === "candles") {
      const [open, high, low, close] = plot.data.slice(place, place + 4);
      const good = colour("good");
      const bad = colour("bad");
      const room = plot.valToPos(plot.scales.x.min + step, "x", true) - plot.valToPos(plot.scales.x.min, "x", true);
      const width = Math.max(2, Math.min(CANDLE_PIXELS_MAX * devicePixelRatio, room * CANDLE_SHARE));
      ctx.save();
      plot.data[0].forEach((time, i) => {
        if (open[i] === null) return;
        const y = (value) => plot.valToPos(value, "y", true);
        const x = plot.valToPos(time, "x", true);
        ctx.fillStyle = close[i] >= open[i] ? good : bad;
        const wick = Math.max(1, WICK_PIXELS * devicePixelRatio);
        ctx.fillRect(x - wick / 2, y(high[i]), wick, Math.max(wick, y(low[i]) - y(high[i])));
        const top = y(Math.max(open[i], close[i]));
        ctx.fillRect(x - width / 2, top, width, Math.max(wick, y(Math.min(open[i], close[i])) - top));
      });
      ctx.restore();
    }
    place += kind === "candles" ? 4 : 1;
  }
}

function valueText({ kind, values }, at, format) {
  const value = values[at];
  if (value === null || value === undefined) return "–";
  return kind === "candles" ? `${format(value.open)} → ${format(value.close)} (${format(value.low)} to ${format(value.high)})` : format(value);
}

// The numbers behind a picture. A long table is made only once it is opened.
function Numbers({ x, series, label, isTime, xLabel, format, rows, columns, xTimes }) {
  const [isOpen, setOpen] = useState(false);
  const table = () => {
    if (columns) return html`<${Table} caption=${label} columns=${columns} rows=${rows.slice(-ROWS_MAX)} />`;
    const places = x.map((_, i) => i).slice(-ROWS_MAX);
    const made = [
      { title: xLabel, cell: (i) => html`<span class="nowrap">${isTime ? utcText(x[i]) : xText(x[i], xTimes, format)}</span>` },
      ...series.map((one) => ({ title: one.label, isNumber: true, cell: (i) => valueText(one, i, format) })),
    ];
    return html`<${Table} caption=${label} columns=${made} rows=${places} />`;
  };
  const count = (rows ?? x).length;
  return html`
    <details class="small" onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary class="muted">Numbers</summary>
      ${isOpen && html`${count > ROWS_MAX && html`<p class="muted">The last ${ROWS_MAX} of ${count}.</p>`}<div class="numbers">${table()}</div>`}
    </details>
  `;
}
