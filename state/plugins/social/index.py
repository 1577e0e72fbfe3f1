"""`Social`, the data of the plugin `communities`: its tables, and the view that ranks posts."""

from typing import Any

from state.plugins.social import rows
from state.plugins.social.chain_reader import ChainReader
from state.plugins.social.community_payloads import GUEST
from state.plugins.social.ranked_posts import RankedPosts
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.transaction import ZERO_ID, SignedBlock
from state.store import DirtyMarks
from state.tables import State


class Social:
    """The plugin's data.

    Two lists are settings of this node: `irredeemables`, accounts whose posts are hidden, and `recommended`, communities that come first
    among the trending topics. Both are empty by default.
    """

    def __init__(self, state: State) -> None:
        journal = state.journal
        self.facts = ChainReader()
        self.irredeemables: frozenset[str] = frozenset()
        self.recommended: tuple[str, ...] = ()
        self.communities = rows.Communities(journal)
        self.roles = rows.Roles(journal)
        self.subscriptions = rows.Subscriptions(journal)
        self.posts = rows.SocialPosts(journal)
        self.reblogs = rows.Reblogs(journal)
        self.notifications = rows.Notifications(journal)
        self.sent_once = rows.SentOnceTable(journal)
        self.last_reads = rows.LastReads(journal)
        self.dirty = DirtyMarks(journal.record, lambda: state.comments.next_id)
        self.view = RankedPosts(state, self.posts, self.dirty, lambda: self.facts)
        self._comments = state.comments
        # The post that the current operation deletes.
        self.leaving: rows.SocialPost | None = None
        self.incoming: SignedBlock | None = None
        # The version of the values that the last count of payout totals read (communities/lists.py), and the result of the count.
        self.counted: tuple[Any, Any] | None = None
        # The same version and the remaining steps for an unfinished incremental count, and the number of counts that were out of date at
        # their end.
        self.counting: tuple[Any, Any] | None = None
        self.late_counts = 0

    def community(self, name: str) -> rows.Community | None:
        """Return the community with this name, or None."""
        return self.communities.by_name.get(name)

    def role(self, community: str, account: str) -> int:
        """Return the role of an account in a community."""
        row = self.roles.by_pair.get(community, account)
        return GUEST if row is None else row.role

    def role_row(self, community: str, account: str) -> rows.Role | None:
        """Return the row with role and title of an account in a community, or None if the account never had one."""
        return self.roles.by_pair.get(community, account)

    def is_subscribed(self, community: str, account: str) -> bool:
        """Whether an account subscribes to a community."""
        return self.subscriptions.by_pair.get(community, account) is not None

    def post(self, author: str, permlink: str) -> rows.SocialPost | None:
        """Return the row of a post or reply, or None if there is none. The row can be marked as deleted."""
        comment = self._comments.by_permlink.get(author, permlink)
        row = None if comment is None else self.posts.by_comment.get(comment.id)
        if row is None and self.posts.deleted.first() is not None:
            row = next(self.posts.deleted.equal(author, permlink), None)
        return row

    def set_incoming(self, state: State, block: SignedBlock) -> None:
        """Store a block before its operations are applied, during which the head is still the previous block."""
        self.incoming = block

    def moment(self, state: State) -> int:
        """Return the time of the operation's block, or of the next possible block for a pending operation.

        Rules of the chain use the head time, which inside transactions is the time of the previous block. This index uses the time of the
        operation's own block, since the reference's indexer processes complete blocks.
        """
        here, props = state.position, state.props
        incoming = self.incoming
        # After a refused block, `incoming` is still set. Its time must not apply to pending transactions.
        if here.block > props.head_block_number and incoming is not None and incoming.number == here.block:
            return incoming.timestamp
        return props.time if here.trx_id == ZERO_ID else props.time + COIN_BLOCK_INTERVAL
