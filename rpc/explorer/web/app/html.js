// What every component is made with: Preact, its hooks, and htm's `html` for markup in plain JavaScript. Texts never become markup.
import { h, hooks, htm, render } from "../vendor/preact.js";

export const html = htm.bind(h);
export const { useCallback, useEffect, useErrorBoundary, useMemo, useRef, useState } = hooks;
export { h, render };

const styles = new Set();

// Loads a style sheet of a page, once.
export function useStyle(name) {
  if (styles.has(name)) return;
  styles.add(name);
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = `/explorer/style/${name}.css`;
  document.head.append(link);
}
