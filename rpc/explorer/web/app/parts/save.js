// The files of a chart that a visitor can save: its picture as PNG, its numbers as CSV. The page makes them without a request.
const PADDING = 12;
const LINE = 20;
const SWATCH = 10;

// A file's name without its ending, from words.
export function fileName(words) {
  return words.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "chart";
}

// The numbers of a chart as CSV (RFC 4180): a row for each x. Times are written as in ISO 8601, numbers as JavaScript prints them in full.
export function csvText({ x, series, isTime, xLabel, xTimes }) {
  const columns = [[isTime ? "time" : xLabel || "x", isTime ? x.map(isoTime) : x]];
  if (xTimes) columns.push(["time", xTimes.map(isoTime)]);
  for (const { label, kind, values } of series) {
    if (kind !== "candles") columns.push([label, values]);
    else for (const part of ["open", "high", "low", "close"]) columns.push([`${label} ${part}`, values.map((value) => value?.[part])]);
  }
  const rows = [columns.map(([title]) => title), ...x.map((_, i) => columns.map(([, values]) => values[i]))];
  return rows.map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

function isoTime(seconds) {
  return seconds === null ? null : new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

function quoted(value) {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Saves a drawn canvas with a title above it and the names of its series. `keys` are [name, colour].
export function savePicture(canvas, name, { title, keys, ground, ink, font }) {
  const scale = devicePixelRatio;
  const picture = document.createElement("canvas");
  const head = PADDING + 2 * LINE;
  picture.width = canvas.width + 2 * PADDING * scale;
  picture.height = canvas.height + (head + PADDING) * scale;
  const ctx = picture.getContext("2d");
  ctx.fillStyle = ground;
  ctx.fillRect(0, 0, picture.width, picture.height);
  ctx.drawImage(canvas, PADDING * scale, head * scale);
  ctx.scale(scale, scale);
  ctx.textBaseline = "middle";
  ctx.fillStyle = ink;
  ctx.font = `bold ${font}`;
  ctx.fillText(title, PADDING, PADDING + LINE / 2, canvas.width / scale);
  ctx.font = font;
  let left = PADDING;
  for (const [words, colour] of keys) {
    ctx.fillStyle = colour;
    ctx.fillRect(left, PADDING + 1.5 * LINE - SWATCH / 2, SWATCH, SWATCH);
    ctx.fillStyle = ink;
    ctx.fillText(words, left + 1.5 * SWATCH, PADDING + 1.5 * LINE);
    left += 3 * SWATCH + ctx.measureText(words).width;
  }
  picture.toBlob((blob) => saveFile(`${name}.png`, blob));
}

// Offers a file to save. The link is never part of the page.
export function saveFile(name, blob) {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // some browsers read it after the click
}
