// What happens: blocks and their operations as they come, what waits for a block, and what was refused.
import { useChain } from "../chain.js";
import { names, numberText, operationOf } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { Card, Chips, Page } from "../parts/layout.js";
import { Account } from "../parts/names.js";
import { Operations } from "../parts/operations.js";
import { Refusals } from "../parts/refusals.js";
import { BlockLink, Time, TransactionLink } from "../parts/values.js";
import { Link, path, setQuery } from "../router.js";
import { call } from "../rpc.js";
import { sentenceText, themeOf, themes } from "../sentences.js";

const OPERATIONS_SHOWN = 100;
// As many as a tall window holds are drawn at once, the others right after.
const OPERATIONS_FIRST = 15;
const BLOCKS_WITH_VIRTUAL = 20;

export default function Home({ query }) {
  const { blocks, pending, refusals, isLocal } = useChain();
  const theme = query.get("theme") ?? "";
  const account = query.get("account") ?? "";
  const [shown, setShown] = useState(OPERATIONS_FIRST);
  useEffect(() => {
    // After the frame that shows the first ones.
    if (blocks.length) requestAnimationFrame(() => setTimeout(() => setShown(OPERATIONS_SHOWN)));
  }, [blocks.length > 0]);
  const virtual = useVirtual(blocks.slice(0, BLOCKS_WITH_VIRTUAL));
  const wanted = (operation) =>
    (!theme || themeOf(operation) === theme) &&
    (theme || account || operationOf(operation).name !== "producer_reward") &&
    (!account || names(operation, account) || sentenceText(operation).split(/[^\w.-]+/).includes(account));
  const rows = blocks.flatMap((block) => rowsOf(block, virtual.get(block.block_id))).filter(({ operation }) => wanted(operation));
  return html`
    <${Page} title="What happens on this chain"
      aside=${html`<${Link} class="button roomy" to="/tokens?show=time">Supply over time</${Link}>`}>
      <div class="grid wide-left">
        <${Card} title="Operations" aside="as blocks come, newest first">
          <div class="filters line">
            <${Chips} label="Kind" chosen=${theme} onChoose=${(value) => setQuery({ theme: value })}
              options=${[["", "all"], ...themes.map((name) => [name, name])]} />
            <label>Account <input size="14" placeholder="any" value=${account}
              onChange=${(event) => setQuery({ account: event.target.value.trim().replace(/^@/, "") })} /></label>
          </div>
          <${Operations} rows=${rows.slice(0, shown)} nothing="Nothing of this kind in the last blocks." />
        </${Card}>
        <div>
          <${Card} title="Refused" aside=${isLocal ? "what clients sent and the chain didn't take" : ""}>
            <${Refusals} of=${refusals.slice(0, 5)} isLocal=${isLocal} />
          </${Card}>
          ${isLocal && html`
            <${Card} title="Waiting for a block" aside=${numberText(pending.length)}>
              <${Operations} nothing="Nothing waits." rows=${pending.slice(0, 20).flatMap(waitingRows)} />
            </${Card}>`}
          <${Card} title="Blocks" aside=${html`<${Link} to=${path.blocks()}>All blocks</${Link}>`}>
            <ul class="list">
              ${blocks.slice(0, 15).map((block) => html`<${BlockLine} key=${block.block_id} block=${block} />`)}
            </ul>
          </${Card}>
        </div>
      </div>
    </${Page}>
  `;
}

function BlockLine({ block }) {
  const count = block.transactions.length;
  return html`
    <li>
      <div class="row">
        <span><${BlockLink} number=${block.block_num} /> by <${Account} name=${block.witness} /></span>
        <span class="end">
          ${count ? `${numberText(count)} transaction${count === 1 ? "" : "s"} · ` : ""}<${Time} at=${block.timestamp} isShort />
        </span>
      </div>
    </li>
  `;
}

function rowsOf(block, virtual = []) {
  const sent = block.transactions.flatMap((transaction, i) =>
    transaction.operations.map((operation, j) => ({
      operation,
      id: `${block.block_id} ${i} ${j}`,
      where: html`<${Time} at=${block.timestamp} isShort /> · <${TransactionLink} id=${block.transaction_ids[i]} /> · <${BlockLink}
        number=${block.block_num} />`,
    })),
  );
  const made = virtual.map(({ op }, i) => ({
    operation: op,
    isVirtual: true,
    id: `${block.block_id} v${i}`,
    where: html`<${Time} at=${block.timestamp} isShort /> · <${BlockLink} number=${block.block_num} />`,
  }));
  return [...made, ...sent].reverse();
}

function waitingRows({ operations, transaction_id }) {
  return operations.map((operation, i) => ({ operation, id: `${transaction_id} ${i}` }));
}

// The virtual operations of blocks, asked for once each.
function useVirtual(blocks) {
  const [found, setFound] = useState(new Map());
  useEffect(() => {
    let isOver = false;
    const missing = blocks.filter((block) => !found.has(block.block_id));
    if (!missing.length) return undefined;
    const ask = ({ block_num }) =>
      call("account_history_api.get_ops_in_block", { block_num, only_virtual: true }).catch(() => ({ ops: [] }));
    const asked = missing.map(ask);
    Promise.all(asked).then((answers) => {
      if (isOver) return;
      const kept = new Map(blocks.filter((block) => found.has(block.block_id)).map((block) => [block.block_id, found.get(block.block_id)]));
      missing.forEach((block, i) => kept.set(block.block_id, answers[i].ops));
      setFound(kept);
    });
    return () => {
      isOver = true;
    };
  }, [blocks[0]?.block_id]);
  return found;
}
