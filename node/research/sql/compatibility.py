"""Views with the names and columns of databases that people have queries for: SteemSQL (schema `steemsql`) and HAF (schema `hive`).

Sources of the names: SteemSQL's tables as the libraries steem_api and hive_sql declare them, and the SQL of the repository haf of
openhive-network. A view exists if the export has the view that it reads.
"""

import re
from collections.abc import Iterable, Iterator

import state.operations  # noqa: F401 - declares the operations, whose numbers are read below
from node.research.export.manifest import Manifest
from node.research.sql.types import parts
from node.research.sql.views import SHARED, Source, quoted, text
from state.protocol.operation import by_wire_tag
from state.protocol.values.asset import COIN, SBD, VESTS, nai_text

# SteemSQL's tables: the view that each one reads, and the columns. `{brand}` is the brand word of the exported chain.
TRX, BLOCK = "trx_id AS tx_id, time AS timestamp", "block AS block_num, time AS timestamp"
PAYOUTS = "coins(sbd_payout) AS sbd_payout, coins({brand}_payout) AS steem_payout, vests(vesting_payout) AS vesting_payout"
STEEMSQL = {
    "Accounts": (
        "accounts",
        "id, name, memo_key, proxy, last_account_update, created, mined, recovery_account, last_account_recovery, reset_account,"
        " comment_count, lifetime_vote_count, post_count, can_vote, last_vote_time, amount_text(balance, balance_symbol) AS balance,"
        " amount_text(savings_balance, savings_balance_symbol) AS savings_balance,"
        " amount_text(sbd_balance, sbd_balance_symbol) AS sbd_balance, sbd_seconds, sbd_seconds_last_update, sbd_last_interest_payment,"
        " amount_text(savings_sbd_balance, savings_sbd_balance_symbol) AS savings_sbd_balance, savings_sbd_seconds,"
        " savings_sbd_seconds_last_update, savings_sbd_last_interest_payment, savings_withdraw_requests,"
        " amount_text(vesting_shares, vesting_shares_symbol) AS vesting_shares,"
        " amount_text(vesting_withdraw_rate, vesting_withdraw_rate_symbol) AS vesting_withdraw_rate, next_vesting_withdrawal, withdrawn,"
        " to_withdraw, withdraw_routes, curation_rewards, posting_rewards, witnesses_voted_for, last_post, last_root_post",
    ),
    "Blocks": ("blocks", f"{BLOCK}, previous, witness, witness_signature, transaction_merkle_root"),
    "Comments": (
        "comments",
        'id AS "ID", author, permlink, category, parent_author, parent_permlink, last_update, created, active, last_payout, depth,'
        " children, net_rshares, abs_rshares, vote_rshares, children_abs_rshares, cashout_time, max_cashout_time, total_vote_weight,"
        " reward_weight, coins(total_payout_value) AS total_payout_value, coins(curator_payout_value) AS curator_payout_value,"
        " coins(author_rewards) AS author_rewards, net_votes, coins(max_accepted_payout) AS max_accepted_payout,"
        " percent_{brand}_dollars AS percent_steem_dollars, allow_replies, allow_votes, allow_curation_rewards",
    ),
    "TxAccountCreates": ("account_create", f"{TRX}, creator, new_account_name, coins(fee) AS fee, memo_key, json_metadata"),
    "TxAccountWitnessProxies": ("account_witness_proxy", f'{TRX}, account, proxy AS "Proxy"'),
    "TxAccountWitnessVotes": ("account_witness_vote", f"{TRX}, account, witness, approve"),
    "TxClaimRewardBalances": (
        "claim_reward_balance",
        f"{TRX}, account, coins(reward_{{brand}}) AS reward_steem, coins(reward_sbd) AS reward_sbd, vests(reward_vests) AS reward_vests",
    ),
    "TxComments": ("comment", f"{TRX}, author, permlink, parent_author, parent_permlink, title, body, json_metadata"),
    "TxConverts": ("convert", f"{TRX}, owner, requestid, coins(amount) AS amount"),
    "TxCustoms": ("custom_json", f"{TRX}, id AS tid, json AS json_metadata"),
    "TxDelegateVestingShares": ("delegate_vesting_shares", f"{TRX}, delegator, delegatee, vests(vesting_shares) AS vesting_shares"),
    "TxDeleteComments": ("delete_comment", f"{TRX}, author, permlink"),
    "TxFeeds": (
        "feed_publish",
        f"{TRX}, publisher, coins(exchange_rate_base) AS exchange_rate_base, coins(exchange_rate_quote) AS exchange_rate_quote",
    ),
    "TxVotes": ("vote", f"{TRX}, voter, author, permlink, weight"),
    "TxWithdraws": ("withdraw_vesting", f"{TRX}, account, vests(vesting_shares) AS vesting_shares"),
    "TxWithdrawVestingRoutes": ("set_withdraw_vesting_route", f"{TRX}, from_account, to_account, percent, auto_vest"),
    "VOAuthorRewards": ("author_reward", f"{BLOCK}, author, permlink, {PAYOUTS}"),
    "VOCommentBenefactorRewards": ("comment_benefactor_reward", f"{BLOCK}, benefactor, author, permlink, {PAYOUTS}"),
    "VOCurationRewards": (
        "curation_reward",
        f"{BLOCK}, curator, comment_author AS author, comment_permlink AS permlink, vests(reward) AS reward",
    ),
    "VOFillOrders": (
        "fill_order",
        f"{BLOCK}, current_owner, current_orderid, amount_text(current_pays, current_pays_symbol) AS current_pays,"
        " open_owner, open_orderid, amount_text(open_pays, open_pays_symbol) AS open_pays",
    ),
    "VOFillVestingWithdraws": (
        "fill_vesting_withdraw",
        f"{BLOCK}, from_account, to_account, amount_text(withdrawn, withdrawn_symbol) AS withdrawn,"
        " amount_text(deposited, deposited_symbol) AS deposited",
    ),
    "VOInterests": ("interest", f'{BLOCK}, owner, coins(interest) AS "Interest"'),
    "VOProducerRewards": ("producer_reward", f"{BLOCK}, producer, vests(vesting_shares) AS vesting_shares"),
}
TRANSFERS = {"transfer": "NULL", "transfer_to_vesting": "NULL", "transfer_to_savings": "NULL", "transfer_from_savings": "request_id"}
TRANSACTIONS = "SELECT DISTINCT trx_id AS tx_id, block AS block_num, trx AS transaction_num FROM main.operations WHERE virtual_op = 0"

# Hive's numbers of operations: those of Steem up to `remove_proposal`, then two of Hive's own, then virtual operations in this order.
FIRST_VIRTUAL = 50
VIRTUAL_KINDS = (
    "fill_convert_request", "author_reward", "curation_reward", "comment_reward", "liquidity_reward", "interest", "fill_vesting_withdraw",
    "fill_order", "shutdown_witness", "fill_transfer_from_savings", "hardfork", "comment_payout_update", "return_vesting_delegation",
    "comment_benefactor_reward", "producer_reward", "clear_null_account_balance", "proposal_pay",
)  # fmt: skip
HIVE_IDS = {cls.NAME: tag for tag, cls in by_wire_tag(smt=False).items() if not cls.VIRTUAL} | {
    kind: number for number, kind in enumerate(VIRTUAL_KINDS, FIRST_VIRTUAL)
}
NO_TRANSACTION = 4294967295  # `trx` of an operation outside transactions; -1 in HAF
SEPARATE_TEXT = {("comment_options", "beneficiaries")}  # columns that repeat a part of another one
JSON_TEXT = {"extensions", "work"}  # columns with JSON as text
OPTIONAL_FIELDS = {"account_update", "account_update2", "pow2"}  # operations with fields that JSON omits if they aren't set
# Names of columns that contain the chain's brand word, or the name of another token.
BRANDED = ("percent_([a-z]+)_dollars", "reward_([a-z]+)", "([a-z]+)_(?:payout|amount)")
OTHER_TOKENS = {"sbd", "vests", "vesting"}
ASSET = (
    "CREATE MACRO hive.asset(amount, symbol) AS json_object('amount', CAST(amount AS VARCHAR), 'precision', CASE symbol WHEN {vests} THEN 6"
    " WHEN {coin} THEN 3 WHEN {sbd} THEN 3 END, 'nai', CASE symbol WHEN {vests} THEN {vests_nai} WHEN {coin} THEN {coin_nai} WHEN {sbd}"
    " THEN {sbd_nai} ELSE symbol END)"
)
NUMBER = "CREATE MACRO hive.number(n) AS CASE WHEN abs(n) > 4294967295 THEN to_json(CAST(n AS VARCHAR)) ELSE to_json(CAST(n AS BIGINT)) END"


def compatible_schemas(manifest: Manifest, found: list[Source]) -> Iterator[str]:
    """Yield the statements that create the schemas, their views and their macros."""
    by_name = {source.name: source for source in found}
    kinds = [name for name, source in by_name.items() if source.paths and "virtual_op" in source.columns]
    yield "CREATE SCHEMA steemsql"
    for name, (source, columns) in STEEMSQL.items():
        if source in by_name:
            listed = columns.format(brand=brand_of(by_name[source].columns))
            yield f'CREATE VIEW steemsql."{name}" AS SELECT {listed} FROM main.{quoted(source)}'
    if any(kind in by_name for kind in TRANSFERS):
        transfers = " UNION ALL ".join(
            f'SELECT {TRX}, \'{kind}\' AS type, "from", "to", coins(amount) AS amount, amount_symbol,'
            f" {'NULL' if kind == 'transfer_to_vesting' else 'memo'} AS memo, {request} AS request_id FROM main.{kind}"
            " WHERE amount_symbol NOT LIKE '@@%'"  # user tokens have other decimals
            for kind, request in TRANSFERS.items()
            if kind in by_name
        )
        yield f'CREATE VIEW steemsql."TxTransfers" AS {transfers}'
    if kinds:
        yield f'CREATE VIEW steemsql."Transactions" AS {TRANSACTIONS}'
    yield from haf(manifest, by_name, kinds)


def haf(manifest: Manifest, by_name: dict[str, Source], kinds: list[str]) -> Iterator[str]:
    """Yield the statements that create the schema `hive`."""
    symbols = {symbol.lower(): text(letters) for symbol, letters in manifest.chain.symbols.items()}
    nais = {"coin_nai": text(nai_text(COIN)), "sbd_nai": text(nai_text(SBD)), "vests_nai": text(nai_text(VESTS))}
    yield "CREATE SCHEMA hive"
    yield "CREATE TYPE jsonb AS JSON"
    yield ASSET.format(**symbols, **nais)
    yield NUMBER
    rows = ", ".join(
        f"({number}, 'hive::protocol::{kind}_operation', {number >= FIRST_VIRTUAL})"
        for kind, number in sorted(HIVE_IDS.items(), key=lambda each: each[1])
    )
    yield f"CREATE VIEW hive.operation_types AS SELECT * FROM (VALUES {rows}) AS types(id, name, is_virtual)"
    if "accounts" in by_name:
        yield "CREATE VIEW hive.accounts_view AS SELECT id, name FROM main.accounts"
    if "blocks" in by_name:
        producer = "(SELECT id FROM main.accounts WHERE name = witness) AS producer_account_id, " if "accounts" in by_name else ""
        yield (
            f"CREATE VIEW hive.blocks_view AS SELECT block AS num, unhex(block_id) AS hash, unhex(previous) AS prev, time AS created_at,"
            f" {producer}unhex(transaction_merkle_root) AS transaction_merkle_root, CAST(extensions AS JSON) AS extensions,"
            " unhex(witness_signature) AS witness_signature FROM main.blocks"
        )
    known = [kind for kind in kinds if kind in HIVE_IDS]
    if known:
        yield (
            "CREATE VIEW hive.transactions_view AS SELECT DISTINCT block AS block_num, trx AS trx_in_block, unhex(trx_id) AS trx_hash"
            " FROM main.operations WHERE virtual_op = 0"
        )
        union = " UNION ALL ".join(
            f"SELECT block, trx, op, virtual_op, time, {HIVE_IDS[kind]} AS op_type_id, {body_of(by_name[kind])} AS body"
            f" FROM main.{quoted(kind)}"
            for kind in known
        )
        yield (
            "CREATE VIEW hive.operations_view AS SELECT"
            " block * 4294967296 + (row_number() OVER (PARTITION BY block ORDER BY trx, op, virtual_op) - 1) * 256 + op_type_id AS id,"
            f" block AS block_num, CASE WHEN trx = {NO_TRANSACTION} THEN -1 ELSE trx END AS trx_in_block,"
            f" CASE WHEN trx = {NO_TRANSACTION} THEN virtual_op - 1 ELSE op END AS op_pos, op_type_id, time AS timestamp, body"
            f" FROM ({union})"
        )


def brand_of(columns: Iterable[str]) -> str:
    """Return the brand word of the chain if one of these names of columns contains it, for example `steem` in `steem_payout`, or ""."""
    found = (match[1] for pattern in BRANDED for name in columns if (match := re.fullmatch(pattern, name)))
    return next((word for word in found if word not in OTHER_TOKENS), "")


def body_of(source: Source) -> str:
    """Return the expression of an operation's body as HAF has it: an object with the type and the fields, in JSON with Hive's names."""
    own = {name: of for name, of in source.columns.items() if name not in SHARED and (source.name, name) not in SEPARATE_TEXT}
    brand = brand_of(own)
    value = object_of({name: (quoted(name), of) for name, of in own.items()}, brand, prefix=f"{source.name}_")
    if source.name in OPTIONAL_FIELDS:
        value = f"json_merge_patch('{{}}', {value})"  # removes the nulls
    return f"json_object('type', '{source.name}_operation', 'value', {value})"


def object_of(fields: dict[str, tuple[str, str]], brand: str, prefix: str = "") -> str:
    """Return an expression for an object. Each field has an expression and its type in the manifest. An amount and its symbol are one
    member, and the sides of a price are one object.
    """
    members = []
    for name, (value, of) in fields.items():
        if (base := name.removesuffix("_symbol")) != name and base in fields:
            continue
        if f"{name}_symbol" in fields:
            side = name.removesuffix("_quote")
            if side != name and f"{side}_base" in fields:
                continue
            price = name.removesuffix("_base")
            if price != name and f"{price}_quote" in fields:
                sides = [
                    f"'{each}', hive.asset({fields[f'{price}_{each}'][0]}, {fields[f'{price}_{each}_symbol'][0]})"
                    for each in ("base", "quote")
                ]
                members.append((price, f"json_object({', '.join(sides)})"))
            else:
                members.append((name, f"hive.asset({value}, {fields[f'{name}_symbol'][0]})"))
        elif name in JSON_TEXT and of == "string":
            members.append((name, f"CAST({value} AS JSON)"))
        else:
            members.append((name.removeprefix(prefix) if name.removeprefix(prefix) in SHARED else name, json_of(value, of, brand)))
    return f"json_object({', '.join(f'{text(hive_name(name, brand))}, {value}' for name, value in members)})"


def json_of(value: str, of: str, brand: str) -> str:
    """Return the expression for the JSON of a value whose type in the manifest is `of`."""
    head, _, rest = of.partition("<")
    if of.startswith("timestamp"):
        return f"strftime({value}, '%Y-%m-%dT%H:%M:%S')"
    if of == "int64" or of.startswith("decimal"):
        return f"hive.number({value})"
    if head == "list":
        return f"list_transform({value}, lambda e: {json_of('e', rest.removesuffix('>').partition(': ')[2], brand)})"
    if head == "map":
        return f"list_transform(map_entries({value}), lambda e: [to_json(e.key), to_json(e.value)])"
    if head == "struct":
        fields = {
            name: (f"{value}.{quoted(name)}", inner) for name, _, inner in (part.partition(": ") for part in parts(rest.removesuffix(">")))
        }
        if set(fields) == {"amount", "symbol"}:
            return f"hive.asset({value}.amount, {value}.symbol)"
        return f"CASE WHEN {value} IS NOT NULL THEN {object_of(fields, brand)} END"
    return value


def hive_name(name: str, brand: str) -> str:
    """Return the name that a field has on Hive, for example `hbd_payout` for `sbd_payout`."""
    if name == f"percent_{brand}_dollars":
        return "percent_hbd"
    return "_".join({"sbd": "hbd", brand: "hive"}.get(word, word) for word in name.split("_"))
