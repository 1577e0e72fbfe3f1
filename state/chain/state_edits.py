"""State edits: changes of a test chain's state that no operation makes, as Structs that can be written to files.

An edit belongs to a block (`Chain.edit`). Each application of the block ends with its edits, and undoing the block undoes them. Edits can
create and destroy money, but preserve the invariants of state/chain/invariants.py (supplies, totals, vote weights).
"""

from typing import Literal

import msgspec
from msgspec import Struct

from state.chain.blocks import NO_TRANSACTION
from state.chain.hardforks import LAST_BY_TIME, set_hardfork
from state.effects.accounts import require_accounts, require_few, update_owner
from state.effects.arithmetic import share
from state.effects.balances import adjust_balance_of, adjust_supply, balance_of, median_price, vests_to_coin, with_interest
from state.effects.mana import update_manabar
from state.effects.votes import propagate
from state.portable import BATCH_SIZE_MAX, import_rows, unpack_batch
from state.protocol.authority import Authority
from state.protocol.errors import Refused, require
from state.protocol.keys.keys import NULL_KEY
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, VESTS, Asset, is_smt, is_vesting
from state.protocol.values.integers import INT64_MAX
from state.tables import State
from state.tables.accounts import Account

EDIT_SIZE_MAX = BATCH_SIZE_MAX // 3 * 4 + 1024  # bytes of an edit as JSON, in which bytes are base64

Role = Literal["owner", "active", "posting", "memo"]


class StateEdit(Struct, frozen=True, tag_field="edit"):
    """A manual change of the state. It belongs to a block, and is applied after that block."""

    def make(self, state: State) -> None:
        """Make the change, or raise a refusal. After a refusal the caller undoes partial changes."""


class SetSigningKey(StateEdit, frozen=True, tag="give_key"):
    """Set the key with which a witness signs blocks."""

    witness: str
    key: bytes

    def make(self, state: State) -> None:
        state.witnesses.modify(state.witness(self.witness), signing_key=self.key)


class ScheduleHardfork(StateEdit, frozen=True, tag="schedule_hardfork"):
    """Make the next block apply every hardfork up to `number`. An unknown number has no effect."""

    number: int

    def make(self, state: State) -> None:
        if self.number < len(state.spec.hardfork_versions):
            set_hardfork(state, self.number, apply_now=False)


class SetBalance(StateEdit, frozen=True, tag="set_balance"):
    """Set the liquid balance of an account in COIN, SBD or a token, and adjust the supply."""

    account: str
    balance: Asset

    def make(self, state: State) -> None:
        account, symbol = state.account(self.account), self.balance.symbol
        require(
            symbol in (COIN, SBD) or (is_smt(symbol) and not is_vesting(symbol)),
            "balance ${balance} is not of a liquid symbol",
            condition="is_liquid( balance.symbol )",
            balance=self.balance,
        )
        require_amount(self.balance)
        if symbol == SBD and median_price(state) == NULL_PRICE:
            set_sbd_without_price(state, account, self.balance.amount)
            return
        if symbol == SBD:
            # Interest up to now is computed on the balance before the edit.
            state.accounts.set_sbd_balance(account, *with_interest(state, account))
        delta = self.balance.amount - balance_of(state, account, symbol)
        adjust_supply(state, delta, symbol)
        adjust_balance_of(state, account.name, delta, symbol)


class SetVests(StateEdit, frozen=True, tag="set_vests"):
    """Set the VESTS that an account owns.

    The vesting fund changes by their value, so that the price of VESTS stays the same. Mana, resource credits and the votes of the
    account or its proxy are updated. VESTS that are delegated or being powered down can't be removed.
    """

    account: str
    vests: Asset

    def make(self, state: State) -> None:
        account = state.account(self.account)
        require(self.vests.symbol == VESTS, "vests ${vests} is not in VESTS", condition="vests.symbol == VESTS_SYMBOL", vests=self.vests)
        require_amount(self.vests)
        leaving = max(account.to_withdraw - account.withdrawn, 0)
        require(
            self.vests.amount >= account.delegated_vesting_shares + leaving,
            "${account} has delegated ${delegated} VESTS and is powering down ${leaving}. It must own at least the sum (in millionths)",
            condition="vests.amount >= delegated_vesting_shares + to_withdraw - withdrawn",
            account=account.name,
            delegated=account.delegated_vesting_shares,
            leaving=leaving,
        )
        for listener in state.listeners.before_edit:
            listener(state, account.name)
        change_vests(state, account, self.vests.amount - account.vesting_shares)
        for listener in state.listeners.after_edit:
            listener(state, account.name)


class SetAuthority(StateEdit, frozen=True, tag="set_authority"):
    """Set the owner, active or posting authority of an account or, with the role `memo`, its memo key.

    A replaced owner authority can recover the account, as if an operation had replaced it.
    """

    account: str
    role: Role
    authority: Authority | bytes

    def make(self, state: State) -> None:
        account = state.account(self.account)
        if self.role == "memo":
            require(
                isinstance(self.authority, bytes) and self.authority != NULL_KEY,
                "the memo key must be one public key",
                condition="memo_key != public_key_type()",
            )
            state.accounts.modify(account, memo_key=self.authority)
            return
        row, authority = state.authority(account.name), self.authority
        require(isinstance(authority, Authority), "the role ${role} takes an authority", condition="is_authority", role=self.role)
        assert isinstance(authority, Authority)
        authority.validate()
        require_few(authority)
        require_accounts(state, authority)
        require(not authority.is_impossible, "no keys can reach the threshold of the authority", condition="!authority.is_impossible()")
        for listener in state.listeners.before_edit:
            listener(state, account.name)
        if self.role == "owner":
            update_owner(state, account.name, authority)
        elif self.role == "active":
            state.account_authorities.modify(row, active=authority)
        else:
            state.account_authorities.modify(row, posting=authority)
        for listener in state.listeners.after_edit:
            listener(state, account.name)


class ImportRows(StateEdit, frozen=True, tag="import_rows"):
    """Add rows of another chain to a partial chain. `packed` is the result of `pack_batch`. An invalid batch is refused."""

    packed: bytes

    def make(self, state: State) -> None:
        try:
            import_rows(state, unpack_batch(self.packed))
        except ValueError as error:
            raise Refused("the rows can't be imported: ${why}", condition="is_valid", why=str(error)) from None


def apply_edit(state: State, edit: StateEdit, place: int) -> None:
    """Make an edit on top of the head, on a state without pending transactions. An edit that is refused or fails changes nothing.

    `place` is the number of earlier edits of the block. The edit's virtual operations come after all others of the block. The positions of
    these operations are the same whether the edit is made later or together with the block.
    """
    here = state.position
    here.block, here.trx_in_block, here.op_in_trx, here.virtual_op = state.props.head_block_number, NO_TRANSACTION, 1 + place, 0
    mark, hardfork_times = state.journal.position(), state.hardfork_times[: LAST_BY_TIME + 1]
    try:
        edit.make(state)
    except BaseException:
        state.journal.undo(mark)
        state.hardfork_times[: LAST_BY_TIME + 1] = hardfork_times
        raise


WRITTEN = SetSigningKey | ScheduleHardfork | SetBalance | SetVests | SetAuthority | ImportRows
_DECODER: msgspec.json.Decoder[StateEdit] = msgspec.json.Decoder(WRITTEN)


def write_edit(edit: StateEdit) -> bytes:
    """Return an edit as one line of JSON, without a newline."""
    return msgspec.json.encode(edit)


def read_edit(data: bytes) -> StateEdit:
    """Parse an edit that `write_edit` wrote. Raises ValueError if it is too large or invalid."""
    if len(data) > EDIT_SIZE_MAX:
        raise ValueError(f"an edit of {len(data)} bytes, more than the maximum of {EDIT_SIZE_MAX}")
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"invalid edit: {error}") from None


def require_amount(asset: Asset) -> None:
    """Refuse a negative amount, or one above 64 bits."""
    require(0 <= asset.amount <= INT64_MAX, "${asset} must not be negative", condition="amount >= 0", asset=asset)


def set_sbd_without_price(state: State, account: Account, balance: int) -> None:
    """Set an SBD balance on a chain without a price. No interest is paid, and the virtual supply doesn't include SBD."""
    delta = balance - account.sbd_balance
    state.set_props(current_sbd_supply=share(state.props.current_sbd_supply + delta))
    state.accounts.modify(account, sbd_balance=balance)


def change_vests(state: State, account: Account, delta: int) -> None:
    """Change the VESTS of an account and the vesting fund, at the price of VESTS. Update mana and witness votes."""
    props = state.props
    coin = vests_to_coin(state, delta) if delta > 0 else -min(vests_to_coin(state, -delta), props.total_vesting_fund_coin)
    if state.hardfork >= 20:
        # The bars are updated before the balance changes, because up to now they have regenerated with the previous VESTS.
        update_manabar(state, account, delta)
    if delta < 0:
        # First, so that witnesses never have more votes than there are VESTS.
        propagate(state, account, delta)
    adjust_supply(state, coin, COIN)
    state.accounts.modify(account, vesting_shares=share(account.vesting_shares + delta))
    state.set_props(
        total_vesting_fund_coin=share(props.total_vesting_fund_coin + coin), total_vesting_shares=share(props.total_vesting_shares + delta)
    )
    if delta >= 0:
        propagate(state, account, delta)
