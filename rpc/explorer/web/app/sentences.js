// Operations as sentences. What they say is declared in says.js: a theme, and a text for each case, in which `{field}` or
// `{field:kind}` stands for a field. A case is the first whose condition holds: a field that is there, `field>0`, `field<0` or `field=0`.
import { chain } from "./chain.js";
import { amount, amountText, branded, isAmount, operationOf, percentText } from "./format.js";
import { html } from "./html.js";
import { Account, PostName } from "./parts/names.js";
import { Exact } from "./parts/text.js";
import { Link, path } from "./router.js";
import { customs, sentences, verbs } from "./says.js";

const TEXT_MAX = 90;
const ACCOUNTS = new Set(
  ("account agent author benefactor creator control_account contributor curator current_owner delegatee delegator from from_account " +
    "account_to_recover account_to_reset new_recovery_account open_owner owner producer proposal_owner proxy publisher receiver " +
    "recovery_account reporter reset_account to to_account voter who witness worker_account").split(" "),
);

export const themes = [...new Set(Object.values(sentences).map(({ theme }) => theme))];

export function themeOf(operation) {
  return sentences[operationOf(operation).name]?.theme ?? "other";
}

// An operation, of either form, as a sentence with links; with `isAttempt` as an attempt that was refused.
export function Sentence({ operation, isAttempt = false }) {
  const { name, value, say } = understood(operation);
  if (!say) return html`<span class="sentence">${name.replaceAll("_", " ")}</span>`;
  const text = textFor(say, value);
  const said = pieces(isAttempt ? attempted(text) : text);
  const named = said.filter(({ kind }) => kind === "account").map(({ field }) => branded(value, field));
  return html`<span class="sentence">${said.map((piece) => shown(piece, value, named))}</span>`;
}

// "{author} deleted a post" as "{author} tried to delete a post".
function attempted(text) {
  const verb = text.split(" ").find((word) => Object.hasOwn(verbs, word));
  return verb ? text.replace(` ${verb}`, ` tried to ${verbs[verb]}`) : text;
}

// The same without links, for titles and filters.
export function sentenceText(operation) {
  const { name, value, say } = understood(operation);
  if (!say) return name;
  return pieces(textFor(say, value))
    .map((piece) => (piece.field ? plain(piece, value) : piece.text))
    .join("");
}

// An operation with what is to be said of it; of what an application has sent with the texts in it, where all that is named is there.
function understood(operation) {
  const { name, value } = operationOf(operation);
  const say = sentences[name]?.say;
  if (name !== "custom_json") return { name, value, say };
  try {
    const [action, content] = JSON.parse(value.json);
    const parts = [value.id, action, [content.what ?? ""].flat()[0] ?? ""];
    // A list in a list would be joined to the same text, but nodes don't take it for an action.
    const told = parts.every((part) => typeof part === "string") ? customs[parts.join("/")] : undefined;
    const texts = Object.fromEntries(Object.entries(content).filter(([, one]) => typeof one === "string"));
    const all = { ...texts, required_posting_auths: value.required_posting_auths };
    if (pieces(told).every(({ field }) => !field || field.split("/").every((one) => all[one]?.length))) return { name, value: all, say: told };
  } catch {
    // It says something else.
  }
  return { name, value, say };
}

function textFor(say, value) {
  if (typeof say === "string") return say;
  const [, text] = Object.entries(say).find(([condition]) => holds(condition, value)) ?? ["", ""];
  return text;
}

function holds(condition, value) {
  if (!condition) return true;
  const [, field, compared] = condition.match(/^(\w+)([<>=]0)?$/);
  const found = branded(value, field);
  if (!compared) return Boolean(found);
  const number = isAmount(found) ? amount(found).units : BigInt(found ?? 0);
  return compared === ">0" ? number > 0n : compared === "<0" ? number < 0n : number === 0n;
}

function pieces(text) {
  return text
    .split(/(\{[^}]+\})/)
    .filter(Boolean)
    .map((piece) => {
      if (!piece.startsWith("{")) return { text: piece };
      const [field, kind = ""] = piece.slice(1, -1).split(":");
      return { field, kind: kind || (ACCOUNTS.has(field) ? "account" : "") };
    });
}

function members(value, field) {
  return field.split("+").flatMap((one) => branded(value, one) ?? []);
}

function shown(piece, value, named) {
  if (!piece.field) return piece.text;
  const { field, kind } = piece;
  if (kind === "account") return html`<${Account} name=${branded(value, field)} />`;
  if (kind === "accounts") return listed(members(value, field).map((name) => html`<${Account} name=${name} />`));
  if (field.includes("/")) {
    const [author, permlink] = field.split("/").map((one) => branded(value, one));
    if (kind === "permlink") return html`<${Link} class="post" to=${path.post(author, permlink)}><${Exact} of=${permlink} /></${Link}>`;
    const title = kind === "titled" ? value.title : undefined;
    return html`<${PostName} author=${author} permlink=${permlink} title=${title} hasAuthor=${!named.includes(author)} />`;
  }
  if (kind === "proposals") return listed([branded(value, field)].flat().map((id) => html`<${Link} to=${path.proposal(id)}>proposal ${id}</${Link}>`));
  if (kind === "token") return html`<${Link} to=${path.token(symbolText(branded(value, field)))}>${symbolText(branded(value, field))}</${Link}>`;
  if (kind === "code") return html`<code>${plain(piece, value)}</code>`;
  if (kind === "text") return html`<q>${plain(piece, value)}</q>`;
  return html`<b>${plain(piece, value)}</b>`;
}

function plain({ field, kind }, value) {
  if (field.includes("/")) return `${field.split("/").map((one) => branded(value, one)).join("/")}${kind === "titled" ? `: ${clipped(String(value.title))}` : ""}`;
  if (kind === "accounts") return members(value, field).join(", ") || "Somebody";
  const found = branded(value, field);
  if (found === undefined || found === null) return "";
  if (kind === "account") return found;
  if (kind === "percent") return percentText(Math.abs(found));
  if (kind === "price") return `${amountText(found.base)} for ${amountText(found.quote)}`;
  if (kind === "token") return symbolText(found);
  if (kind === "text" || kind === "code") return clipped(String(found));
  if (isAmount(found)) return amountText(found);
  if (kind === "proposals") return [found].flat().map((id) => `proposal ${id}`).join(", ");
  if (Array.isArray(found)) return found.map((one) => (isAmount(one) ? amountText(one) : String(one))).join(", ");
  return clipped(typeof found === "object" ? JSON.stringify(found) : String(found));
}

function symbolText(symbol) {
  return typeof symbol === "string" ? symbol : symbol.nai;
}

function listed(items) {
  return items.length ? items.flatMap((item, i) => (i ? [", ", item] : [item])) : "Somebody";
}

function clipped(text) {
  const points = [...text.slice(0, 2 * TEXT_MAX)];
  return points.length > TEXT_MAX ? `${points.slice(0, TEXT_MAX).join("")}…` : text;
}
