// Commands that users copy from a page: in a shell, no text from strangers is executed. Run by `node --test tests/explorer`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const APP = new URL("../../rpc/explorer/web/app/", import.meta.url);
const stubs = `const chain = { isLocal: true }; const amountText = String; const isAmount = () => false; const operationOf = (one) => one;
const location = { get origin() { return globalThis.origin; } };`;
const source = stubs + readFileSync(new URL("clients.js", APP), "utf8").replace(/^import .*$/gm, "");
const { curlOf, jsonWord, nodeWord, tameJson } = await import(`data:text/javascript;base64,${Buffer.from(source).toString("base64")}`);
const attacks = JSON.parse(readFileSync(new URL("../rpc/explorer/attacks.json", import.meta.url), "utf8"));
const QUOTES = ["it's", "'; touch /tmp/x; '", "\\'; id; \\'", "$(id)`id`", '" & calc & "', "a\n'\nEND\nid\n", "\u2019; calc; \u2019", "%PATH%!x", "\u001b[201~\u009b201~"];
const everything = [...new Set([...QUOTES, ...Object.values(attacks).flat()])];

// How a POSIX shell expands a word.
function shellWord(word) {
  return execFileSync("sh", ["-c", `printf %s ${word}`], { encoding: "utf8" });
}

test("a shell gets the same JSON, with nothing in it that any shell takes for more", () => {
  for (const memo of everything) {
    const word = jsonWord({ memo });
    assert.deepEqual(JSON.parse(word.slice(1, -1)), { memo });
    assert.doesNotMatch(word.slice(1, -1), /['`$&|<>^%!;\u2018-\u201f]|[\u0000-\u001f\u007f-\u009f]/);
  }
  for (const memo of QUOTES) assert.deepEqual(JSON.parse(shellWord(jsonWord({ memo }))), { memo });
});

test("a document of several lines has no line of its own", () => {
  for (const memo of everything) assert.ok(!tameJson([["transfer", { memo }]], 2).split("\n").includes("END"));
});

test("the name of a host runs nothing", () => {
  for (const [origin, word] of [["http://127.0.0.1:8090", "http://127.0.0.1:8090"], ["http://[::1]:8090", "'http://[::1]:8090'"]]) {
    globalThis.origin = origin;
    assert.equal(nodeWord(), word);
  }
  globalThis.origin = "http://x'$(id)`id`;id&.evil.example:8090";
  assert.equal(shellWord(nodeWord()), globalThis.origin);
  assert.ok(curlOf("x.y", {}).startsWith(`curl -s ${nodeWord()} -H `));
});
