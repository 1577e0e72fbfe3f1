"""`coind show account`, `accounts` and `key`."""

from collections.abc import Iterator
from typing import Any

from node.cli.remote import Remote
from node.cli.show.reply_fields import authority_rows, call_if_served, member, percent, require_found, sum_text, time_or_never, units
from node.cli.times import seconds_of
from node.cli.tx.field_texts import require_public_key
from node.client.errors import RefusedCall
from node.runtime.errors import NodeError
from node.runtime.output import say, write_pairs, write_table

NAMES_MAX = 100
RESOURCES, PARTIAL = "resource_credits", "partial"
MANA_SECONDS = 432_000


def ask_accounts(remote: Remote, names: tuple[str, ...]) -> Any:
    """Return the accounts with these names, in the given order, with resource credits if the node serves them. Raises NodeError."""
    if len(names) > NAMES_MAX:
        raise NodeError(f"expected at most {NAMES_MAX} names, got {len(names)}")
    found = {account["name"]: account for account in remote.call("condenser_api.get_accounts", [list(names)])}
    unknown = [name for name in names if name not in found]
    require_found(not unknown, f"account {', '.join(unknown)}")
    credits = call_if_served(remote, "rc_api.find_rc_accounts", {"accounts": list(names)})
    for row in (credits or {}).get("rc_accounts", []):
        found[row["account"]][RESOURCES] = row
    for partial in call_if_served(remote, "explorer_api.list_partial_accounts", {"accounts": list(names)}) or []:
        found[partial["name"]][PARTIAL] = partial
    return [found[name] for name in names]


def write_accounts(remote: Remote, accounts: Any) -> None:
    """Print accounts."""
    now = seconds_of(remote.head()["time"])
    for place, account in enumerate(accounts):
        if place:
            say("")
        write_pairs(account_pairs(remote, account, now), title=account["name"])
        say("")
        write_table(["role", ">needs", "=member", ">weight"], authority_rows(account))


def account_pairs(remote: Remote, account: dict[str, Any], now: int) -> Iterator[tuple[str, object]]:
    """Yield the balances, mana and authorities of an account."""

    def of(name: str, default: Any = "") -> Any:
        return member(account, name, remote, default)

    if PARTIAL in account:
        is_light = account[PARTIAL]["is_light"]
        yield "here", "without its orders, delegations and other rows" if is_light else "only the name: the account was not fetched"
    shares, given, received = account["vesting_shares"], account["delegated_vesting_shares"], account["received_vesting_shares"]
    yield "liquid", f"{account['balance']}, {of('sbd_balance')}"
    yield "savings", f"{account['savings_balance']}, {of('savings_sbd_balance')}"
    yield "powered up", f"{shares}, {given} delegated, {received} received"
    rewards = [of("reward_coin_balance"), of("reward_sbd_balance"), of("reward_vesting_balance")]
    if any(units(reward) for reward in rewards if reward):
        yield "to claim", ", ".join(rewards)
    if time_or_never(account["next_vesting_withdrawal"]) != "never":
        yield "powers down", f"{account['vesting_withdraw_rate']} next on {account['next_vesting_withdrawal']}"
    effective = units(sum_text(shares, (-1, given), (1, received)))
    yield "vote mana", mana_text(account.get("voting_manabar"), effective, now)
    resources = account.get(RESOURCES)
    if resources:
        most = int(resources["max_rc"])
        yield "resources", f"{mana_text(resources['rc_manabar'], most, now)} of {most:,} resource credits"
    yield "posts", f"{account['post_count']}, last on {account['last_post']}" if account["post_count"] else "none"
    if account.get("reputation"):
        yield "reputation", account["reputation"]
    yield (
        "witnesses",
        f"votes of {account['proxy']} (proxy)" if account["proxy"] else ", ".join(account.get("witness_votes", [])) or "no votes",
    )
    yield "created", time_or_never(account["created"]) if time_or_never(account["created"]) != "never" else "at genesis"
    yield "recovery", account["recovery_account"] or "the first witness by votes"
    if account.get("pending_claimed_accounts"):
        yield "claimed", f"{account['pending_claimed_accounts']} accounts to create"
    for name in ("json_metadata", "posting_json_metadata"):
        if account.get(name):
            yield name.replace("_", " "), account[name]


def mana_text(bar: dict[str, Any] | None, most: int, now: int) -> str:
    """Return a manabar's current mana in percent of its maximum, `most`."""
    if not bar or most <= 0:
        return "none"
    passed = max(0, now - int(bar["last_update_time"]))
    return percent(min(most, int(bar["current_mana"]) + most * passed // MANA_SECONDS), most)


def ask_list(remote: Remote, start: str, count: int) -> Any:
    """Return up to `count` accounts ordered by name, from the name `start` on."""
    names = remote.call("condenser_api.lookup_accounts", [start, count])
    return remote.call("condenser_api.get_accounts", [names]) if names else []


def write_list(remote: Remote, accounts: Any) -> None:
    """Print accounts, one per line."""
    rows = [
        (each["name"], each["balance"], member(each, "sbd_balance", remote), each["vesting_shares"], each["post_count"])
        for each in accounts
    ]
    write_table(["name", ">balance", f">{remote.spec.debt_symbol}", ">powered up", ">posts"], rows)


def ask_key(remote: Remote, public: str) -> Any:
    """Return the accounts that have a public key in one of their authorities."""
    try:
        found = remote.call("condenser_api.get_key_references", [[public]])
    except RefusedCall:
        require_public_key("KEY", public, remote.wire.codecs)  # its error has more details than the node's
        raise
    names = sorted(set(found[0])) if found else []
    return remote.call("condenser_api.get_accounts", [names]) if names else []


def write_key(remote: Remote, accounts: Any) -> None:
    """Print the accounts found for a key, with their authorities."""
    for account in accounts:
        write_table(["role", ">needs", "=member", ">weight"], authority_rows(account), title=account["name"])
    if not accounts:
        say("no account has this key in an authority")
