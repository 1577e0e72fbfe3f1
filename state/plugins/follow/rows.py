"""The tables of the plugin `follow` (relations of accounts, their counts, reblogged authors), and its data `FollowIndex`."""

from collections.abc import Callable

from state.plugins.follow.feeds import Blogs, Feeds
from state.plugins.follow.operations import FollowOperation
from state.plugins.reputation import Reputations
from state.store import AppendLists, Ordered, Packed, Row, Setter, Table, Unique
from state.store.packed_integers import UINT32
from state.tables import State

# Bits of a relation with the reference's numbers, of which bit 0 means "undefined".
BLOG, IGNORE = 2, 4
WORDS = {"blog": BLOG, "ignore": IGNORE}

OnChange = Callable[[State, FollowOperation, int, int], None]
"""Called with the state, the operation, and the mask of the relation before and after the operation."""


class Follow(Row):
    """Relation of an account to another one, as a mask of BLOG and IGNORE. An ended relation keeps its row with mask 0."""

    follower: str = ""
    following: str = ""
    what: int = 0


class Follows(Table[Follow]):
    """All current and ended relations."""

    packed = Packed()
    by_pair = Unique("follower", "following")
    by_following = Ordered("following", "follower", lazy=True)
    by_follower = Ordered("follower", "following", lazy=True)


class FollowCount(Row):
    """The number of accounts that follow an account's blog, and the number of blogs that the account follows."""

    account: str = ""
    follower_count: int = 0
    following_count: int = 0


class FollowCounts(Table[FollowCount]):
    """Counts of all accounts with current or ended relations."""

    packed = Packed()
    by_account = Unique("account")
    set_counts = Setter("follower_count", "following_count")


def add_to_counts(counts: FollowCounts, account: str, followers: int = 0, following: int = 0) -> None:
    """Change the counts of an account. A row is created even if nothing changes."""
    row = counts.by_account.get(account)
    if row is None:
        counts.insert(FollowCount(account=account, follower_count=followers, following_count=following))
    elif followers or following:
        counts.set_counts(row, row.follower_count + followers, row.following_count + following)


class BlogAuthor(Row):
    """The number of an author's posts that an account has reblogged, including deleted posts."""

    blogger: str = ""
    guest: str = ""
    count: int = 0


class BlogAuthors(Table[BlogAuthor]):
    """The reblogged authors of every blog."""

    packed = Packed()
    by_pair = Ordered("blogger", "guest", unique=True, lazy=True)  # only queries read its order


class FollowIndex:
    """The plugin's data. `reputations` is the table of the plugin `reputation` if that is enabled."""

    def __init__(self, state: State, reputations: Reputations) -> None:
        journal = state.journal
        self.follows = Follows(journal)
        self.counts = FollowCounts(journal)
        # Row ids of the relations to an account, oldest first, for distributing its posts. Rows are never removed, so ids stay valid.
        self.relations: AppendLists[str, int] = AppendLists(journal, UINT32)
        self.blogs = Blogs(journal, state.comments)
        self.feeds = Feeds(journal, state.comments)
        self.authors = BlogAuthors(journal)
        self.reputations = reputations
        # Called after a relation was set. The plugin `communities` uses this to write notifications of new followers.
        self.on_change: list[OnChange] = []
