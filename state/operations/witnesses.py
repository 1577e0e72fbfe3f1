"""Witnesses: the properties that they publish and propose, and the votes for them.

Sources: operations.md §7; wire-format.md §4.1, §4.2, §4.5.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field, structs

from state.effects.arithmetic import share
from state.effects.votes import adjust_witness_vote, clear_witness_votes, own_and_proxied, propagate, propagate_all
from state.operations.chain_properties import LegacyChainProperties, require_chain_properties
from state.operations.checks import require_account_name, require_optional_account_name, require_url
from state.operations.witness_properties import KEY, WitnessProperties, check_properties, read_properties, signing_key
from state.protocol import constants
from state.protocol.authority import Authority, key_authority
from state.protocol.codec.kinds import AccountName, Blob, Bool, Codecs, Extensions, Pairs, PublicKey, String, Text
from state.protocol.errors import Refused, require
from state.protocol.keys.keys import NULL_KEY
from state.protocol.operation import Needed, Operation, operation
from state.protocol.values.asset import COIN, SBD, Asset, Price
from state.protocol.values.integers import WORD16
from state.tables import State
from state.tables.accounts import Account
from state.tables.globals import ChainProperties
from state.tables.witnesses import Witness, WitnessVote

NOBODY = Authority(1, ((constants.COIN_NULL_ACCOUNT, 1),), ())  # can't be satisfied


@operation(11, active="owner")
class WitnessUpdate(Operation, frozen=True):
    """Become a witness, or change a witness's published properties."""

    owner: AccountName = ""
    url: Text = ""
    block_signing_key: PublicKey = NULL_KEY
    props: LegacyChainProperties = field(default_factory=LegacyChainProperties)
    fee: Asset = Asset()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)
        require_url(self.url)
        require(self.fee.symbol == COIN, condition="a.symbol == b.symbol")
        require(self.fee.amount >= 0, "Fee cannot be negative", condition="fee >= asset( 0, COIN_SYMBOL )")
        require_chain_properties(self.props, codecs, canonical=False)

    def apply(self, state: State) -> None:
        state.account(self.owner)
        fee = self.props.account_creation_fee
        # Before hardfork 14 historic spellings of the fee's symbol were accepted, and fees of any size.
        if state.hardfork >= 14:
            require(not fee.symbol_bytes, condition="o.props.account_creation_fee.symbol.is_canon()")
            require_fee_limit(state, fee.amount)
        if state.hardfork >= 20 or state.is_pushing:
            # Before hardfork 20 there were upper limits only for transactions that entered this node.
            require(
                self.props.maximum_block_size <= constants.COIN_SOFT_MAX_BLOCK_SIZE,
                "Max block size cannot be more than 2MiB",
                condition="o.props.maximum_block_size <= COIN_SOFT_MAX_BLOCK_SIZE",
            )

        witness = state.witnesses.by_name.get(self.owner)
        if witness is None:
            witness = state.witnesses.insert(
                Witness(
                    owner=self.owner,
                    created=state.head_time,
                    props=ChainProperties(account_creation_fee=state.spec.constants.COIN_MIN_ACCOUNT_CREATION_FEE),
                    hardfork_time_vote=state.spec.constants.COIN_GENESIS_TIME,
                )
            )
        props = structs.replace(
            witness.props,
            account_creation_fee=fee.amount,
            maximum_block_size=self.props.maximum_block_size,
            sbd_interest_rate=self.props.sbd_interest_rate,
        )
        state.witnesses.modify(witness, url=self.url, signing_key=self.block_signing_key, props=props)


@operation(42, impacted=("owner",))
class WitnessSetProperties(Operation, frozen=True):
    """Change individual published properties of a witness, signed with the witness's signing key."""

    owner: AccountName = ""
    props: Annotated[tuple[tuple[str, bytes], ...], Pairs(String(), Blob())] = ()
    extensions: Extensions = ()

    def authorities(self, needed: Needed) -> None:
        key = signing_key(self.props)
        needed.other.append(NOBODY if key is None else key_authority(key))

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)
        require(any(name == KEY for name, _ in self.props), "No signing key provided", condition='props.find( "key" ) != props.end()')
        check_properties(self.props, codecs)

    def apply(self, state: State) -> None:
        require(
            state.hardfork >= 20,
            "witness_set_properties_evaluator not enabled until HF 20",
            condition="_db.has_hardfork( COIN_HARDFORK_0_20__1620 )",
        )
        witness = state.witness(self.owner)
        require(
            signing_key(self.props) == witness.signing_key,
            "'key' does not match witness signing key.",
            condition="signing_key == witness.signing_key",
        )
        given = self.properties(state.wire.codecs)
        if given.account_creation_fee is not None:
            require_fee_limit(state, given.account_creation_fee.amount)

        changes: dict[str, Any] = {"props": changed_properties(witness.props, given)}
        if given.new_signing_key is not None:
            changes["signing_key"] = given.new_signing_key
        if given.sbd_exchange_rate is not None:
            changes |= {"sbd_exchange_rate": given.sbd_exchange_rate, "last_sbd_exchange_update": state.head_time}
        if given.url is not None:
            changes["url"] = given.url
        state.witnesses.modify(witness, **changes)

    def properties(self, codecs: Codecs) -> WitnessProperties:
        """Return the properties, which `validate` must have checked."""
        return read_properties(self.props, codecs)


@operation(7, active="publisher", impacted=("publisher",))
class FeedPublish(Operation, frozen=True):
    """Publish a price of COIN in SBD."""

    publisher: AccountName = ""
    exchange_rate: Price = Price()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.publisher)
        base, quote = self.exchange_rate.base.symbol, self.exchange_rate.quote.symbol
        require(
            {base, quote} == {COIN, SBD},
            "Price feed must be a COIN/SBD price",
            condition="( is_asset_type( exchange_rate.base, COIN_SYMBOL ) && is_asset_type( exchange_rate.quote, SBD_SYMBOL ) ) "
            "|| ( is_asset_type( exchange_rate.base, SBD_SYMBOL ) && is_asset_type( exchange_rate.quote, COIN_SYMBOL ) )",
        )
        self.exchange_rate.validate()

    def apply(self, state: State) -> None:
        # Before hardfork 20 the inverse price was valid, and stored as given.
        require(
            state.hardfork < 20 or self.exchange_rate.base.symbol == SBD,
            "Price feed must be a SBD/COIN price",
            condition="is_asset_type( o.exchange_rate.base, SBD_SYMBOL ) && is_asset_type( o.exchange_rate.quote, COIN_SYMBOL )",
        )
        witness = state.witness(self.publisher)

        state.witnesses.modify(witness, sbd_exchange_rate=self.exchange_rate, last_sbd_exchange_update=state.head_time)


@operation(12, active="account", impacted=("account", "witness"), protected="account")
class AccountWitnessVote(Operation, frozen=True):
    """Vote for a witness, or withdraw the vote."""

    account: AccountName = ""
    witness: AccountName = ""
    approve: Bool = True

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)
        require_account_name(self.witness)

    def apply(self, state: State) -> None:
        voter = state.account(self.account)
        if voter.proxy:
            raise Refused(
                "A proxy is currently set, please clear the proxy before voting for a witness.", condition="voter.proxy.size() == 0"
            )
        if self.approve and not voter.can_vote:
            raise Refused("Account has declined its voting rights.", condition="voter.can_vote")
        witness = state.witness(self.witness)
        vote = state.witness_votes.by_account_witness.get(self.account, self.witness)
        if vote is None:
            if not self.approve:
                raise Refused("Vote doesn't exist, user must indicate a desire to approve witness.", condition="o.approve")
            # The limit applies since hardfork 2.
            if voter.witnesses_voted_for >= constants.COIN_MAX_ACCOUNT_WITNESS_VOTES and state.hardfork >= 2:
                raise Refused(
                    "Account has voted for too many witnesses.", condition="voter.witnesses_voted_for < COIN_MAX_ACCOUNT_WITNESS_VOTES"
                )
            state.witness_votes.insert(WitnessVote(witness=self.witness, account=self.account))
            move_weight(state, voter, witness, voter.witness_vote_weight)
            state.accounts.set_witnesses_voted_for(voter, (voter.witnesses_voted_for + 1) % WORD16)
            return
        if self.approve:
            raise Refused("Vote currently exists, user must indicate a desire to reject witness.", condition="!o.approve")
        move_weight(state, voter, witness, -voter.witness_vote_weight)
        # Between hardforks 6 and 8 accounts with votes can have a count of 0, which the reference's 16 bits wrap to 65535.
        state.accounts.set_witnesses_voted_for(voter, (voter.witnesses_voted_for - 1) % WORD16)
        state.witness_votes.remove(vote)


@operation(13, active="account", impacted=("account", "proxy"), protected="account")
class AccountWitnessProxy(Operation, frozen=True):
    """Let another account (the proxy) vote for witnesses. An empty proxy ends the delegation of the votes."""

    account: AccountName = ""
    proxy: AccountName = ""

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)
        require_optional_account_name(self.proxy)
        require(self.proxy != self.account, "Cannot proxy to self", condition="proxy != account")

    def apply(self, state: State) -> None:
        account = state.account(self.account)
        require(account.proxy != self.proxy, "Proxy must change.", condition="account.proxy != o.proxy")
        require(account.can_vote, "Account has declined the ability to vote and cannot proxy votes.", condition="account.can_vote")

        weights = own_and_proxied(account)
        propagate_all(state, account, tuple(-weight for weight in weights))
        if not self.proxy:
            # The votes that the account had before it set the proxy are not restored.
            state.accounts.modify(account, proxy="")
            return
        require_short_chain(state, account, state.account(self.proxy))
        clear_witness_votes(state, account)
        state.accounts.modify(account, proxy=self.proxy)
        propagate_all(state, account, weights)


def require_fee_limit(state: State, fee: int) -> None:
    """Refuse an account creation fee above the limit. Before hardfork 20 this applies only to pushed transactions."""
    require(
        fee <= constants.COIN_MAX_ACCOUNT_CREATION_FEE or (state.hardfork < 20 and not state.is_pushing),
        "account_creation_fee greater than maximum account creation fee",
        condition="fee <= COIN_MAX_ACCOUNT_CREATION_FEE",
    )


def require_short_chain(state: State, account: Account, proxy: Account) -> None:
    """Refuse a proxy whose chain of proxies leads back to the account or is too long."""
    chain = {account.name, proxy.name}
    while proxy.proxy:
        proxy = state.account(proxy.proxy)
        require(proxy.name not in chain, "This proxy would create a proxy loop.", condition="proxy_chain.insert( next_proxy.id ).second")
        chain.add(proxy.name)
        require(
            len(chain) <= constants.COIN_MAX_PROXY_RECURSION_DEPTH,
            "Proxy chain is too long.",
            condition="proxy_chain.size() <= COIN_MAX_PROXY_RECURSION_DEPTH",
        )


def changed_properties(props: ChainProperties, given: WitnessProperties) -> ChainProperties:
    """Return the chain properties that a witness proposes, after the changes in `given`."""
    changes: dict[str, int] = {}
    for name in ("maximum_block_size", "sbd_interest_rate", "account_subsidy_budget", "account_subsidy_decay"):
        value = getattr(given, name)
        if value is not None:
            changes[name] = value
    if given.account_creation_fee is not None:
        changes["account_creation_fee"] = given.account_creation_fee.amount
    return structs.replace(props, **changes)


def move_weight(state: State, voter: Account, witness: Witness, weight: int) -> None:
    """Add a voter's weight to a witness. For a withdrawn vote, the weight is negative."""
    if state.hardfork >= 3:
        adjust_witness_vote(state, witness, weight)
    elif state.hardfork == 2:
        # Hardfork 2 added the weight to every witness that the account votes for. Hardfork 3 corrected this mistake.
        propagate(state, voter, weight)
    else:
        # Before hardfork 2 the position in virtual time didn't change.
        state.witnesses.modify(witness, votes=share(witness.votes + weight))
