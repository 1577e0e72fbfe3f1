// The single WebSocket of a page: when it is opened, released and reopened. Run by `node --test tests/explorer`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, mock, test } from "node:test";

const source = readFileSync(new URL("../../rpc/explorer/web/app/live.js", import.meta.url), "utf8");
const { listen } = await import(`data:text/javascript;base64,${Buffer.from(source).toString("base64")}`);
const CALLS = [["explorer_api.subscribe_blocks", {}], ["dev_api.subscribe", { kind: "refusals" }]];
const GRANTED = [{ id: 0, result: { subscription: 1 } }, { id: 1, error: { message: "no" } }];
const BACKGROUND = 60_000;

let made, heard, page;

class FakeSocket {
  static OPEN = 1;
  constructor(url) {
    Object.assign(this, { url, readyState: 0, sent: [], isClosed: false });
    made.push(this);
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.isClosed = true;
  }
  // Actions of the node and the browser.
  opened() {
    this.readyState = 1;
    this.onopen();
  }
  says(message) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  ends() {
    this.readyState = 3;
    this.onclose();
  }
  granted() {
    this.opened();
    this.says(GRANTED);
  }
}

function show(isHidden) {
  document.hidden = isHidden;
  document.dispatchEvent(new Event("visibilitychange"));
}

function begin() {
  listen(CALLS, {
    onNotice: (params) => heard.push(params),
    onAnswers: (answers) => heard.push(`heard: ${answers.length}`),
    onLost: () => heard.push("lost"),
  });
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  [made, heard, page] = [[], [], new EventTarget()];
  Object.assign(globalThis, {
    WebSocket: FakeSocket,
    document: Object.assign(new EventTarget(), { hidden: false }),
    location: { protocol: "https:", host: "node.example" },
    addEventListener: page.addEventListener.bind(page),
  });
});

test("it makes its calls, and tells of answers and notices", () => {
  begin();
  assert.equal(made[0].url, "wss://node.example/");
  made[0].opened();
  assert.deepEqual(made[0].sent[0].map(({ method }) => method), CALLS.map(([method]) => method));
  made[0].says({ method: "explorer_api.notice", params: { block: 1 } });
  made[0].says(GRANTED);
  assert.deepEqual(heard, [{ block: 1 }, "heard: 2"]);
});

test("after a break it tries again, later each time, until it is heard for a while", () => {
  begin();
  made[0].granted();
  made[0].ends();
  assert.equal(heard.at(-1), "lost");
  const waited = [];
  for (let i = 0; i < 6; i += 1) {
    const before = made.length;
    let milliseconds = 0;
    while (made.length === before) mock.timers.tick((milliseconds += 50) && 50);
    waited.push(milliseconds);
    if (i < 5) made.at(-1).ends();
  }
  for (const [i, least] of [250, 500, 1000, 2500, 2500, 2500].entries()) assert.ok(waited[i] >= least && waited[i] <= 3 * least + 50, waited);
  made.at(-1).granted();
  mock.timers.tick(11_000);
  made.at(-1).ends();
  const before = made.length;
  mock.timers.tick(800);
  assert.equal(made.length, before + 1);
});

test("a node that answers nothing, refuses, or says what nobody expects, is tried again", () => {
  for (const answer of [null, [{ id: 0, error: { message: "too many" } }], { id: null, error: { message: "busy" } }, []]) {
    [made, heard] = [[], []];
    begin();
    made[0].opened();
    if (answer) made[0].says(answer);
    mock.timers.tick(10_000);
    assert.ok(made[0].isClosed);
    made[0].ends();
    assert.deepEqual(heard, ["lost"]);
    mock.timers.tick(800);
    assert.equal(made.length, 2);
  }
});

test("a page that is left gives it back, and takes it up when it comes back", () => {
  begin();
  made[0].granted();
  page.dispatchEvent(new Event("pagehide"));
  assert.ok(made[0].isClosed);
  made[0].says({ params: { block: 2 } });
  made[0].ends();
  mock.timers.tick(100_000);
  assert.deepEqual([made.length, heard.length], [1, 1]);
  page.dispatchEvent(new Event("pageshow"));
  assert.equal(made.length, 2);
  made[1].granted();
  page.dispatchEvent(new Event("pageshow"));
  assert.equal(made.length, 2);
});

test("one that isn't open yet is given back when it is: to close it before is told as an error", () => {
  begin();
  page.dispatchEvent(new Event("pagehide"));
  assert.ok(!made[0].isClosed);
  made[0].opened();
  assert.deepEqual([made[0].isClosed, made[0].sent], [true, []]);
});

test("a page in the background gives it back after a while, and tries nothing there", () => {
  begin();
  made[0].granted();
  show(true);
  mock.timers.tick(BACKGROUND - 1);
  show(false);
  mock.timers.tick(BACKGROUND);
  assert.ok(!made[0].isClosed);
  show(true);
  mock.timers.tick(BACKGROUND);
  assert.ok(made[0].isClosed);
  made[0].ends();
  mock.timers.tick(BACKGROUND);
  assert.equal(made.length, 1);
  show(false);
  assert.equal(made.length, 2);
});

test("who comes back while it waits for the next attempt waits no longer", () => {
  begin();
  made[0].ends();
  show(true);
  show(false);
  assert.equal(made.length, 2);
  mock.timers.tick(20_000);
  assert.equal(made.length, 2);
});

test("a page that begins in the background has it for a while only", () => {
  document.hidden = true;
  begin();
  made[0].granted();
  mock.timers.tick(BACKGROUND);
  assert.ok(made[0].isClosed);
});
