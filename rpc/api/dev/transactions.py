"""Impersonation of accounts, and dropping of pending transactions."""

from typing import TypedDict

from rpc.declare.arguments import AccountName, Bool, UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain


class Impersonated(TypedDict):
    """Accounts whose transactions need no signatures, all accounts if `everyone` is true."""

    accounts: list[str]
    everyone: bool


class Dropped(TypedDict):
    """The number of dropped transactions."""

    dropped: UInt32


def impersonated_of(chain: Chain) -> Impersonated:
    """Return the accounts whose transactions need no signatures."""
    impersonated = chain.state.impersonated
    return {"accounts": sorted(impersonated.accounts), "everyone": impersonated.is_everyone}


@method("dev_api.impersonate", loopback_only=True)
async def impersonate(
    chain: Chain, processor: Processor, /, accounts: list[AccountName] | None = None, everyone: Bool = False
) -> Impersonated:
    """Accept unsigned transactions of `accounts`, or of every account. This replaces the previous set; an empty set ends impersonation.

    Transactions that were accepted this way stay valid.
    """
    await processor.in_turn(lambda: chain.impersonate(accounts or (), everyone))
    return impersonated_of(chain)


@method("dev_api.drop_pending", loopback_only=True)
async def drop_pending(devchain: DevChain, processor: Processor, /) -> Dropped:
    """Drop all pending transactions, including those of popped blocks. Calls that wait for one of them are refused."""
    return {"dropped": await processor.in_turn(devchain.drop_pending)}
