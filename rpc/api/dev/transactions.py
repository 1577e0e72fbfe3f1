"""Whose transactions need no signatures, and what waits for a block."""

from typing import TypedDict

from rpc.declare.arguments import AccountName, Bool, UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain


class Impersonated(TypedDict):
    """The accounts whose transactions need no signatures; with `everyone` all."""

    accounts: list[str]
    everyone: bool


class Dropped(TypedDict):
    """How many transactions were dropped."""

    dropped: UInt32


def impersonated_of(chain: Chain) -> Impersonated:
    """Return the accounts whose transactions need no signatures."""
    impersonated = chain.state.impersonated
    return {"accounts": sorted(impersonated.accounts), "everyone": impersonated.is_everyone}


@method("dev_api.impersonate", loopback_only=True)
async def impersonate(
    chain: Chain,
    processor: Processor,
    /,
    accounts: list[AccountName] | None = None,
    everyone: Bool = False,
) -> Impersonated:
    """Let transactions of these accounts, or of everyone, need no signatures, in place of those before; without any, all need theirs again.

    A transaction that was accepted so stays valid.
    """
    await processor.in_turn(lambda: chain.impersonate(accounts or (), everyone))
    return impersonated_of(chain)


@method("dev_api.drop_pending", loopback_only=True)
async def drop_pending(devchain: DevChain, processor: Processor, /) -> Dropped:
    """Forget all transactions that wait for a block, those of blocks that were popped too; callers that wait for one are refused."""
    return {"dropped": await processor.in_turn(devchain.drop_pending)}
