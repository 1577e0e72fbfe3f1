// All blocks, newest first: their times, witnesses, and numbers of transactions and operations.
import { BLOCKS_KEPT, lastBlocks } from "../calls.js";
import { findBlock, milliseconds, useChain } from "../chain.js";
import { numberText, timeText } from "../format.js";
import { html } from "../html.js";
import { hostOf } from "../parts/fork.js";
import { Answer, Card, Page, Table } from "../parts/layout.js";
import { Account } from "../parts/names.js";
import { BlockLink } from "../parts/values.js";
import { Link, go, path } from "../router.js";
import { useAnswer } from "../rpc.js";

// `before` of the query is the number after the first block of the list. Without it, the list begins with the head and grows.
export default function Blocks({ query }) {
  const { head, overview, blocks, undone } = useChain();
  const first = overview.fork ? overview.fork.block_num + 1 : 1;
  const before = Math.min(Math.max(Math.floor(Number(query.get("before"))) || head + 1, first + 1), head + 1);
  const isLast = before > head;
  const answer = useAnswer(() => (isLast ? null : lastBlocks(before - 1)), `${before} ${isLast} ${undone}`, String(before));
  const oldest = Math.max(first, before - BLOCKS_KEPT);
  return html`
    <${Page} title="Blocks">
      <${Card} title="Newest first" aside=${`${numberText(oldest)} to ${numberText(before - 1)} of ${numberText(head)}`}>
        <div class="filters">
          <${Link} class="button" to=${path.blocks()} aria-current=${isLast ? "page" : null}>Newest</${Link}>
          ${!isLast && html`<${Link} class="button" to=${path.blocks(before + BLOCKS_KEPT)}>Newer</${Link}>`}
          ${oldest > first && html`<${Link} class="button" to=${path.blocks(oldest)}>Older</${Link}>`}
          <${GoTo} />
        </div>
        ${isLast ? html`<${Rows} of=${blocks} />` : html`<${Answer} of=${answer}>${(found) => html`<${Rows} of=${found} />`}</${Answer}>`}
        ${oldest > first
          ? html`<p><${Link} class="button" to=${path.blocks(oldest)}>Older</${Link}></p>`
          : overview.fork && html`<p class="muted">The blocks up to ${numberText(overview.fork.block_num)} are those of ${hostOf(overview.fork.source)}.</p>`}
      </${Card}>
    </${Page}>
  `;
}

function GoTo() {
  const follow = async (event) => {
    event.preventDefault();
    const place = new FormData(event.target).get("place").trim();
    const number = place.includes("-") ? await numberAt(place.replace(" ", "T")) : Number(place.replaceAll(",", ""));
    if (number) go(path.blocks(number + 1));
  };
  return html`
    <form class="filters" onSubmit=${follow}>
      <label>From block or time <input name="place" size="16" placeholder="2026-11-26 16:51" required
        pattern="\\s*(\\d[\\d,]*|\\d{4}-\\d\\d-\\d\\d[ T]\\d\\d:\\d\\d(:\\d\\d)?)\\s*"
        title="the number of a block, or a time in UTC such as 2026-11-26 16:51" /></label>
      <button>Go</button>
    </form>
  `;
}

// The number of the first block at or after a time; 0 for an invalid time, and without a connection, which the header reports.
async function numberAt(time) {
  if (Number.isNaN(milliseconds(time))) return 0;
  return findBlock(time).then(({ number }) => number, () => 0);
}

function Rows({ of }) {
  const { overview, head } = useChain();
  // The missed slots of a block are known if the block before it is.
  const missed = ({ timestamp }, i) =>
    of[i + 1] ? (milliseconds(timestamp) - milliseconds(of[i + 1].timestamp)) / 1000 / overview.block_interval - 1 : 0;
  const columns = [
    { title: "Block", isNumber: true, cell: ({ block_num }) => html`<${BlockLink} number=${block_num} />` },
    { title: "Time, UTC", cell: ({ timestamp }) => html`<time datetime=${`${timestamp}Z`}>${timeText(timestamp)}</time>` },
    { title: "Witness", cell: ({ witness }) => html`<${Account} name=${witness} />` },
    { title: "Transactions", isNumber: true, cell: ({ transactions }) => numberText(transactions.length) },
    { title: "Operations", isNumber: true,
      cell: ({ transactions }) => numberText(transactions.reduce((sum, { operations }) => sum + operations.length, 0)) },
    { title: "Missed slots before", isNumber: true, cell: (block, i) => (missed(block, i) ? numberText(missed(block, i)) : "") },
  ];
  return html`<${Table} caption="Blocks, newest first" columns=${columns} rows=${of} nothing=${head ? "Loading…" : "There are no blocks yet."} />`;
}
