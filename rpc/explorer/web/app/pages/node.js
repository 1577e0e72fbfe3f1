// The node itself: what it is asked, how long that takes, its blocks, its memory by table, and how it is set up.
import { useChain } from "../chain.js";
import { bytesText, durationText, numberText } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { Chart } from "../parts/chart.js";
import { Answer, Card, Facts, Page, Problem, Table } from "../parts/layout.js";
import { Bar, Json } from "../parts/values.js";
import { histogramOf, ratesOf, readHistory, readMetrics, valueOf } from "../metrics.js";
import { Link, path } from "../router.js";
import { useAnswer, useCall } from "../rpc.js";

const EVERY_MILLISECONDS = 3000;
const HISTORY_EVERY_MILLISECONDS = 15_000;
const MINUTE_SECONDS = 60;
const METHODS_SHOWN = 40;
const TABLES_SHOWN = 60;
const LARGE_SHARE = 0.01; // of all tables' memory: those with less are folded into details
const METHODS_FIRST = 12;

export default function Node() {
  const [reading, setReading] = useState({ now: null, before: null, error: null });
  useEffect(() => {
    let isOver = false;
    let timer;
    const read = async () => {
      try {
        const families = await readMetrics();
        if (isOver) return;
        setReading(({ now }) => ({ now: { families, at: performance.now() }, before: now, error: null }));
      } catch (error) {
        if (!isOver) setReading((was) => ({ ...was, error }));
      }
      if (!isOver) timer = setTimeout(read, EVERY_MILLISECONDS);
    };
    read();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, []);
  const { now, before, error } = reading;
  return html`
    <${Page} title="Node" heading="This node">
      ${error && html`<${Problem} error=${error} />`}
      ${now && html`
        <div class="grid flow">
          <${Health} families=${now.families} />
          <${Blocks} families=${now.families} />
          <${History} />
        </div>
        <${Calls} now=${now} before=${before} />
        <${Memory} families=${now.families} />`}
      <${Settings} />
    </${Page}>
  `;
}

function Health({ families }) {
  const { overview, head } = useChain();
  const answer = useAnswer(() => fetch("/health").then((reply) => reply.json()), String(head), "health");
  const build = families.get("coind_build_info")?.[0].labels ?? {};
  const memory = valueOf(families, "process_resident_memory_bytes");
  const started = valueOf(families, "process_start_time_seconds");
  const longest = valueOf(families, "coind_loop_iteration_longest_seconds");
  const queued = (name) => families.get("coind_queue_length")?.find(({ labels }) => labels.queue === name)?.value;
  return html`
    <${Card} title="Health" aside=${valueOf(families, "coind_ready")
      ? html`<span class="badge good">well</span>`
      : html`<span class="badge bad">in trouble</span>`}>
      <${Facts} of=${[
        ["Version", `coind ${overview.version}, Python ${build.python ?? ""}`],
        ["Chain", `${overview.chain}, id ${overview.chain_id.slice(0, 16)}…`],
        ["Runs for", started && durationText(Date.now() / 1000 - started)],
        ["Memory", memory && bytesText(memory)],
        ["Longest event loop iteration", longest !== null && `${milliseconds(longest)} in the last minute`],
        ["Jobs in the queue", queued("processor")],
        ["Calls waiting for a block", queued("inclusion")],
        ["Free on the disk", bytes(valueOf(families, "coind_disk_free_bytes"))],
        ["Block log", bytes(valueOf(families, "coind_block_log_bytes"))],
      ]} />
      <details><summary class="muted">/health as JSON</summary>
        <${Answer} of=${answer}>${(found) => html`<${Json} of=${found} label="health" />`}</${Answer}></details>
    </${Card}>
  `;
}

// The node's numbers over the time since its start.
function History() {
  const [history, setHistory] = useState(null);
  useEffect(() => {
    const read = () => readHistory().then(setHistory, () => {}); // the last reading stays; the page itself shows that the node is away
    read();
    const timer = setInterval(read, HISTORY_EVERY_MILLISECONDS);
    return () => clearInterval(timer);
  }, []);
  if (!history) return null;
  const { time, memory, interval } = history;
  const x = time.slice(1);
  const chart = (title, unit, series, rest = {}) => html`
    <${Card} title=${title} aside=${`since the start, every ${durationText(interval)}`}>
      <${Chart} x=${x} sync="node" height=${150} label=${title} unit=${unit} series=${series} ...${rest} />
    </${Card}>`;
  const rate = (label, totals, seconds, kind = "steps-before") => ({ label, kind, values: ratesOf(time, totals, seconds) });
  return html`
    ${chart("Blocks over time", "per minute", [rate("Blocks", history.blocks, MINUTE_SECONDS)])}
    ${chart("Transactions over time", "per second", [rate("Transactions", history.transactions)])}
    ${chart("Calls over time", "per second", [rate("Calls", history.calls), rate("Refused", history.refused, 1, "line")])}
    ${chart("Memory over time", "", [{ label: "Memory", kind: "line", values: memory.slice(1) }], { format: bytesText })}
  `;
}

function bytes(size) {
  return size === null ? null : bytesText(size);
}

function milliseconds(seconds) {
  return seconds >= 1 ? `${Number(seconds.toPrecision(3))} s` : `${Number((1000 * seconds).toPrecision(3))} ms`;
}

function Blocks({ families }) {
  const times = histogramOf(families, "coind_block_seconds");
  const most = Math.max(1, ...times.buckets.map(([, count]) => count));
  const columns = [
    { title: "Up to", cell: ([bound]) => (bound === Infinity ? "longer" : milliseconds(bound)) },
    { title: "Blocks", isNumber: true, cell: ([, count]) => numberText(count) },
    { title: "", cell: ([, count]) => html`<div class="beside"><${Bar} share=${count / most} label=${`${count} blocks`} /></div>` },
  ];
  return html`
    <${Card} title="Blocks since the start" aside=${`${numberText(valueOf(families, "coind_blocks_applied_total") ?? 0)} applied`}>
      <${Facts} of=${[
        ["Mean time", times.count ? milliseconds(times.sum / times.count) : null],
        ["Undone", numberText(valueOf(families, "coind_blocks_popped_total") ?? 0)],
        ["Fork switches", numberText(valueOf(families, "coind_fork_switches_total") ?? 0)],
        ["Missed slots", numberText(valueOf(families, "coind_slots_missed_total") ?? 0)],
        ["Transactions", numberText(valueOf(families, "coind_transactions_applied_total") ?? 0)],
      ]} />
      <h3>Time a block took</h3>
      <${Table} caption="Blocks by the time they took" columns=${columns} rows=${times.buckets} />
    </${Card}>
  `;
}

function Calls({ now, before }) {
  const seconds = before ? (now.at - before.at) / 1000 : 0;
  const rows = (now.families.get("coind_call_seconds_count") ?? []).map(({ labels, value }) => {
    const name = labels.method;
    const all = histogramOf(now.families, "coind_call_seconds", "method", name);
    const counts = before?.families.get("coind_call_seconds_count") ?? [];
    const earlier = before ? counts.find((row) => row.labels.method === name)?.value ?? 0 : value;
    const refusals = (now.families.get("coind_calls_refused_total") ?? []).filter((row) => row.labels.method === name);
    const refused = refusals.reduce((sum, row) => sum + row.value, 0);
    return { name, count: value, mean: all.sum / value, rate: seconds ? (value - earlier) / seconds : 0, slow: slowShare(all), refused };
  });
  rows.sort((a, b) => b.rate - a.rate || b.count - a.count);
  const columns = [
    { title: "Method", cell: ({ name }) => (name === "unknown" ? "unknown" : html`<${Link} to=${path.method(name)}>${name}</${Link}>`) },
    { title: "A second", isNumber: true, cell: ({ rate }) => (rate ? rate.toFixed(1) : "–") },
    { title: "In all", isNumber: true, cell: ({ count }) => numberText(count) },
    { title: "Mean", isNumber: true, cell: ({ mean }) => milliseconds(mean) },
    { title: "Above 10 ms", isNumber: true, cell: ({ slow }) => (slow ? numberText(slow) : "–") },
    { title: "Refused", isNumber: true, cell: ({ refused }) => (refused ? numberText(refused) : "–") },
  ];
  return html`
    <${Card} title="Calls by method" aside=${`since the start; ${rows.length} methods were called`}>
      <${Table} caption="Calls by method" columns=${columns} rows=${rows.slice(0, METHODS_FIRST)} nothing="Nobody has called." />
      <${More} caption="More methods" columns=${columns} rows=${rows.slice(METHODS_FIRST, METHODS_SHOWN)} words="methods" />
      ${rows.length > METHODS_SHOWN && html`<p class="muted small">The ${METHODS_SHOWN} that are called most.</p>`}
    </${Card}>
  `;
}

function More({ caption, columns, rows, words }) {
  return rows.length > 0 && html`
    <details><summary class="muted small">${numberText(rows.length)} more ${words}</summary>
      <${Table} caption=${caption} columns=${columns} rows=${rows} /></details>`;
}

function slowShare({ buckets }) {
  return buckets.filter(([bound]) => bound > 0.01).reduce((sum, [, count]) => sum + count, 0);
}

function Memory({ families }) {
  const sizes = new Map((families.get("coind_table_bytes") ?? []).map(({ labels, value }) => [`${labels.owner}.${labels.table}`, value]));
  const sizeOf = ({ owner, table }) => sizes.get(`${owner}.${table}`) ?? null;
  const rows = (families.get("coind_table_rows") ?? []).map(({ labels, value }) => ({ ...labels, count: value, size: sizeOf(labels) }));
  rows.sort((a, b) => (b.size ?? 0) - (a.size ?? 0) || b.count - a.count);
  const filled = rows.filter(({ count }) => count);
  const all = filled.reduce((sum, { size }) => sum + (size ?? 0), 0);
  const large = filled.filter(({ size }) => (size ?? 0) >= all * LARGE_SHARE).slice(0, TABLES_SHOWN);
  const most = Math.max(1, ...filled.map(({ size }) => size ?? 0));
  const columns = [
    { title: "Owner", cell: ({ owner }) => owner },
    { title: "Table", cell: ({ table }) => table },
    { title: "Rows", isNumber: true, cell: ({ count }) => numberText(count) },
    { title: "Memory, about", isNumber: true, cell: ({ size }) => (size === null ? "–" : bytesText(size)) },
    { title: "", cell: ({ size }) => size !== null && html`<div class="beside"><${Bar} share=${size / most} label=${bytesText(size)} /></div>` },
  ];
  return html`
    <${Card} title="Memory by table" aside=${`${filled.length} of ${rows.length} tables hold something`}>
      <${Table} caption="Memory by table" columns=${columns} rows=${large} />
      <${More} caption="Smaller tables" columns=${columns} rows=${filled.slice(large.length, TABLES_SHOWN)} words="smaller tables" />
    </${Card}>
  `;
}

function Settings() {
  const { info, isLocal } = useChain();
  const methods = useCall("jsonrpc.get_methods");
  const config = useCall("database_api.get_config");
  return html`
    <${Card} title="How it is set up">
      ${isLocal && info && html`<${Facts} of=${[
        ["Blocks are made", info.block_mode],
        ["Slots that a time jump skips", info.leap === "missed" ? "have no block" : "have a block each"],
        ["Witnesses in a round", numberText(info.witnesses)],
        ["Dev snapshots", info.snapshots.join(", ") || "none"],
        ["Impersonated", info.impersonated.everyone ? "everyone" : info.impersonated.accounts.join(", ") || "nobody"],
      ]} />`}
      <h3>Groups of methods</h3>
      <${Answer} of=${methods}>${(names) => html`<p>
        ${groups(names).map(([group, count]) => html`<span class="badge">${group} ${count}</span> `)}</p>`}</${Answer}>
      <details>
        <summary>Constants of the chain</summary>
        <${Answer} of=${config}>${(found) => html`<${Json} of=${found} label="Constants of the chain" />`}</${Answer}>
      </details>
    </${Card}>
  `;
}

function groups(names) {
  const counts = new Map();
  for (const name of names) counts.set(name.split(".")[0], (counts.get(name.split(".")[0]) ?? 0) + 1);
  return [...counts];
}
