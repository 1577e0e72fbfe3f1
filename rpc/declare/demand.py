"""Keys of the accounts, posts and proposals that a call needs. A fork fetches missing ones from its source before it answers the call.

Methods are unaware of this. `rpc.declare.named_keys` derives the keys from the declarations of methods and operations. The node
finds the missing ones (`node.fork.demand`). The service has them fetched, then repeats the call.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from rpc.caller import Caller
from state.protocol.errors import Refused

UNANSWERED = "${what} is not here, and the source ${source} doesn't give it: ${why}"
TOO_MANY = "This call names ${n} things that are not here, and at most ${most} are fetched for a call"
TOO_OFTEN = "Too much was fetched from the source for this address. Try again in ${seconds} s"
FULL = "${what} is not here, and no more is fetched from the source: this chain has fetched ${size} MiB already"
BLOCK_FULL = "Block ${block} has ${size} MiB of fetched rows, and ${what} doesn't fit in. The next block has place for it"
ALL_ROUNDS = "After ${n} fetches from the source, this call still needs more"
NO_HISTORY = "Block ${base} and those before it are not here, and this node doesn't ask the source for them (--history local)"


class AccountKey(Struct, frozen=True, array_like=True, tag="account"):
    """An account."""

    name: str


class SignerKey(Struct, frozen=True, array_like=True, tag="signer"):
    """An account whose authorities a transaction needs. The accounts in its authorities are needed, too."""

    name: str


class PostKey(Struct, frozen=True, array_like=True, tag="post"):
    """A post or a reply, with its discussion."""

    author: str
    permlink: str


class PostsKey(Struct, frozen=True, array_like=True, tag="posts"):
    """The newest posts of an account."""

    account: str


class ProposalKey(Struct, frozen=True, array_like=True, tag="proposal"):
    """A proposal."""

    id: int


class NewKey(Struct, frozen=True, array_like=True, tag="new"):
    """An account or a post that a transaction makes. If the source doesn't answer whether it exists, it counts as new."""

    key: AccountKey | PostKey


Key = AccountKey | SignerKey | PostKey | PostsKey | ProposalKey | NewKey


class NotHere(Exception):
    """Raised when a call needs something of the source. Await `fetch(caller)`, which can raise NotFetched, then repeat the call."""

    def __init__(self, fetch: Callable[[Caller], Awaitable[None]]) -> None:
        super().__init__("a call must be repeated after a fetch from the source")
        self.fetch = fetch


class NotFetched(Refused):
    """Refusal of a call because the source doesn't answer it, or because a limit of fetches is reached."""


class CallGuard(Protocol):
    """Interface of the calls of a fork, which can need a fetch before, or an answer of the source."""

    def call(self, method: Any, values: Sequence[Any], keys: Iterable[Key], function: Callable[..., Any]) -> Any:
        """Call a Method's function with these arguments, and return the result. `keys` are the things that the call names.

        Raises NotHere if the call needs something of the source.
        """
