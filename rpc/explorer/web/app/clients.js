// A transaction's operations as programs that send the same once more: for curl, beem (Python) and dsteem (JavaScript), with the chain
// id, the address prefix and the symbols of this chain. Keys stay placeholders.
import { chain } from "./chain.js";
import { amountText, isAmount, operationOf } from "./format.js";

const KEY = "5J...";
// The extensions of comment_options, by the numbers that they have in the old form.
const VARIANTS = { comment_payout_beneficiaries: 0, allowed_vote_assets: 1 };

// Returns [name, words, text] of each program for operations of any form.
export function programs(transaction) {
  const operations = transaction.operations.map(operationOf);
  return [
    ["curl", "curl", curl(transaction, operations)],
    ["beem", "beem (Python)", beem(operations)],
    ["dsteem", "dsteem (JavaScript)", dsteem(operations)],
    ["coind", "bin/coind", coind(operations)],
  ];
}

// What means something to one shell or another, even between quotes, or isn't seen: PowerShell ends a text at any of four apostrophes and
// knows no backslash before one, cmd knows none of them and reads on at a `&`.
const SPECIAL = /['`$&|<>^%!;\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2018-\u201f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/g;
const PLAIN_WORD = /^[\w./:-]+$/;

// A value as JSON that a shell can't take for anything else: in JSON such characters stand in texts only, where they can be escaped.
export function tameJson(value, indent = 0) {
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, null, indent).replace(SPECIAL, escaped);
}

// A value as JSON in one word of a shell.
export function jsonWord(value) {
  return `'${tameJson(value)}'`;
}

// The node as a word of a shell: the host of a page may have any name that somebody has given it.
export function nodeWord() {
  const { origin } = location;
  return PLAIN_WORD.test(origin) ? origin : `'${origin.replaceAll("'", `'\\''`)}'`;
}

// A request as a command of curl.
export function curlOf(method, params) {
  return `curl -s ${nodeWord()} -H 'content-type: application/json' \\\n  -d ${jsonWord({ jsonrpc: "2.0", id: 1, method, params })}`;
}

// The old form of operations, with amounts as text, which all of these clients take.
function legacy({ name, value }) {
  return [name, texts(value)];
}

// The same as libraries of the family know it: fields that bear the brand word of this chain bear Steem's there. With `keepsBoth` they
// are there by both names: a library that sends an object as it is packs by the one name, and the node reads the other.
function familiar({ name, value }, keepsBoth = false) {
  const members = Object.entries(value).flatMap(([field, member]) => {
    const renamed = familiarName(field);
    return keepsBoth && renamed !== field ? [[renamed, member], [field, member]] : [[renamed, member]];
  });
  return { name, value: Object.fromEntries(members) };
}

function familiarName(field) {
  return field.replace(new RegExp(`(^|_)${chain.overview.brand}(_|$)`), "$1steem$2");
}

function texts(value) {
  if (isAmount(value)) return typeof value === "string" ? value : plainAmount(value);
  if (Array.isArray(value)) return value.map(texts);
  if (value === null || typeof value !== "object") return value;
  if (value.type in VARIANTS) return [VARIANTS[value.type], texts(value.value)];
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, texts(member)]));
}

function plainAmount(value) {
  return amountText(value).replaceAll(",", "").replace("−", "-");
}

function curl(transaction, operations) {
  const signs = curlOf("dev_api.broadcast_operations", { operations: operations.map(legacy) });
  const asItIs = curlOf("network_broadcast_api.broadcast_transaction", { trx: wireOnly(transaction) });
  const own = `# The transaction as it is, with its signatures; a node takes it once, and until it expires:\n${asItIs}`;
  if (!chain.isLocal) return own;
  return `# The node signs with the keys that it knows (chains that are made for tests, on its own machine):\n${signs}\n\n${own}`;
}

function wireOnly({ ref_block_num, ref_block_prefix, expiration, operations, extensions, signatures }) {
  return { ref_block_num, ref_block_prefix, expiration, operations, extensions, signatures };
}

function coind(operations) {
  return `bin/coind tx send - --url ${nodeWord()} --wait <<'END'\n${tameJson(operations.map(legacy), 2)}\nEND`;
}

function dsteem(operations) {
  const { chain_id, key_prefix, tokens } = chain.overview;
  const known = ["STEEM", "SBD", "VESTS", "TESTS", "TBD"];
  const unknown = tokens.map(({ symbol }) => symbol).filter((symbol) => !known.includes(symbol));
  const listed = operations.map((operation) => legacy(familiar(operation, true)));
  const used = unknown.filter((symbol) => JSON.stringify(listed).includes(` ${symbol}"`));
  const limit = `// dsteem knows no ${used.join(", ")}, and refuses such amounts itself; on --chain dev-tests they are TESTS and TBD.\n`;
  const caution = used.length ? limit : "";
  return `${caution}const dsteem = require("dsteem");

const client = new dsteem.Client(${JSON.stringify(location.origin)}, {
  addressPrefix: ${JSON.stringify(key_prefix)},
  chainId: ${JSON.stringify(chain_id)},
});
const key = dsteem.PrivateKey.fromString("${KEY}");
const operations = ${JSON.stringify(listed, null, 2)};

client.broadcast.sendOperations(operations, key).then(console.log, console.error);`;
}

function beem(operations) {
  const { chain_id, key_prefix, tokens } = chain.overview;
  const coin = tokens[0].symbol;
  const assets = [...tokens]
    .sort((some, other) => (some.nai < other.nai ? -1 : 1))
    .map(({ nai, symbol, precision }, id) => `        {"asset": "${nai}", "symbol": "${symbol}", "precision": ${precision}, "id": ${id}},`)
    .join("\n");
  const names = [...new Set(operations.map(({ name }) => className(name)))].sort();
  const appended = operations
    .map((operation) => `tx.appendOps(${className(operation.name)}(**${python(familiar(operation).value, 0, key_prefix)}))`)
    .join("\n");
  const renamed = operations.flatMap(({ value }) => Object.keys(value).filter((field) => familiarName(field) !== field));
  const namesThere = renamed.map(familiarName).join(", ");
  const caution = renamed.length ? `# beem writes ${namesThere}, which this chain calls ${renamed.join(", ")}: what isn't the default there is lost.\n` : "";
  const hasAmounts = appended.includes("Amount(");
  return `${caution}from beem import Steem
${hasAmounts ? "from beem.amount import Amount\n" : ""}from beem.instance import set_shared_blockchain_instance
from beem.transactionbuilder import TransactionBuilder
from beembase.operations import ${names.join(", ")}

CHAIN = {
    "chain_id": "${chain_id}",
    "min_version": "0.0.0",
    "prefix": "${key_prefix}",
    "chain_assets": [
${assets}
    ],
}
KEY = "${KEY}"

steem = Steem(node=${JSON.stringify(location.origin)}, keys=[KEY], custom_chains={"${coin}": CHAIN})
set_shared_blockchain_instance(steem)
tx = TransactionBuilder(blockchain_instance=steem)
${appended}
tx.appendWif(KEY)
tx.sign()
print(tx.broadcast())`;
}

function className(name) {
  return name[0].toUpperCase() + name.slice(1);
}

// A value in Python; objects of an operation get the prefix of keys as well, which beem needs where there are any.
function python(value, depth, prefix) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  if (isAmount(value)) return `Amount("${plainAmount(value)}", blockchain_instance=steem)`;
  if (value.type in VARIANTS) return python([VARIANTS[value.type], value.value], depth, prefix);
  const inner = "    ".repeat(depth + 1);
  const end = "    ".repeat(depth);
  if (Array.isArray(value)) return value.length ? `[${value.map((member) => python(member, depth, prefix)).join(", ")}]` : "[]";
  const members = Object.entries(value).map(([name, member]) => `${inner}${JSON.stringify(name)}: ${python(member, depth + 1, prefix)},`);
  if (!depth) members.push(`${inner}"prefix": "${prefix}",`);
  return `{\n${members.join("\n")}\n${end}}`;
}
