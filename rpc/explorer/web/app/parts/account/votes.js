// How an account votes for witnesses and proposals, with what weight, and who votes through it.
import { useChain } from "../../chain.js";
import { amountText, decimalText, isNever, numberText, units } from "../../format.js";
import { html } from "../../html.js";
import { Link, path } from "../../router.js";
import { useAnswer } from "../../rpc.js";
import { Answer, Card, Facts, Table } from "../layout.js";
import { Account } from "../names.js";
import { BlockLink, Copyable, Money, Time } from "../values.js";
import { LIST_MAX, loadVotes } from "./load.js";
import { VESTS, asset, symbolText } from "./values.js";

const VOTES_MAX = 30;

export function Votes({ account, witness, waiting }) {
  const { head } = useChain();
  const answer = useAnswer(() => loadVotes(account.name), `${account.name} ${head}`, account.name);
  const proxied = account.proxied_vsf_votes.reduce((sum, count) => sum + BigInt(count), 0n);
  const own = units(account.vesting_shares);
  return html`
    <${Card} title="Weight of its votes">
      ${!account.can_vote && html`<p class="note">This account has given up its right to vote.</p>`}
      ${waiting?.declines.map(({ effective_date }) => html`<p class="note bad">It gives up its right to vote <${Time} at=${effective_date} />.</p>`)}
      <${Facts} of=${[
        ["Own", html`<${Money} of=${asset(own, VESTS)} />`],
        ["By proxy", html`<${Money} of=${asset(proxied, VESTS)} />`],
        ["Together", html`<${Money} of=${asset(own + proxied, VESTS)} />`],
        ["Votes through", account.proxy && html`<${Account} name=${account.proxy} />`],
      ]} />
      ${proxied > 0n && html`<p class="muted small">By proxy: the ${symbolText(VESTS)} of accounts that vote through this one.</p>`}
      ${account.proxy && html`<p class="muted small">Its weight counts in the votes of <${Account} name=${account.proxy} />.</p>`}
    </${Card}>
    <${Answer} of=${answer}>${({ votes, voters, followers, proposals }) => html`
      <div class="grid flow">
        <${Card} title="Witness votes" aside=${`${numberText(votes.length)} of ${VOTES_MAX}`}>
          ${!votes.length && html`<p class="muted">${account.proxy ? "None of its own: it votes through another account." : "It votes for no witness."}</p>`}
          <ul class="list">${votes.map(({ witness: name }) => html`<li><${Account} name=${name} /></li>`)}</ul>
        </${Card}>
        <${Card} title="Votes for proposals" aside=${numberText(proposals.length)}>
          <${Table} caption="Proposals that it votes for" rows=${proposals} nothing="It votes for no proposal." columns=${[
            { title: "Proposal", cell: ({ proposal_id, subject }) => html`<${Link} to=${path.proposal(proposal_id)}>${subject}</${Link}>` },
            { title: "State", cell: ({ status }) => html`<span class="badge">${status}</span>` },
            { title: "Ends", cell: ({ end_date }) => html`<${Time} at=${end_date} isShort />` },
          ]} />
        </${Card}>
        <${Card} title="Vote through this account" aside=${followers.length === LIST_MAX ? `the first ${LIST_MAX}` : numberText(followers.length)}>
          <${Table} caption="Accounts that vote through this one" rows=${followers} nothing="Nobody does." columns=${[
            { title: "Account", cell: ({ name }) => html`<${Account} name=${name} />` },
            { title: symbolText(VESTS), isNumber: true, cell: ({ vesting_shares }) => decimalText(units(vesting_shares), asset(0n, VESTS).precision) },
          ]} />
        </${Card}>
        ${witness && html`<${Witness} of=${witness} voters=${voters} />`}
      </div>
    `}</${Answer}>
  `;
}

function Witness({ of, voters }) {
  return html`
    <${Card} title="As a witness" aside=${html`<${Link} to="/witnesses">All witnesses</${Link}>`}>
      <${Facts} of=${[
        ["Votes", html`<${Money} of=${asset(BigInt(of.votes), VESTS)} />`],
        ["Signing key", html`<${Copyable} text=${of.signing_key} what="key" />`],
        ["Missed blocks", numberText(of.total_missed)],
        ["Last block", of.last_confirmed_block_num ? html`<${BlockLink} number=${of.last_confirmed_block_num} />` : null],
        ["Price feed", isNever(of.last_sbd_exchange_update) ? "none" : html`${amountText(of.sbd_exchange_rate.base)} for${" "}
          ${amountText(of.sbd_exchange_rate.quote)}, <${Time} at=${of.last_sbd_exchange_update} isShort />`],
        ["Page", of.url && html`<span class="break">${of.url}</span>`],
        ["Voters", html`${voters.map(({ account }, i) => html`${i ? ", " : ""}<${Account} name=${account} />`)}${
          voters.length === LIST_MAX ? ", …" : voters.length ? "" : "none"}`],
      ]} />
    </${Card}>
  `;
}
