// A community: what it is about, its posts in several orders, all roles, and its subscribers.
import { useChain } from "../chain.js";
import { decimalText, numberText } from "../format.js";
import { html, useState } from "../html.js";
import { OnlyHere } from "../parts/fork.js";
import { Answer, Card, Chips, Facts, Page, Table } from "../parts/layout.js";
import { AccountLink } from "../parts/names.js";
import { Parts, PostTable, startOf } from "../parts/posts.js";
import { Exact, Text, Title, plainTitle } from "../parts/text.js";
import { Copy, Json, Time } from "../parts/values.js";
import { go, path } from "../router.js";
import { useCall } from "../rpc.js";
import { symbols } from "../parts/payout.js";

const PART = 25;
const ROLES_PART = 50;
const SORTS = [["trending", "trending"], ["hot", "hot"], ["created", "new"], ["payout", "payout"], ["promoted", "promoted"], ["muted", "muted"]];
const MEMBER_TITLE = { title: "Title", cell: ([, , title]) => (title ? html`<${Title} of=${title} />` : "") };
const TYPES = { 1: "topic: everybody may post", 2: "journal: members post, everybody may reply", 3: "council: only members may post and reply" };

export default function Community({ name, query }) {
  const { head } = useChain();
  const found = useCall("bridge.get_community", { name }, `${name} ${head}`);
  const title = found.result ? plainTitle(found.result.title || name) : plainTitle(name);
  const heading = found.result?.title ? html`<${Title} of=${found.result.title} />` : html`<${Exact} of=${name} />`;
  return html`
    <${Page} title=${title} heading=${heading} aside=${found.result?.is_nsfw && html`<span class="badge warn">nsfw</span>`}>
      <${OnlyHere} />
      <${Answer} of=${found}>${(community) => html`<${Shown} community=${community} query=${query} head=${head} />`}</${Answer}>
    </${Page}>
  `;
}

function Shown({ community, query, head }) {
  return html`
    ${community.about && html`<p><${Title} of=${community.about} /></p>`}
    <div class="grid wide-left">
      <div>
        <${Posts} name=${community.name} query=${query} head=${head} />
        ${community.description && html`<${Card} title="Description"><${Text} of=${community.description} /></${Card}>`}
        ${community.flag_text && html`<${Card} title="Rules for muting"><${Text} of=${community.flag_text} /></${Card}>`}
        <${Subscribers} name=${community.name} head=${head} />
        <${AllRoles} name=${community.name} head=${head} />
      </div>
      <div>
        <${Card} title="Facts">
          <${Facts} of=${[
            ["Name", html`<${AccountLink} name=${community.name} />`],
            ["Kind", TYPES[community.type_id] ?? `type ${community.type_id}`],
            ["Language", html`<${Exact} of=${community.lang} />`],
            ["Created", html`<${Time} at=${community.created_at} />`],
            ["Subscribers", numberText(community.subscribers)],
            ["Authors of unpaid posts", numberText(community.num_authors)],
            ["Unpaid posts", numberText(community.num_pending)],
            ["Pending payouts", `${decimalText(BigInt(Math.round(community.sum_pending)), 0)} ${symbols().sbd}`],
          ]} />
        </${Card}>
      </div>
    </div>
    <${Card} title="As JSON" aside=${html`<${Copy} text=${JSON.stringify(community, null, 2)} />`}>
      <details><summary>Show</summary><${Json} of=${community} label="The community as JSON" /></details>
    </${Card}>
  `;
}

function Posts({ name, query, head }) {
  const sort = SORTS.some(([one]) => one === query.get("sort")) ? query.get("sort") : "trending";
  const start = startOf(query);
  const found = useCall("explorer_api.list_community_posts", { community: name, sort, limit: PART, ...start }, head);
  const keep = sort === "trending" ? {} : { sort };
  const choose = (value) => go(value === "trending" ? path.community(name) : `${path.community(name)}?sort=${value}`, { replace: true });
  return html`
    <${Card} title="Posts">
      <div class="filters"><${Chips} label="Order" options=${SORTS} chosen=${sort} onChoose=${choose} /></div>
      <${Answer} of=${found}>
        ${({ posts, has_more }) => html`
          <${PostTable} posts=${posts} isHere=${name} caption="Posts of the community" nothing=${start.start_author ? "The list ends here." : undefined} />
          <${Parts} posts=${posts} hasMore=${has_more} here=${path.community(name)} query=${query} keep=${keep} />
        `}
      </${Answer}>
    </${Card}>
  `;
}

function AllRoles({ name, head }) {
  const [last, setLast] = useState("");
  const found = useCall("bridge.list_community_roles", { community: name, last, limit: ROLES_PART }, head);
  return html`
    <${Card} title="All roles" aside="those who are more than guests, muted ones too">
      <${Answer} of=${found}>
        ${(rows) => html`
          <${Table} caption="All roles" rows=${rows} nothing="Nobody." columns=${[
            { title: "Account", cell: ([account]) => html`<${AccountLink} name=${account} />` },
            { title: "Role", cell: ([, role]) => role },
            MEMBER_TITLE,
          ]} />
          <${Turns} rows=${rows} last=${last} onTurn=${setLast} />
        `}
      </${Answer}>
    </${Card}>
  `;
}

function Subscribers({ name, head }) {
  const [last, setLast] = useState("");
  const found = useCall("bridge.list_subscribers", { community: name, last, limit: ROLES_PART }, head);
  return html`
    <${Card} title="Subscribers" aside="the newest first">
      <${Answer} of=${found}>
        ${(rows) => html`
          <${Table} caption="Subscribers" rows=${rows} nothing="Nobody." columns=${[
            { title: "Account", cell: ([account]) => html`<${AccountLink} name=${account} />` },
            { title: "Role", cell: ([, role]) => role },
            MEMBER_TITLE,
            { title: "Since", cell: (row) => html`<${Time} at=${row[3]} isShort />` },
          ]} />
          <${Turns} rows=${rows} last=${last} onTurn=${setLast} />
        `}
      </${Answer}>
    </${Card}>
  `;
}

// Buttons to other parts of a list whose rows begin with the account that the next part starts after.
function Turns({ rows, last, onTurn }) {
  return html`
    <div class="filters">
      ${last && html`<button type="button" onClick=${() => onTurn("")}>First part</button>`}
      ${rows.length === ROLES_PART && html`<button type="button" onClick=${() => onTurn(rows[rows.length - 1][0])}>Next part</button>`}
    </div>
  `;
}
