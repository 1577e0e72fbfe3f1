// Draws the pictures of a report; their numbers stand in the page as tables.
import { html, render } from "./app/html.js";
import { Chart } from "./app/parts/chart.js";

for (const [key, picture] of Object.entries(JSON.parse(document.getElementById("numbers").textContent))) {
  render(html`<${Chart} ...${picture} hasNumbers=${false} />`, document.getElementById(key));
}
