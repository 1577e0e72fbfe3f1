// What the account page asks the node for. Each list is bounded; what was left out is known by its length.
import { call } from "../../rpc.js";

export const LIST_MAX = 100;
const FIRST_TIME = "1970-01-01T00:00:00";
const POSTS_DUE_MAX = 20;

// The account with what its numbers depend on; null for an unknown name.
export async function loadAccount(name) {
  const [{ accounts }, globals, price, { witnesses }] = await Promise.all([
    call("database_api.find_accounts", { accounts: [name] }),
    call("database_api.get_dynamic_global_properties"),
    call("database_api.get_current_price_feed"),
    call("database_api.find_witnesses", { owners: [name] }),
  ]);
  return accounts.length ? { account: accounts[0], globals, price, witness: witnesses[0] ?? null } : null;
}

// Everything of an account that waits for a time or for somebody.
export async function loadWaiting(name) {
  const accounts = [name];
  const one = (method, params, member) => call(`database_api.${method}`, params).then((result) => result[member]);
  const [orders, escrows, leaving, arriving, conversions, returning, routes, recoveries, changes, declines, proposals, payouts] = await Promise.all([
    one("find_limit_orders", { account: name }, "orders"),
    one("find_escrows", { from: name }, "escrows"),
    one("find_savings_withdrawals", { account: name }, "withdrawals"),
    one("list_savings_withdrawals", { start: [name, FIRST_TIME, 0], limit: LIST_MAX, order: "by_to_complete" }, "withdrawals"),
    one("find_sbd_conversion_requests", { account: name }, "requests"),
    one("find_vesting_delegation_expirations", { account: name }, "delegations"),
    one("find_withdraw_vesting_routes", { account: name, order: "by_withdraw_route" }, "routes"),
    one("find_account_recovery_requests", { accounts }, "requests"),
    one("find_change_recovery_account_requests", { accounts }, "requests"),
    one("find_decline_voting_rights_requests", { accounts }, "requests"),
    one("list_proposals", { start: [name, 0], limit: LIST_MAX, order: "by_creator", status: "all" }, "proposals"),
    call("bridge.get_account_posts", { sort: "payout", account: name, limit: POSTS_DUE_MAX }).catch(() => null),
  ]);
  return {
    orders,
    escrows,
    leaving,
    arriving: arriving.filter((one) => one.to === name),
    conversions,
    returning,
    routes,
    recoveries,
    changes,
    declines,
    proposals: proposals.filter((one) => one.creator === name),
    payouts,
  };
}

// Rows of a list from a start on as long as they belong to the account; `more` says that the list was cut.
export async function loadVotes(name) {
  const [{ votes }, { votes: received }, { accounts }, { proposal_votes }] = await Promise.all([
    call("database_api.list_witness_votes", { start: [name, ""], limit: LIST_MAX, order: "by_account_witness" }),
    call("database_api.list_witness_votes", { start: [name, ""], limit: LIST_MAX, order: "by_witness_account" }),
    call("database_api.list_accounts", { start: [name, ""], limit: LIST_MAX, order: "by_proxy" }),
    call("database_api.list_proposal_votes", { start: [name, 0], limit: LIST_MAX, order: "by_voter_proposal", status: "all" }),
  ]);
  return {
    votes: votes.filter((vote) => vote.account === name),
    voters: received.filter((vote) => vote.witness === name),
    followers: accounts.filter((account) => account.proxy === name),
    proposals: proposal_votes.filter((vote) => vote.voter === name).map((vote) => vote.proposal),
  };
}
