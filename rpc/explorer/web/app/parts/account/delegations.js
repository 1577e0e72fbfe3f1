// VESTS that an account has delegated, those that come back, and as far as its history tells, who delegates to it.
import { useChain } from "../../chain.js";
import { numberText, operationOf, units } from "../../format.js";
import { html, useRef, useState } from "../../html.js";
import { call, useAnswer } from "../../rpc.js";
import { Answer, Card, Table } from "../layout.js";
import { Account } from "../names.js";
import { Money, Time } from "../values.js";
import { Vests } from "./balances.js";
import { STEP, readHistory } from "./history.js";
import { LIST_MAX } from "./load.js";
import { COIN, VESTS, asset, symbolText, vestsToCoin } from "./values.js";

const SEARCHED = 1000;
const SEARCHED_MORE = 10_000;
const DELEGATES = new Set(["delegate_vesting_shares", "account_create_with_delegation"]);

export function Delegations({ account, globals, waiting }) {
  const { head } = useChain();
  const [start, setStart] = useState("");
  const given = useAnswer(
    () => call("database_api.list_vesting_delegations", { start: [account.name, start], limit: LIST_MAX + 1, order: "by_delegation" }),
    `${account.name} ${start} ${head}`,
    `${account.name} ${start}`,
  );
  return html`
    <${Vests} account=${account} globals=${globals} />
    <${Card} title="Delegated to others">
      <${Answer} of=${given}>${({ delegations }) => {
        const own = delegations.filter(({ delegator }) => delegator === account.name);
        return html`
          <${Table} caption="Delegations to others" rows=${own.slice(0, LIST_MAX)} columns=${[
            { title: "To", cell: ({ delegatee }) => html`<${Account} name=${delegatee} />` },
            ...amounts(globals),
            { title: "Can come back from", cell: ({ min_delegation_time }) => html`<${Time} at=${min_delegation_time} />` },
          ]} />
          ${(start || own.length > LIST_MAX) && html`
            <div class="filters">
              ${start && html`<button type="button" onClick=${() => setStart("")}>From the first</button>`}
              ${own.length > LIST_MAX && html`<button type="button" onClick=${() => setStart(own[LIST_MAX].delegatee)}>More</button>`}
            </div>`}
        `;
      }}</${Answer}>
    </${Card}>
    <${Card} title="Coming back" aside="taken back, and not yet returned">
      ${!waiting
        ? html`<p class="muted">Loading…</p>`
        : html`<${Table} caption="Delegations that come back" rows=${waiting.returning} columns=${[
            { title: "At", cell: ({ expiration }) => html`<${Time} at=${expiration} />` },
            ...amounts(globals),
          ]} />`}
    </${Card}>
    <${Received} account=${account} globals=${globals} />
  `;
}

function amounts(globals) {
  const inCoin = (vests) => asset(vestsToCoin(units(vests), globals), COIN);
  return [
    { title: symbolText(VESTS), isNumber: true, cell: ({ vesting_shares }) => html`<${Money} of=${vesting_shares} />` },
    { title: `in ${symbolText(COIN)}`, isNumber: true, cell: ({ vesting_shares }) => html`<${Money} of=${inCoin(vesting_shares)} />` },
  ];
}

// The chain has no index of delegations by receiver, so those who delegated are looked for in the history, as far back as the reader wants, and
// the chain is asked what is left of each. It is done anew when the sum has changed.
function Received({ account, globals }) {
  const [rounds, setRounds] = useState(0);
  const older = useRef({ rounds: 0, names: new Set(), next: null, first: null });
  const all = units(account.received_vesting_shares);
  const load = async () => {
    const newest = await findDelegators(account.name, null, SEARCHED);
    const known = older.current;
    known.next ??= newest.next;
    known.first ??= newest.first;
    if (known.rounds < rounds) {
      const found = await findDelegators(account.name, known.next, SEARCHED_MORE);
      older.current = { rounds, names: new Set([...known.names, ...found.names]), next: found.next, first: found.first };
    }
    const { names, next, first } = older.current;
    return { delegations: await delegationsOf(new Set([...newest.names, ...names]), account.name), next, first };
  };
  const answer = useAnswer(() => (all ? load() : null), `${account.name} ${rounds} ${all}`, account.name);
  return html`
    <${Card} title="Received from others" aside=${html`<${Money} of=${asset(all, VESTS)} /> in all`}>
      ${!all
        ? html`<p class="muted">Nobody delegates to this account.</p>`
        : html`<${Answer} of=${answer}>${({ delegations, next, first }) => {
            const known = delegations.reduce((sum, { vesting_shares }) => sum + units(vesting_shares), 0n);
            return html`
              <${Table} caption="Delegations from others" rows=${delegations} nothing="None was found so far." columns=${[
                { title: "From", cell: ({ delegator }) => html`<${Account} name=${delegator} />` },
                ...amounts(globals),
              ]} />
              ${known < all && html`
                <p class="muted small">
                  <${Money} of=${asset(all - known, VESTS)} /> come from accounts that were not found: the chain lists delegations by who gives them, and the
                  history of this account was read back to number ${numberText(first)}${next ? "" : ", the oldest one that this node keeps"}.
                </p>
                ${next > 0 && html`<button type="button" onClick=${() => setRounds(rounds + 1)}>Look further back</button>`}`}
            `;
          }}</${Answer}>`}
    </${Card}>
  `;
}

// Names of those who delegated to an account among `count` entries of its history up to a number, or up to the newest one.
async function findDelegators(name, upTo, count) {
  const { history } = upTo === null ? await call("account_history_api.get_account_history", { account: name, start: -1, limit: 1 }) : { history: [[upTo]] };
  if (!history.length) return { names: new Set(), next: 0, first: 1 };
  const { entries, next, first } = await readHistory(name, history[0][0], isDelegation, { page: count, steps: count / STEP });
  const values = entries.map(({ op }) => operationOf(op).value);
  return { names: new Set(values.map(({ delegator, creator }) => delegator ?? creator).filter((one) => one !== name)), next, first };
}

// What these accounts delegate to another now; those who have taken it back are left out.
async function delegationsOf(names, delegatee) {
  const firstFrom = (one) => call("database_api.list_vesting_delegations", { start: [one, delegatee], limit: 1, order: "by_delegation" });
  const found = await Promise.all([...names].map(firstFrom));
  return found.flatMap(({ delegations: [one] }) => (one?.delegatee === delegatee && names.has(one.delegator) ? [one] : []));
}

function isDelegation({ op }) {
  return DELEGATES.has(operationOf(op).name);
}
