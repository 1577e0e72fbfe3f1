"""Direct edits of the state: balances, VESTS, authorities.

No operation makes these changes. They are part of the head block, and are undone and redone with it. With `--data` they are stored in a
separate file. Supplies and other totals are updated.
"""

from typing import Annotated, Any, TypedDict, cast, get_args

from rpc.api.database_lists import read_argument
from rpc.declare.arguments import AccountName, AnyOf, Example, PublicKey, Text
from rpc.declare.errors import BadArgument
from rpc.declare.method import method
from rpc.declare.record_encoder import Json
from rpc.processor import Processor
from state.chain.chain import Chain
from state.chain.state_edits import Role, SetAuthority, SetBalance, SetVests, StateEdit
from state.effects.balances import balance_of
from state.protocol.authority import Authority, key_authority
from state.protocol.codec.kinds import AssetKind, Codecs
from state.protocol.errors import ChainError, Refused, require
from state.protocol.keys.keys import public_key_from_text
from state.protocol.transaction import Wire
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, is_vesting

ROLES = get_args(Role)
FAUCET_AMOUNT = Asset(1_000_000, COIN)


class AmountKind(AssetKind):
    """Annotation of an amount that accepts both JSON forms: a string with a symbol, or an object with an NAI."""

    def parser(self, codecs: Codecs, legacy: bool) -> Any:
        from_text, from_object = super().parser(codecs, True), super().parser(codecs, False)
        return lambda value: from_text(value) if isinstance(value, str) else from_object(value)

    def dumper(self, codecs: Codecs, legacy: bool) -> Any:
        return super().dumper(codecs, True)


Amount = Annotated[Asset, AmountKind()]
# The key of the first witness on test chains.
AnyAuthority = Annotated[Any, AnyOf((Authority, PublicKey)), Example("TST6LLegbAgLAy28EHrffBVuANFWcFgmqRMW13wBmTExqFE9SCkg4")]
AmountOrNone = Annotated[Any, AnyOf((Amount, Text))]


class Holdings(TypedDict):
    """An account's balances, without savings and open orders."""

    account: str
    balance: str
    sbd_balance: str
    vesting_shares: str


@method("dev_api.set_balance", loopback_only=True)
async def set_balance(chain: Chain, processor: Processor, /, account: AccountName, balance: Amount) -> Json:
    """Set the liquid balance of an account in COIN, SBD or a token. The difference to the old balance is created or destroyed."""
    await edit(chain, processor, account, SetBalance(account, balance))
    return {}


@method("dev_api.set_vests", loopback_only=True)
async def set_vests(chain: Chain, processor: Processor, /, account: AccountName, vests: Amount) -> Json:
    """Set an account's VESTS. Its mana, resource credits and votes are updated. The price of VESTS doesn't change.

    VESTS that are delegated or being powered down can't be removed.
    """
    await edit(chain, processor, account, SetVests(account, vests))
    return {}


@method("dev_api.set_authority", loopback_only=True)
async def set_authority(
    chain: Chain,
    processor: Processor,
    wire: Wire,
    /,
    account: AccountName,
    role: Annotated[Text, Example("active")],
    authority: AnyAuthority,
) -> Json:
    """Replace an account's authority for a role: `owner`, `active` or `posting`.

    `authority` can be a public key, which then becomes the only key of the authority. For the role `memo`, it must be a public key, which
    replaces the memo key.
    """
    require(role in ROLES, "unknown role ${role}, expected one of ${roles}", condition="role", role=role, roles=", ".join(ROLES))
    await edit(chain, processor, account, SetAuthority(account, cast(Role, role), read_authority(wire, role, authority)))
    return {}


@method("dev_api.faucet", loopback_only=True)
async def faucet(chain: Chain, processor: Processor, wire: Wire, /, account: AccountName, amount: AmountOrNone = "") -> Holdings:
    """Credit newly created COIN, SBD, VESTS or tokens to an account (default: 1000.000 COIN), and return the account's balances."""
    given: Asset = FAUCET_AMOUNT if amount == "" else read_argument("amount", Amount, wire, amount)

    def give() -> None:
        require_account(chain, account)
        state = chain.state
        row = state.account(account)
        if given.symbol == VESTS:
            chain.edit(SetVests(account, Asset(row.vesting_shares + given.amount, VESTS)))
        else:
            liquid = given.symbol in (COIN, SBD) or not is_vesting(given.symbol)
            require(liquid, "vesting shares of tokens can't be created: ${amount}", condition="amount.symbol", amount=given)
            chain.edit(SetBalance(account, Asset(balance_of(state, row, given.symbol) + given.amount, given.symbol)))

    await processor.in_turn(give)
    row, text = chain.state.account(account), wire.codecs.symbols.asset_text
    return {
        "account": account,
        "balance": text(Asset(row.balance, COIN)),
        "sbd_balance": text(Asset(row.sbd_balance, SBD)),
        "vesting_shares": text(Asset(row.vesting_shares, VESTS)),
    }


async def edit(chain: Chain, processor: Processor, account: str, change: StateEdit) -> None:
    """Apply a state edit to an account as part of the head block."""

    def make() -> None:
        require_account(chain, account)
        chain.edit(change)

    await processor.in_turn(make)


def require_account(chain: Chain, account: str) -> None:
    """Refuse an unknown account."""
    require(chain.state.accounts.by_name.get(account) is not None, "there is no account ${account}", condition="account", account=account)


def read_authority(wire: Wire, role: str, given: Any) -> Authority | bytes:
    """Parse an authority, which is given as an object or as a public key. For the role `memo`, parse and return a public key instead."""
    if isinstance(given, str):
        try:
            key = public_key_from_text(given, wire.spec.key_prefix)
        except ChainError as error:
            raise BadArgument(error, "authority") from None
        return key if role == "memo" else key_authority(key)
    if role == "memo":
        raise BadArgument(Refused("expected a public key for the role memo", condition="authority.is_string()"), "authority")
    read: Authority = read_argument("authority", Authority, wire, given)
    return read
