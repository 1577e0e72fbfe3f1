"""`coind show chain`, `witnesses`, `witness` and `proposals`."""

from collections.abc import Iterator
from typing import Any

from node.cli.remote import Remote
from node.cli.show.reply_fields import VESTS_PLACES, amount_text, basis_points, call_if_served, member, percent, time_or_never, units
from node.runtime.output import write_pairs, write_table
from node.specs.foreign import known_specs
from state.protocol.spec import ChainSpec

SLOTS = 128
COIN_UNIT = 1000
NULL_KEY_SUFFIX = "1111111111111111111111111111111114T1Anm"


def ask_chain(remote: Remote) -> Any:
    """Return the properties and the head of a chain."""
    spec, fork = remote.spec, ask_fork(remote)
    return {
        "chain": chain_name(spec, fork),
        "chain_id": spec.chain_id.hex(),
        "key_prefix": spec.key_prefix,
        "symbols": [spec.coin_symbol, spec.debt_symbol, spec.vests_symbol],
        "version": remote.call("condenser_api.get_version", []),
        "hardfork": remote.call("condenser_api.get_hardfork_version", []),
        "properties": remote.head(),
        "median_properties": remote.call("condenser_api.get_chain_properties", []),
        "price": remote.call("condenser_api.get_current_median_history_price", []),
        "reward_fund": call_if_served(remote, "condenser_api.get_reward_fund", ["post"]),
        "fork": fork,
    }


def chain_name(spec: ChainSpec, fork: Any) -> str:
    """Return the name of a chain. A fork with its own chain id is named after its source, as in the node's banner."""
    if fork is None or fork["source_chain_id"] == spec.chain_id.hex():
        return spec.name
    return f"fork of {next((known.name for known in known_specs() if known.chain_id.hex() == fork['source_chain_id']), spec.name)}"


def ask_fork(remote: Remote) -> Any:
    """Return the origin of a forked chain, or None. Only coind has forks."""
    return call_if_served(remote, "explorer_api.get_fork", {})


def fork_text(fork: Any) -> str:
    """Describe the origin of a forked chain."""
    parts = [f"{fork['source']} at block {fork['block_num']}, {fork['time']}", "complete" if fork["is_complete"] else "a partial copy"]
    newest = [f"the newest posts of each, up to {fork['newest_posts']}"] if fork["newest_posts"] else []
    if named := [f"{kind}: {len(fork[kind])}" for kind in ("accounts", "posts") if fork[kind]] + newest:
        parts.append(f"made with {', '.join(named)}")
    if fork["fetches"]:
        last = fork["last_fetches"][0]
        failed = f" ({fork['failed_fetches']} failed)" if fork["failed_fetches"] else ""
        parts.append(f"{fork['fetches']} fetches{failed}, last {last['what']}" + (f": {last['error']}" if last["error"] else ""))
    return "; ".join(parts)


def write_chain(remote: Remote, chain: Any) -> None:
    """Print the properties and the head of a chain."""
    write_pairs(chain_pairs(remote, chain), title=chain["chain"])


def chain_pairs(remote: Remote, chain: Any) -> Iterator[tuple[str, object]]:
    """Yield the properties and the head of a chain, as pairs of name and value."""
    props, medians, feed = chain["properties"], chain["median_properties"], chain["price"]
    yield "chain id", chain["chain_id"]
    if chain["fork"]:
        yield "fork of", fork_text(chain["fork"])
    yield "symbols", " ".join(chain["symbols"])
    yield "key prefix", chain["key_prefix"]
    yield "hardfork", f"{chain['hardfork']}, node {chain['version'].get('blockchain_version', '')}"
    yield "head", f"block {props['head_block_number']} by {props['current_witness']}, {props['head_block_id']}"
    yield "time", props["time"]
    yield "irreversible", f"block {props['last_irreversible_block_num']}"
    yield "participation", percent(int(props["participation_count"]), SLOTS)
    yield "supply", f"{props['current_supply']}, {member(props, 'current_sbd_supply', remote)}"
    fund, shares = member(props, "total_vesting_fund_coin", remote), props["total_vesting_shares"]
    yield "powered up", f"{fund} in {shares}"
    if units(feed["base"]) and units(feed["quote"]):
        yield "price", f"{feed['base']} for {feed['quote']}"
    else:
        yield "price", "no price feed"
    if chain["reward_fund"]:
        yield "reward fund", member(chain["reward_fund"], "reward_balance", remote)
    yield "account fee", medians["account_creation_fee"]
    yield "block size", f"at most {medians['maximum_block_size']:,} bytes"
    yield "interest", basis_points(member(medians, "sbd_interest_rate", remote, 0))


def write_witnesses(remote: Remote, witnesses: Any) -> None:
    """Print witnesses, one per line."""
    rows = [
        (
            place,
            witness["owner"] + ("" if is_on(witness) else " (off)"),
            votes(witness, remote),
            witness["last_confirmed_block_num"],
            witness["total_missed"],
            feed_text(witness, remote),
            witness["running_version"],
        )
        for place, witness in enumerate(witnesses, 1)
    ]
    write_table([">#", "witness", ">votes", ">last block", ">missed", ">price", "version"], rows)


def is_on(witness: dict[str, Any]) -> bool:
    """Whether a witness is active, which means that it has a signing key."""
    return not str(witness["signing_key"]).endswith(NULL_KEY_SUFFIX)


def votes(witness: dict[str, Any], remote: Remote) -> str:
    """Return the votes of a witness, in vesting shares."""
    return amount_text(int(witness["votes"]), VESTS_PLACES, remote.spec.vests_symbol)


def feed_text(witness: dict[str, Any], remote: Remote) -> str:
    """Return the price that a witness has published."""
    feed = member(witness, "sbd_exchange_rate", remote, {"base": "0", "quote": "0"})
    if not units(feed["base"]):
        return "none"
    return str(feed["base"]) if units(feed["quote"]) == COIN_UNIT else f"{feed['base']} / {feed['quote']}"


def write_witness(remote: Remote, witness: Any) -> None:
    """Print a witness."""
    props = witness["props"]
    write_pairs(
        [
            ("votes", votes(witness, remote)),
            ("signing key", witness["signing_key"] if is_on(witness) else "none: it makes no blocks"),
            ("last block", witness["last_confirmed_block_num"]),
            ("missed", witness["total_missed"]),
            ("price", f"{feed_text(witness, remote)}, {time_or_never(member(witness, 'last_sbd_exchange_update', remote))}"),
            ("account fee", props["account_creation_fee"]),
            ("block size", f"{props['maximum_block_size']:,} bytes"),
            ("interest", basis_points(member(props, "sbd_interest_rate", remote, 0))),
            ("version", witness["running_version"]),
            ("votes for", f"hardfork {witness['hardfork_version_vote']} at {witness['hardfork_time_vote']}"),
            ("url", witness["url"]),
        ],
        title=witness["owner"],
    )


def write_proposals(remote: Remote, proposals: Any) -> None:
    """Print proposals, one per line."""
    rows = [
        (
            each["proposal_id"] if "proposal_id" in each else each["id"],
            each["creator"],
            each["receiver"],
            each["daily_pay"],
            f"{each['start_date'][:10]} to {each['end_date'][:10]}",
            amount_text(int(each["total_votes"]), VESTS_PLACES, remote.spec.vests_symbol),
            each["subject"],
        )
        for each in proposals
    ]
    write_table([">id", "creator", "receiver", ">daily", "time", ">votes", "subject"], rows, empty="no proposals")
