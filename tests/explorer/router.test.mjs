// The addresses of the explorer's pages. Run by `node --test tests/explorer`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const ROUTER = new URL("../../rpc/explorer/web/app/router.js", import.meta.url);
const ORIGIN = "http://127.0.0.1:8090";
const stubs = "const { location, history } = globalThis.page; const html = String; ";
const source = stubs + readFileSync(ROUTER, "utf8").replace(/^import .*$/gm, "");

// Like a browser's history, it refuses an address of another host.
const shown = [];
const note = (_, title, address) => {
  const url = new URL(address, ORIGIN);
  if (url.origin !== ORIGIN) throw new DOMException(`not of this page: ${url}`, "SecurityError");
  shown.push(url.href);
};
globalThis.page = { location: { origin: ORIGIN, pathname: "//evil.example/x", search: "" }, history: { pushState: note, replaceState: note } };
const { go, setQuery } = await import(`data:text/javascript;base64,${Buffer.from(source).toString("base64")}`);

test("a path that begins with two strokes stays at this host", () => {
  setQuery({ kind: "payout" });
  go("//evil.example/y");
  go("/market");
  assert.deepEqual(shown, [`${ORIGIN}//evil.example/x?kind=payout`, `${ORIGIN}//evil.example/y`, `${ORIGIN}/market`]);
});
