"""The tables of the plugin `follow`: relations of accounts with their counts, guests of blogs; and `FollowIndex` with all of its data."""

from collections.abc import Callable

from state.plugins.follow.feeds import Blogs, Feeds
from state.plugins.follow.operations import FollowOperation
from state.plugins.reputation import Reputations
from state.store import Lists, Ordered, Row, Table, Unique
from state.tables import State

# Bits of a relation, as the reference numbers them; bit 0 is its "undefined".
BLOG, IGNORE = 2, 4
WORDS = {"blog": BLOG, "ignore": IGNORE}

OnChange = Callable[[State, FollowOperation, int, int], None]
"""A function that is called with the state, the operation, and the mask of the relation before and after it."""


class Follow(Row):
    """The relation of an account to another, a mask of BLOG and IGNORE. A row stays, with 0, when the relation has ended."""

    follower: str = ""
    following: str = ""
    what: int = 0


class Follows(Table[Follow]):
    """All relations that there are or were."""

    by_pair = Unique("follower", "following")
    by_following = Ordered("following", "follower", lazy=True)
    by_follower = Ordered("follower", "following", lazy=True)


class FollowCount(Row):
    """The number of blogs that an account follows, and of accounts that follow its blog."""

    account: str = ""
    follower_count: int = 0
    following_count: int = 0


class FollowCounts(Table[FollowCount]):
    """Counts of all accounts that are or were in a relation."""

    by_account = Unique("account")


class BlogAuthor(Row):
    """How many posts of a guest an account has reblogged. It never falls: deleted posts still count."""

    blogger: str = ""
    guest: str = ""
    count: int = 0


class BlogAuthors(Table[BlogAuthor]):
    """The guests of all blogs."""

    by_pair = Ordered("blogger", "guest", unique=True)


class FollowIndex:
    """The plugin's data. `reputations` are those of the plugin `reputation` where that is on."""

    def __init__(self, state: State, reputations: Reputations) -> None:
        journal = state.journal
        self.follows = Follows(journal)
        self.counts = FollowCounts(journal)
        # The row ids of the relations to an account, in the order in which these came; new posts are spread along it. Rows are
        # never removed, so no id goes stale.
        self.relations: Lists[str, int] = Lists(journal)
        self.blogs = Blogs(journal, state.comments)
        self.feeds = Feeds(journal, state.comments)
        self.authors = BlogAuthors(journal)
        self.reputations = reputations
        # Called after a relation was set; the plugin `communities` writes its notifications of new followers so.
        self.on_change: list[OnChange] = []
