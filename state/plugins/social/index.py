"""`Social`, everything that the social index keeps on a state: its tables, and the lists that are made from them."""

from typing import Any

from state.plugins.social.facts import Facts
from state.plugins.social.posts.view import Changed, View
from state.plugins.social.rows import (
    Communities,
    Community,
    LastReads,
    Notifications,
    Reblogs,
    Role,
    Roles,
    SocialPost,
    SocialPosts,
    Subscriptions,
    ToldOnceTable,
)
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.transaction import ZERO_ID, SignedBlock
from state.tables import State

NAME = "communities"
GUEST = 0


class Social:
    """What the plugin keeps. `irredeemables` is this node's own list of accounts whose posts nobody has to see."""

    def __init__(self, state: State) -> None:
        journal = state.journal
        self.facts = Facts()
        self.irredeemables: frozenset[str] = frozenset()
        self.recommended: tuple[str, ...] = ()
        self.communities = Communities(journal)
        self.roles = Roles(journal)
        self.subscriptions = Subscriptions(journal)
        self.posts = SocialPosts(journal)
        self.reblogs = Reblogs(journal)
        self.notifications = Notifications(journal)
        self.told_once = ToldOnceTable(journal)
        self.last_reads = LastReads(journal)
        self.changed = Changed(journal)
        self.view = View(state, self.posts, self.changed)
        self.incoming: SignedBlock | None = None
        # What was counted of all communities, and of what.
        self.counted: tuple[Any, Any] | None = None

    def community(self, name: str) -> Community | None:
        """A community by its name."""
        return self.communities.by_name.get(name)

    def role(self, community: str, account: str) -> int:
        """What an account is in a community."""
        row = self.roles.by_pair.get(community, account)
        return GUEST if row is None else row.role

    def role_row(self, community: str, account: str) -> Role | None:
        """The same with what it is called there; None if it never was anything."""
        return self.roles.by_pair.get(community, account)

    def is_subscribed(self, community: str, account: str) -> bool:
        """Whether an account subscribes to a community."""
        return self.subscriptions.by_pair.get(community, account) is not None

    def post(self, author: str, permlink: str) -> SocialPost | None:
        """A post, be it deleted."""
        return self.posts.by_permlink.get(author, permlink)


def plugin(state: State) -> Social:
    """What the plugin keeps on this state."""
    kept: Social = state.plugins[NAME]
    return kept


def note_incoming(state: State, block: SignedBlock) -> None:
    """Before a block: its time is that of all that happens in it."""
    plugin(state).incoming = block


def moment(state: State) -> int:
    """The time of the block that an operation is in; of the next possible one, while it waits for a block."""
    here, props = state.here, state.props
    incoming = plugin(state).incoming
    if here.block > props.head_block_number and incoming is not None and incoming.number == here.block:
        return incoming.timestamp
    return props.time if here.trx_id == ZERO_ID else props.time + COIN_BLOCK_INTERVAL
