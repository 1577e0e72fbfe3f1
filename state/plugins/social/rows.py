"""What the social index keeps in the journal: communities with roles and subscriptions, posts as they are placed in them, reblogs,
notifications. No rule is here. Source: social.md §2.1.
"""

from operator import not_

from state.store import Ordered, Row, Table, Unique

NO_POST = -1


class Community(Row):
    """A community, by its account. `settings` is JSON text."""

    account: int = 0
    name: str = ""
    type_id: int = 1
    title: str = ""
    about: str = ""
    lang: str = "en"
    description: str = ""
    flag_text: str = ""
    settings: str = "{}"
    is_nsfw: bool = False
    avatar_url: str = ""
    subscribers: int = 0
    created: int = 0


class Communities(Table[Community]):
    """All communities; as many as there are accounts with such names."""

    by_name = Unique("name")


class Role(Row):
    """What an account is in a community, and what it is called there."""

    community: str = ""
    account: str = ""
    role: int = 0
    title: str = ""


class Roles(Table[Role]):
    """Roles that were ever given; an account without one is a guest."""

    by_pair = Unique("community", "account")
    by_rank = Ordered("community", "-role", "account", lazy=True)
    by_name = Ordered("community", "account", lazy=True)


class Subscription(Row):
    """An account's interest in a community."""

    community: str = ""
    account: str = ""
    created: int = 0


class Subscriptions(Table[Subscription]):
    """All subscriptions, the newest of a community first."""

    by_pair = Unique("community", "account")
    by_account = Ordered("account", "community", lazy=True)
    by_community = Ordered("community", "-id", lazy=True)
    by_created = Ordered("-created", lazy=True)


class SocialPost(Row):
    """A post or a reply as the index sees it; it stays when the comment is deleted, and is taken up again by a new one of that
    name. `comment` is the id of the newest, `parent` a row. `promoted` in SBD.
    """

    author: str = ""
    permlink: str = ""
    comment: int = 0
    parent: int = NO_POST
    parent_author: str = ""
    is_reply: bool = False
    community: str = ""
    is_muted: bool = False
    is_pinned: bool = False
    is_deleted: bool = False
    promoted: int = 0


def is_shown_pinned(is_pinned: bool, is_deleted: bool) -> bool:
    """Whether a post stands at the top of its community."""
    return is_pinned and not is_deleted


class SocialPosts(Table[SocialPost]):
    """All posts and replies that there ever were; the orders leave out deleted ones, newest first."""

    by_permlink = Unique("author", "permlink")
    by_comment = Unique("comment")
    by_author = Ordered("author", "is_reply", "-comment", where=(not_, "is_deleted"), lazy=True)
    by_parent_author = Ordered("parent_author", "-comment", where=(not_, "is_deleted"), lazy=True)
    by_pin = Ordered("community", "-comment", where=(is_shown_pinned, "is_pinned", "is_deleted"), lazy=True)


class Reblog(Row):
    """A post, by its row, that an account shows to its followers."""

    account: str = ""
    post: int = 0
    created: int = 0


class Reblogs(Table[Reblog]):
    """All reblogs, the newest of an account first."""

    by_pair = Unique("post", "account")
    by_post = Ordered("post", "account", lazy=True)
    by_account = Ordered("account", "-created", "-post", lazy=True)


class Notification(Row):
    """Something that an account, a community or whoever looks at a post is told. `type` is one of notifications.Type."""

    type: int = 0
    score: int = 0
    created: int = 0
    src: str = ""
    dst: str = ""
    post: int = NO_POST
    community: str = ""
    payload: str = ""


def is_about_a_post(post: int) -> bool:
    """Whether a notification is about a post."""
    return post != NO_POST


class Notifications(Table[Notification]):
    """All notifications, by age. They grow with the chain, at most some for each operation."""

    by_dst = Ordered("dst", where=(bool, "dst"), lazy=True)
    by_community = Ordered("community", where=(bool, "community"), lazy=True)
    by_post = Ordered("post", where=(is_about_a_post, "post"), lazy=True)


class ToldOnce(Row):
    """A type of notifications, a post, and the account from which, or to which, there is one already."""

    type: int = 0
    post: int = 0
    account: str = ""


class ToldOnceTable(Table[ToldOnce]):
    """What isn't told a second time: votes, mentions and flags."""

    by_all = Unique("type", "post", "account")


class LastRead(Row):
    """Up to when an account has read its notifications."""

    account: str = ""
    time: int = 0


class LastReads(Table[LastRead]):
    """At most one for each account."""

    by_account = Unique("account")
