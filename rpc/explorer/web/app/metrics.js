// Reads the page /metrics: numbers of the node in the text format of Prometheus.

// Returns families by name: lists of {labels, value}. A histogram has three: name_bucket, name_sum, name_count.
export async function readMetrics() {
  const reply = await fetch("/metrics");
  if (!reply.ok) throw new Error(`The node answered ${reply.status}`);
  return parse(await reply.text());
}

// Samples of the node since its start: {interval, time, blocks, transactions, calls, refused, memory}, each a list but `interval`. The counters
// are totals.
export async function readHistory() {
  const reply = await fetch("/metrics/history");
  if (!reply.ok) throw new Error(`The node answered ${reply.status}`);
  return reply.json();
}

// The increase of a total in each interval between two times, in units of `seconds`; null where no time has passed.
export function ratesOf(times, totals, seconds = 1) {
  return totals.slice(1).map((total, i) => (times[i + 1] > times[i] ? ((total - totals[i]) * seconds) / (times[i + 1] - times[i]) : null));
}

export function parse(text) {
  const families = new Map();
  for (const line of text.split("\n")) {
    const found = line.match(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/);
    if (!found) continue;
    const [, name, labels = "", value] = found;
    if (!families.has(name)) families.set(name, []);
    families.get(name).push({ labels: labelsOf(labels), value: Number(value) });
  }
  return families;
}

function labelsOf(text) {
  return Object.fromEntries([...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [name, value]));
}

// The one value of a family without labels.
export function valueOf(families, name) {
  return families.get(name)?.[0]?.value ?? null;
}

// The histogram of a family for some labels: {count, sum, buckets: [[bound, count]]}, each bucket with its own durations only.
export function histogramOf(families, name, label = null, wanted = null) {
  const mine = ({ labels }) => label === null || labels[label] === wanted;
  const upTo = (families.get(`${name}_bucket`) ?? []).filter(mine).map(({ labels, value }) => [Number(labels.le.replace("+Inf", "Infinity")), value]);
  return {
    count: upTo.at(-1)?.[1] ?? 0,
    sum: (families.get(`${name}_sum`) ?? []).find(mine)?.value ?? 0,
    buckets: upTo.map(([bound, count], i) => [bound, count - (i ? upTo[i - 1][1] : 0)]),
  };
}
