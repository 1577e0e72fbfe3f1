"""Imports portable rows into a state."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from state.effects.arithmetic import share
from state.effects.balances import median_price, to_coin
from state.portable.arrivals import Arrivals, account_level
from state.portable.checks import are_properties, check_batch, check_world, is_feed, names_of
from state.portable.declarations import PORTABLE, Batch, CommentKey, Portable, PortableRow
from state.portable.others import ALL_OTHERS, COIN_MAX, Amounts, check_supplies, grow, make_others, others, take
from state.portable.weights import set_proxied, take_proposal_votes, take_witness_votes
from state.protocol import constants
from state.protocol.constants import COIN_100_PERCENT, TIME_MAX
from state.protocol.errors import ChainError
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, VESTS
from state.store import Row, Table, Unique
from state.tables import State
from state.tables.accounts import DelegationExpiration, OwnerHistory
from state.tables.content import Comment, CommentVote
from state.tables.witnesses import ELECTED, MINER, TIMESHARE, Witness

WORLD = (
    "global_properties",
    "witness_schedules",
    "feed_histories",
    "hardfork_properties",
    "reward_funds",
    "nai_pools",
    "witnesses",
    "proposals",
    "smt_tokens",
    "smt_icos",
    "smt_emissions",
    "transactions",
    "block_summaries",
)
"""The tables with rows that belong to no account."""

BASIC = (constants.COIN_MINER_ACCOUNT, constants.COIN_NULL_ACCOUNT, constants.COIN_TEMP_ACCOUNT)
PARTS = ("accounts", "account_metadata", "account_authorities")
ADDED = ("witnesses", "proposals", "smt_tokens", "smt_icos", "smt_emissions")
"""Tables of the world to which later imports can add rows."""
OWNED = tuple(name for name, portable in PORTABLE.items() if portable.owner)
CLEARING_HARDFORK = 23


def amounts(*held: tuple[int, int]) -> Amounts:
    """Return the sums of amounts, given with their symbols."""
    found: Amounts = Counter()
    for symbol, amount in held:
        found[symbol] += amount
    return found


HOLDINGS: dict[str, Callable[[Any], Amounts]] = {
    "limit_orders": lambda row: amounts((row.sell_price.base.symbol, row.for_sale)),
    "convert_requests": lambda row: amounts((SBD, row.amount)),
    "escrows": lambda row: amounts((COIN, row.coin_balance), (SBD, row.sbd_balance), (row.pending_fee.symbol, row.pending_fee.amount)),
    "savings_withdraws": lambda row: amounts((row.amount.symbol, row.amount.amount)),
    "smt_contributions": lambda row: amounts((COIN, row.contribution)),
}
"""The amounts that a row holds, by table."""


# ------------------------------------------------------------------ the world


def import_world(state: State, batch: Batch, *, is_complete: bool = False, next_proposal_id: int = 0) -> None:
    """Replace all rows of a state at genesis with those of a batch. The undo journal is empty before and after.

    The batch has at least the rows of the tables of one row. With `is_complete`, it is a whole state: ids are taken from the rows that have
    one. Otherwise `all others` gets what the supplies contain beyond the rows of the batch. `next_proposal_id` is the id of the next new
    proposal, if it's larger than those of the rows: proposals that were removed had ids too.

    Raises ValueError if the batch is invalid. The state is then unusable.
    """
    check_batch(batch)
    state.journal.commit(state.journal.position())
    for _, table in state.tables():
        table.restore([], 0)
    for name, portable in PORTABLE.items():
        if not portable.key and name in batch and len(batch[name]) != 1:
            raise ValueError(f"{len(batch[name])} rows of {name} instead of 1")
    try:
        insert_rows(state, batch if is_complete else {name: batch[name] for name in WORLD if name in batch}, keeps_ids=is_complete)
        state.find_single_rows()
        set_schedules(state, batch.get("witnesses", []))
        state.proposals.skip_ids(next_proposal_id)
        if is_complete:
            _import_plugins(state, batch)
        else:
            _start_partial(state)
            names = {name for table in WORLD for row in batch.get(table, ()) for name in names_of(PORTABLE[table], row)}
            rest = {name: rows for name, rows in batch.items() if name not in WORLD}
            _import_plugins(state, {**batch, **_import(state, rest, {*names, *BASIC, state.spec.treasury})})
    except StopIteration:
        raise ValueError("the batch has no row of global properties, schedule, feed, hardforks or names of tokens") from None
    except ChainError as error:
        raise ValueError(error.message(state.spec.spell)) from None
    state.journal.commit(state.journal.position())


def _start_partial(state: State) -> None:
    """Insert `all others`, and count all votes as outside votes."""
    if not state.spec.is_partial:
        raise ValueError("the spec of the chain doesn't say that it's partial")
    check_world(state)
    versions, hardforks = state.spec.hardfork_versions, state.hardforks
    if hardforks.next_hardfork not in versions:
        state.hardfork_properties.modify(hardforks, next_hardfork=hardforks.current_hardfork_version)
    for fund in list(state.reward_funds):
        state.reward_funds.modify(fund, reward_balance=max(fund.reward_balance, 0))
    state.set_props(last_irreversible_block_num=state.props.head_block_number)
    make_others(state)
    price = median_price(state)
    if price != NULL_PRICE:
        worth = to_coin(state, state.props.current_sbd_supply)
        state.set_props(virtual_supply=state.props.current_supply + worth)
    check_supplies(state)
    for witness in list(state.witnesses):
        start_witness(state, witness)
    for proposal in state.proposals:
        take_proposal_votes(state, proposal.proposal_id, -proposal.total_votes)


def start_witness(state: State, witness: Witness) -> None:
    """Count all votes for an imported witness as outside votes. Drop its price and properties if no block could use them."""
    sound: dict[str, Any] = {}
    if not is_feed(witness.sbd_exchange_rate):
        sound["sbd_exchange_rate"] = NULL_PRICE
    if not are_properties(witness.props):
        sound["props"] = state.schedule.median_props
    state.witnesses.modify(witness, **sound)
    # The votes can have been read after the total of VESTS.
    lack = witness.votes - state.props.total_vesting_shares
    if lack > 0:
        grow(state, amounts((VESTS, lack)))
        state.accounts.modify(others(state), vesting_shares=others(state).vesting_shares + lack)
    take_witness_votes(state, witness.owner, -witness.votes)


def set_schedules(state: State, rows: list[PortableRow]) -> None:
    """Set the column `schedule` of witnesses whose rows lack it: how they got their slots in this round.

    The round has the witnesses with the most votes, and then those that finished a lap of virtual time. The latter start a new lap, which
    shows in their rows. Some of the former do so, too, and votes can have changed since then. If the pay of the round is that of other
    numbers of witnesses, there was no round yet, and all witnesses are miners.
    """
    schedule = state.schedule
    unknown = [state.witness(row["owner"]) for row in rows if "schedule" not in row]
    names = schedule.current_shuffled_witnesses[: schedule.num_scheduled_witnesses]
    found = [witness for witness in unknown if witness.owner in names]
    late = [one for one in found if one.virtual_last_update == schedule.current_virtual_time and one.virtual_position == 0]
    count = max(len(names) - schedule.max_voted_witnesses, 0)
    timeshare = {one.owner for one in sorted(late, key=lambda one: (-one.votes, one.owner))[-count:]} if count else set()
    pay = len(timeshare) * schedule.timeshare_weight + (len(found) - len(timeshare)) * schedule.elected_weight
    has_round = pay == schedule.witness_pay_normalization_factor
    for witness in found if has_round else unknown:
        kind = MINER if not has_round else TIMESHARE if witness.owner in timeshare else ELECTED
        state.witnesses.modify(witness, schedule=kind)


# ------------------------------------------------------------------ rows


def import_rows(state: State, batch: Batch) -> None:
    """Add the rows of a batch to a partial state. The amounts in them are taken from `all others`.

    Existing rows stay as they are, and so do accounts that are here in full, with the rows that belong to them. A missing account to
    which a row refers is added by name only.

    Raises ValueError if the batch is invalid, and changes nothing.
    """
    check_batch(batch)
    with state.journal.session():
        try:
            plugins = {name: rows for name, rows in batch.items() if "/" in name}
            _import_plugins(state, {**plugins, **_import(state, batch)})
        except ChainError as error:
            raise ValueError(error.message(state.spec.spell)) from None


def _import(state: State, batch: Batch, names: Iterable[str] = ()) -> Batch:
    """Import rows, and add these accounts by name only if they are missing. Return the rows that are new."""
    arrivals = Arrivals(state)
    new = new_rows(state, batch)
    for row in new.get("accounts", ()):
        arrivals.add_account(row)
    needed = {account for name, rows in new.items() for row in rows for account in names_of(PORTABLE[name], row)}
    for name in sorted(needed.union(names)):
        arrivals.add_name(name)
    if state.hardfork < CLEARING_HARDFORK and any(state.accounts.by_name.get(name) for name in state.spec.hf23_accounts):
        arrivals.add_name(constants.HIVE_TREASURY_ACCOUNT)
    for votes in ("witness_votes", "proposal_votes"):
        for row in new.get(votes, ()):
            arrivals.weights.note(row[PORTABLE[votes].owner])
    _replace_parts(state, new)
    for name, table in state.tables():
        if name in new and name not in PARTS:
            for row in _insert(state, table, PORTABLE[name], new[name]):
                if name in HOLDINGS:
                    arrivals.amounts.update(HOLDINGS[name](row))
    count_rows(arrivals, new)
    for row in new.get("witnesses", ()):
        start_witness(state, state.witness(row["owner"]))
    for row in new.get("proposals", ()):
        take_proposal_votes(state, row["proposal_id"], -row.get("total_votes", 0))
    for row in new.get("comments", ()):
        add_rest_of_votes(state, state.comments.by_permlink.find(row["author"], row["permlink"]))
    for root in {row["root_comment"]: None for row in new.get("comments", ())}:
        count_descendants(state, state.comments.by_permlink.find(*root))
    take(state, arrivals.amounts)
    set_proxied(state, arrivals.weights, {name: row.get("proxied_vsf_votes", (0, 0, 0, 0)) for name, row in arrivals.given.items()})
    arrivals.weights.settle()
    check_supplies(state)
    new["accounts"] = [*new.get("accounts", []), *({"name": name} for name in arrivals.named if name not in arrivals.given)]
    return new


def new_rows(state: State, batch: Batch) -> Batch:
    """Return the new rows of a batch. Omit rows of accounts that are here in full, and rows of the whole chain."""
    levels = {row["name"]: account_level(state, row["name"]) for row in batch.get("accounts", ())}
    coming = {
        row["name"]: row
        for row in batch.get("accounts", ())
        if levels[row["name"]] in (None, "name") or (levels[row["name"]] == "light" and not row.get("is_light", False))
    }
    parts = {name for name in coming if levels[name] != "light"}
    comments = new_comments(state, batch.get("comments", ()))
    new: Batch = {"accounts": list(coming.values()), "comments": list(comments.values())}
    for name in PARTS[1:]:
        new[name] = [row for row in batch.get(name, ()) if row["account"] in parts]
    for name in ("comment_contents", "comment_votes"):
        new[name] = [row for row in batch.get(name, ()) if row["comment"] in comments]
    tables = dict(state.tables())
    for name in (*ADDED, *OWNED):
        find = finder(tables[name], PORTABLE[name].key)
        new[name] = [row for row in batch.get(name, ()) if find(row) is None and _is_new(state, PORTABLE[name], row, coming)]
    known = {name: {row[PORTABLE[name].key[0]] for row in new[name]} for name in ADDED}
    new["witness_votes"] = [
        row
        for row in new["witness_votes"]
        if _has(state.witnesses.by_name, row["witness"], known["witnesses"]) and not _has_no_votes(state, row["account"], coming)
    ]
    new["proposal_votes"] = [
        row for row in new["proposal_votes"] if _has(state.proposals.by_proposal_id, row["proposal_id"], known["proposals"])
    ]
    new["smt_contributions"] = [
        row for row in new["smt_contributions"] if _has(state.smt_tokens.by_symbol, row["symbol"], known["smt_tokens"])
    ]
    # An account that has set routes here keeps them.
    routed = {
        row["from_account"] for row in new["withdraw_routes"] if any(state.withdraw_routes.by_withdraw_route.equal(row["from_account"]))
    }
    new["withdraw_routes"] = [row for row in new["withdraw_routes"] if row["from_account"] not in routed]
    symbols = {COIN, SBD, *known["smt_tokens"], *(token.liquid_symbol for token in state.smt_tokens)}
    new["limit_orders"] = [
        row for row in new["limit_orders"] if symbols.issuperset((row["sell_price"].base.symbol, row["sell_price"].quote.symbol))
    ]
    new["vesting_delegations"] = [row for row in new["vesting_delegations"] if row["delegator"] != row["delegatee"]]
    return {name: rows for name, rows in new.items() if rows}


def new_comments(state: State, rows: Iterable[PortableRow]) -> dict[CommentKey, PortableRow]:
    """Return the comments that aren't here, by key, without replies whose parent isn't here, or is in another discussion or depth."""
    given = {(row["author"], row["permlink"]): row for row in rows}
    places: dict[CommentKey, tuple[int, CommentKey]] = {}

    def place(key: CommentKey) -> tuple[int, CommentKey] | None:
        """Return the depth and the root of a comment that is here or comes in."""
        here = state.comments.by_permlink.get(*key)
        if here is None:
            return places.get(key)
        root = state.comments.get(here.root_comment)
        return None if root is None else (here.depth, (root.author, root.permlink))

    for key, row in sorted(given.items(), key=lambda item: item[1].get("depth", 0)):
        depth, root = row.get("depth", 0), row.get("root_comment", key)
        parent = (row.get("parent_author", ""), row.get("parent_permlink", ""))
        if state.comments.by_permlink.get(*key) is None and (not depth or place(parent) == (depth - 1, root)):
            places[key] = depth, root
    found = {key: {"root_comment": key, **row} for key, row in given.items() if key in places}
    for row in found.values():
        if row.get("max_accepted_payout", 0) > COIN_MAX:
            row["max_accepted_payout"] = COIN_MAX  # so that it has a value in COIN
    return found


def _is_new(state: State, portable: Portable, row: PortableRow, coming: dict[str, PortableRow]) -> bool:
    """Whether the account to which a row belongs, if any, isn't here in full. Rows without a unique key come in only with their account."""
    owner = row.get(portable.owner) if portable.owner else None
    if owner is None or owner in coming:
        return True
    return account_level(state, owner) != "full" and portable.row not in (OwnerHistory, DelegationExpiration)


def _has_no_votes(state: State, name: str, coming: dict[str, PortableRow]) -> bool:
    """Whether an account has no witness votes of its own: it has a proxy, here or in the row that comes in, or it is `null`."""
    if name == constants.COIN_NULL_ACCOUNT:
        return True
    account = state.accounts.by_name.get(name)
    return bool(account.proxy if account is not None and account.proxy else coming.get(name, {}).get("proxy"))


def _has(index: Any, key: Any, new: set[Any]) -> bool:
    return key in new or index.get(key) is not None


def finder(table: Table[Any], key: tuple[str, ...]) -> Callable[[PortableRow], Any]:
    """Return a function that finds the row of a table with the key of a portable row, or None. A key without references is needed."""
    for name, declared in type(table).declared:
        if declared.fields == key and (isinstance(declared, Unique) or getattr(declared, "unique", False)):
            get = getattr(table, name).get
            return lambda row: get(*[row[column] for column in key])
    return lambda row: None


def _replace_parts(state: State, new: Batch) -> None:
    """Replace the metadata and authorities of accounts that were here by name only."""
    for row in new.get("account_metadata", ()):
        metadata = state.account_metadata.by_account.find(state.account(row["account"]).id)
        state.account_metadata.modify(metadata, **_columns(row, "account"))
    for row in new.get("account_authorities", ()):
        state.account_authorities.modify(state.authority(row["account"]), **_columns(row, "account"))


def _columns(row: PortableRow, *omitted: str) -> PortableRow:
    return {column: value for column, value in row.items() if column not in ("id", *omitted)}


def count_rows(arrivals: Arrivals, new: Batch) -> None:
    """Set the counters of accounts whose rows were imported."""
    state = arrivals.state
    for row in new.get("vesting_delegations", ()):
        arrivals.add_lent(row["delegator"], row.get("vesting_shares", 0))
        arrivals.add_received(row["delegatee"], row.get("vesting_shares", 0))
    for row in new.get("delegation_expirations", ()):
        arrivals.add_lent(row["delegator"], row.get("vesting_shares", 0))
    arrivals.add_rests()
    owners = {row[PORTABLE[name].owner] for name in OWNED for row in new.get(name, ())}
    for name in sorted({*owners, *arrivals.given, *arrivals.completed}):
        account = state.account(name)
        routes = list(state.withdraw_routes.by_withdraw_route.equal(name))
        if sum(route.percent for route in routes) > COIN_100_PERCENT:
            raise ValueError(f"the routes of {name} pay more than 100 % of its power-down")
        state.accounts.modify(
            account,
            withdraw_routes=len(routes),
            savings_withdraw_requests=sum(1 for _ in state.savings_withdraws.by_from_rid.equal(name)),
            witnesses_voted_for=len(state.witness_votes.of_account.of(name)),
        )
        arrivals.cover(name)


def count_descendants(state: State, root: Comment) -> None:
    """Raise each comment's number of replies to at least those that are here, because comments with replies can't be deleted."""
    counts: Counter[CommentKey] = Counter()
    rows = list(state.comments.by_root.equal(root.id))
    for row in sorted(rows, key=lambda row: -row.depth):
        counts[row.parent_author, row.parent_permlink] += 1 + counts[row.author, row.permlink]
    for row in rows:
        count = counts[row.author, row.permlink]
        if row.children < count:
            state.comments.modify(row, children=count)


def add_rest_of_votes(state: State, comment: Comment) -> None:
    """Add a vote of `all others` for the votes on an unpaid comment that weren't imported."""
    if comment.cashout_time == TIME_MAX:
        return
    votes = state.comment_votes.of_comment.of(comment.id)
    weight = comment.total_vote_weight - sum(vote.weight for vote in votes)
    rshares = comment.net_rshares - sum(vote.rshares for vote in votes)
    if weight < 0:
        # The votes were read after the comment, and include a later vote.
        state.comments.modify(comment, total_vote_weight=share(comment.total_vote_weight - weight))
    if rshares and weight > 0:
        voter, last = state.account(ALL_OTHERS).id, comment.last_update
        state.comment_votes.insert(CommentVote(voter=voter, comment=comment.id, weight=weight, rshares=rshares, last_update=last))


def _import_plugins(state: State, batch: Batch) -> None:
    for importer in state.listeners.on_import:
        importer(batch)


# ------------------------------------------------------------------ insertion


def insert_rows(state: State, batch: Batch, *, keeps_ids: bool = False) -> None:
    """Insert consensus rows as they are. With `keeps_ids`, rows that have an id keep it, if it's larger than those before."""
    tables = dict(state.tables())
    for name, portable in PORTABLE.items():
        if name in batch and name in tables:
            rows: Iterable[PortableRow] = batch[name]
            if keeps_ids and all("id" in row for row in rows):
                rows = sorted(rows, key=lambda row: row["id"])
            _insert(state, tables[name], portable, rows, keeps_ids=keeps_ids)


def _insert(state: State, table: Table[Any], portable: Portable, rows: Iterable[PortableRow], *, keeps_ids: bool = False) -> list[Any]:
    """Insert rows and return them. References to later rows of the same table are set at the end."""
    inserted: list[Any] = []
    later: list[tuple[Row, str, Any]] = []
    for row in rows:
        values = {column: value for column, value in row.items() if column != "id" and column not in portable.marks}
        if portable.id_column:
            table.skip_ids(values[portable.id_column])
        elif keeps_ids and "id" in row:
            table.skip_ids(row["id"])
        unresolved = {}
        for column, reference in portable.references.items():
            found = reference.id_of(state, values[column])
            if found is None and reference.table is type(table):
                unresolved[column] = values.pop(column)
            elif found is None:
                raise ValueError(f"{portable.row.__name__} refers to {values[column]!r}, which isn't here")
            else:
                values[column] = found
        inserted.append(table.insert(portable.row(**values)))
        later += [(inserted[-1], column, key) for column, key in unresolved.items()]
    for new, column, key in later:
        found = portable.references[column].id_of(state, key)
        if found is None:
            raise ValueError(f"{portable.row.__name__} refers to {key!r}, which isn't here")
        table.modify(new, **{column: found})
    return inserted
