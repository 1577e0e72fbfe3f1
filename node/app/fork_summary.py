"""Summary of a fork for the banner: its origin, and the accounts whose keys are known."""

from pathlib import Path

from node.app.banner import ForkSummary, Funded
from rpc.fork import ForkOrigin
from state.effects.balances import vests_to_coin
from state.protocol.keys.keys import ROLES, derive_secret
from state.protocol.values.text import time_text
from state.tables import State


def fork_summary(origin: ForkOrigin, file: Path | None, state: State) -> ForkSummary:
    """Return the summary of a chain that begins with a fork file."""
    pairs = [("fork of", origin.source), ("fork block", f"{origin.number:,} of {time_text(origin.time)}")]
    if state.spec.chain_id.hex() == origin.chain_id:
        pairs.append(("danger", "this is the chain id of the source: signatures are valid there too"))
    pairs.append(("keys", "those of the source" if origin.keys == "kept" else f"derived from the names: bin/coind keys NAME --fork {file}"))
    return ForkSummary(tuple(pairs), fetched_accounts(origin, state) if state.spec.account_password else [])


def fetched_accounts(origin: ForkOrigin, state: State) -> list[Funded]:
    """Return the accounts that were asked for and are here, with their present balances."""
    found = []
    for name in origin.accounts:
        account = state.accounts.by_name.get(name)
        if account is not None:
            secrets = {role: derive_secret(name, role, state.spec.account_password) for role in ROLES}
            vesting = vests_to_coin(state, account.vesting_shares)
            found.append(Funded(name=name, coin=account.balance, sbd=account.sbd_balance, vesting=vesting, secrets=secrets))
    return found
