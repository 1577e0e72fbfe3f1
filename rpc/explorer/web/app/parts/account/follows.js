// The followers of an account, and the accounts that it follows and mutes, by name, a part at a time.
import { useChain } from "../../chain.js";
import { html, useState } from "../../html.js";
import { useCall } from "../../rpc.js";
import { Answer, Card, Table } from "../layout.js";
import { Account } from "../names.js";

const PART = 100;

export function Follows({ name }) {
  return html`
    <div class="grid">
      <${Names} title="Followers" name=${name} method="get_followers" list="followers" member="follower" nothing="Nobody follows it." />
      <${Names} title="Follows" name=${name} method="get_following" list="following" member="following" nothing="It follows nobody." />
      <${Names} title="Mutes" name=${name} method="get_following" list="following" member="following" type="ignore" nothing="It mutes nobody." />
    </div>
  `;
}

function Names({ title, name, method, list, member, type = "blog", nothing }) {
  const { head } = useChain();
  const [start, setStart] = useState("");
  // A list begins with its start: the next part begins with the last name of this answer, which isn't shown.
  const answer = useCall(`follow_api.${method}`, { account: name, start, type, limit: PART + 1 }, head);
  return html`
    <${Card} title=${title} aside="by name">
      <${Answer} of=${answer}>${({ [list]: rows }) => html`
        <${Table} caption=${title} rows=${rows.slice(0, PART)} nothing=${start ? "The list ends here." : nothing} columns=${[
          { title: "Account", cell: ({ [member]: one }) => html`<${Account} name=${one} />` },
        ]} />
        <div class="filters">
          ${start && html`<button type="button" onClick=${() => setStart("")}>First part</button>`}
          ${rows.length > PART && html`<button type="button" onClick=${() => setStart(rows[PART][member])}>Next part</button>`}
        </div>
      `}</${Answer}>
    </${Card}>
  `;
}
