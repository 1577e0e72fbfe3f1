// The bytes of a transaction with the map of its fields: a field that is pointed at, in the bytes or in the table, is marked in both.
import { html, useState, useStyle } from "../html.js";

const VALUE_MAX = 120;

// `hex` are the bytes, `fields` are {path, offset, size, hex, value} in their order; `leftOut` says that the last fields are not among them.
export function Bytes({ hex, fields, leftOut = false }) {
  useStyle("details");
  const [active, setActive] = useState(-1);
  const move = (event) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -fields.length, End: fields.length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    setActive(Math.max(0, Math.min(fields.length - 1, active + steps[event.key])));
  };
  const last = fields.at(-1);
  const rest = last ? hex.slice(2 * (last.offset + last.size)) : hex;
  const shown = fields[active];
  return html`
    <p id="bytes-help" class="muted small">Point at a field, in the bytes or in the table, to see both. By keyboard: the arrow keys, in the bytes.</p>
    <div class="bytes mono" role="listbox" tabindex="0" aria-label="Bytes by field" aria-describedby="bytes-help"
      aria-activedescendant=${shown ? `field-${active}` : null} onKeyDown=${move} onMouseLeave=${() => setActive(-1)}>
      ${fields.map((field, i) => html`
        <span key=${i} id=${`field-${i}`} role="option" aria-selected=${i === active} aria-label=${words(field)} title=${words(field)}
          class=${`${i % 2 ? "odd" : ""} ${i === active ? "active" : ""}`} onMouseEnter=${() => setActive(i)} onClick=${() => setActive(i)}>${pairs(field.hex)}
            </span>${" "}
      `)}
      ${rest && html`<span class="muted">${pairs(rest)}</span>`}
    </div>
    <p class="bytes-now small" role="status">${shown ? words(shown) : " "}</p>
    <div class="scroll bytes-table" tabindex="0" role="region" aria-label="The fields">
      <table>
        <caption class="hidden">The fields in the order of the bytes</caption>
        <thead><tr><th scope="col">Field</th><th scope="col" class="number">At byte</th><th scope="col" class="number">Bytes</th><th scope="col">Value</th>
          <th scope="col">Hex</th></tr></thead>
        <tbody onMouseLeave=${() => setActive(-1)}>
          ${fields.map((field, i) => html`
            <tr key=${i} class=${i === active ? "active" : ""} onMouseEnter=${() => setActive(i)}>
              <td class="mono">${field.path}</td><td class="number">${field.offset}</td><td class="number">${field.size}</td>
              <td class="break">${valueText(field.value)}</td><td class="mono break">${clipped(field.hex, 64)}</td>
            </tr>
          `)}
        </tbody>
      </table>
    </div>
    ${leftOut && html`<p class="muted small">There are more fields than are listed here.</p>`}
  `;
}

function words({ path, offset, size, value }) {
  return `${path}: ${size} byte${size === 1 ? "" : "s"} at ${offset}, ${valueText(value)}`;
}

function valueText(value) {
  if (value === null || value === undefined) return "nothing";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === "" ? "an empty text" : clipped(text, VALUE_MAX);
}

function clipped(text, size) {
  return text.length > size ? `${[...text.slice(0, size)].join("")}…` : text;
}

function pairs(hex) {
  return hex.match(/../g)?.join(" ") ?? "";
}
