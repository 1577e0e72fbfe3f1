// Files that are saved of charts.
import assert from "node:assert/strict";
import { test } from "node:test";

const { csvText, fileName } = await import(new URL("../../rpc/explorer/web/app/parts/save.js", import.meta.url));

test("numbers over time are written with the times as in ISO 8601", () => {
  const series = [{ label: 'a "b", c', values: [1.5, null] }];
  assert.equal(csvText({ x: [0, 60], series, isTime: true }), 'time,"a ""b"", c"\r\n1970-01-01T00:00:00Z,1.5\r\n1970-01-01T00:01:00Z,\r\n');
});

test("blocks have their times beside them", () => {
  const series = [{ label: "Supply", values: [1e21, 2] }];
  assert.equal(csvText({ x: [1, 101], series, isTime: false, xLabel: "Block", xTimes: [3, null] }), "Block,time,Supply\r\n1,1970-01-01T00:00:03Z,1e+21\r\n101,,2\r\n");
});

test("a candle has four columns", () => {
  const series = [{ label: "Price", kind: "candles", values: [{ open: 1, high: 4, low: 0.5, close: 2 }, null] }];
  assert.equal(csvText({ x: [1, 2], series, isTime: false, xLabel: "" }), "x,Price open,Price high,Price low,Price close\r\n1,1,4,0.5,2\r\n2,,,,\r\n");
});

test("names of files are made of words", () => {
  assert.equal(fileName("Prices in SBD per COIN: 12"), "prices-in-sbd-per-coin-12");
  assert.equal(fileName("…"), "chart");
});
