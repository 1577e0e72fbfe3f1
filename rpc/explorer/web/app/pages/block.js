// A block: its header, its transactions, what the chain did besides, and what it changed.
import { blockNumber, milliseconds, useChain } from "../chain.js";
import { numberText } from "../format.js";
import { html } from "../html.js";
import { Changes } from "../parts/changes.js";
import { Answer, Card, Facts, Page } from "../parts/layout.js";
import { Account } from "../parts/names.js";
import { Operations } from "../parts/operations.js";
import { BlockLink, Copy, Copyable, Json, Time, TransactionLink } from "../parts/values.js";
import { Link, path } from "../router.js";
import { call, useAnswer } from "../rpc.js";
import { Sentence } from "../sentences.js";

export default function Block({ id }) {
  const { head, undone } = useChain();
  const number = id.length === 40 ? blockNumber(id) : Number(id.replaceAll(",", ""));
  const isThere = number <= head;
  const answer = useAnswer(() => load(number), `${number} ${isThere} ${undone}`, String(number));
  const title = `Block ${numberText(number)}`;
  return html`
    <${Page} title=${title} aside=${html`<${Neighbours} number=${number} head=${head} />`}>
      <${Answer} of=${answer}>${(found) =>
        found ? html`<${Shown} ...${found} number=${number} wanted=${id} />` : html`<${Missing} number=${number} head=${head} />`}
      </${Answer}>
    </${Page}>
  `;
}

async function load(number) {
  if (!Number.isSafeInteger(number) || number < 1) return null;
  const [{ block }, { ops }, before] = await Promise.all([
    call("block_api.get_block", { block_num: number }),
    call("account_history_api.get_ops_in_block", { block_num: number, only_virtual: true }).catch(() => ({ ops: null })),
    // The block before can be one that a fork doesn't ask its source for.
    number > 1 ? call("block_api.get_block_header", { block_num: number - 1 }).catch(() => null) : null,
  ]);
  return block && { block, virtual: ops, before };
}

function Missing({ number, head }) {
  return html`<p>${number > head ? `The chain ends at block ${numberText(head)}.` : "This node doesn't have that block."}</p>`;
}

function Neighbours({ number, head }) {
  return html`
    ${number > 1 && html`<${Link} class="button" to=${path.block(number - 1)} aria-label="Block before">←</${Link}>`}
    ${" "}
    ${number < head && html`<${Link} class="button" to=${path.block(number + 1)} aria-label="Block after">→</${Link}>`}
  `;
}

function Shown({ block, virtual, before, number, wanted }) {
  const { irreversible, overview } = useChain();
  const gap = before ? (milliseconds(block.timestamp) - milliseconds(before.timestamp)) / 1000 / overview.block_interval - 1 : 0;
  const isFinal = number <= irreversible;
  const finality = html`<span class=${`badge ${isFinal ? "good" : "warn"}`}>${isFinal ? "irreversible" : "can still be undone"}</span>`;
  return html`
    ${wanted.length === 40 && wanted !== block.block_id && html`
      <p class="note bad">The block with the id ${wanted} is not part of the chain. This one has its number.</p>`}
    <${Card} title="Header" aside=${finality}>
      <${Facts} of=${[
        ["Time", html`<${Time} at=${block.timestamp} />`],
        ["Witness", html`<${Account} name=${block.witness} />`],
        ["Missed slots before", number > 1 ? numberText(gap) : null],
        ["Id", html`<${Copyable} text=${block.block_id} />`],
        ["Previous", number > 1 ? html`<${BlockLink} number=${number - 1} /> <${Copyable} text=${block.previous} />` : null],
        ["Transactions' root", html`<${Copyable} text=${block.transaction_merkle_root} what="root" />`],
        ["Signature", html`<${Copyable} text=${block.witness_signature} what="signature" />`],
        ["Signed with", html`<${Copyable} text=${block.signing_key} what="key" />`],
        ["Extensions", block.extensions.length ? html`<code>${JSON.stringify(block.extensions)}</code>` : null],
      ]} />
    </${Card}>
    <${Card} title="Transactions" aside=${numberText(block.transactions.length)}>
      ${block.transactions.length
        ? html`<ul class="list">${block.transactions.map((transaction, i) => html`
            <${Transaction} transaction=${transaction} id=${block.transaction_ids[i]} />`)}</ul>`
        : html`<p class="muted">It has none.</p>`}
    </${Card}>
    <${Card} title="What the chain did besides" aside="virtual operations">
      ${virtual
        ? html`<${Operations} rows=${virtual.map(({ op }) => ({ operation: op }))} nothing="Nothing." />`
        : html`<p class="muted">This node keeps no virtual operations; start it with <code>--enable account_history</code>.</p>`}
    </${Card}>
    <${Changes} at=${number} id=${block.block_id} />
    <${Card} title="As JSON" aside=${html`<${Copy} text=${JSON.stringify(block, null, 2)} />`}>
      <details><summary>Show</summary><${Json} of=${block} label="The block as JSON" /></details>
    </${Card}>
  `;
}

function Transaction({ transaction, id }) {
  return html`
    <li>
      <div class="row">
        <div>${transaction.operations.map((operation) => html`<div><${Sentence} operation=${operation} /></div>`)}</div>
        <div class="end"><${TransactionLink} id=${id} /></div>
      </div>
    </li>
  `;
}
