"""The tables of the social index: communities with roles and subscriptions, posts, reblogs and notifications. Source: social.md §2.1."""

from operator import not_

from state.store import Ordered, Packed, Row, Table, Unique

NO_POST = -1


class Community(Row):
    """A community. `account` is the id of the account with the community's name, and `settings` is JSON text."""

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
    """All communities, one per account whose name is that of a community."""

    by_name = Unique("name")


class Role(Row):
    """The role and the title of an account in a community. `role` is one of the numbers in community_payloads.ROLES."""

    community: str = ""
    account: str = ""
    role: int = 0
    title: str = ""


class Roles(Table[Role]):
    """All current and former roles. An account without a row is a guest."""

    by_pair = Unique("community", "account")
    by_rank = Ordered("community", "-role", "account", lazy=True)
    by_name = Ordered("community", "account", lazy=True)


class Subscription(Row):
    """The subscription of an account to a community."""

    community: str = ""
    account: str = ""
    created: int = 0


class Subscriptions(Table[Subscription]):
    """All subscriptions."""

    packed = Packed()
    by_pair = Unique("community", "account")
    by_account = Ordered("account", "community", lazy=True)
    by_community = Ordered("community", "-id", lazy=True)
    by_created = Ordered("-created", lazy=True)


class SocialPost(Row):
    """A post or reply in the index.

    The row remains when the comment is deleted, and a new comment with the same permlink reuses it. `comment` is the id of the newest
    comment. Notifications, reblogs and `parent` refer to a post by the id of its row. `promoted` is in SBD.

    `tags` contains the category and the tags of the metadata of a root post, without those that contain a slash. `rshares` is the sum of
    the rshares of the votes on a paid root post in a community, whose lists contain paid posts. None means that it isn't stored.
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
    tags: tuple[str, ...] = ()
    rshares: int | None = None


def is_shown_pinned(is_pinned: bool, is_deleted: bool) -> bool:
    """Whether a post is listed as pinned in its community: it is pinned and not deleted."""
    return is_pinned and not is_deleted


class SocialPosts(Table[SocialPost]):
    """All posts and replies, including deleted ones. The ordered indices are newest first and exclude deleted posts.

    The exception is `deleted`: only deleted posts are indexed by author and permlink, because a key takes 100 bytes. Other posts are found
    by their comments.
    """

    packed = Packed(where=(not_, "is_deleted"))
    deleted = Ordered("author", "permlink", where=(bool, "is_deleted"))
    by_comment = Unique("comment")
    by_author = Ordered("author", "is_reply", "-comment", where=(not_, "is_deleted"), lazy=True)
    by_parent_author = Ordered("parent_author", "-comment", where=(not_, "is_deleted"), lazy=True)
    by_pin = Ordered("community", "-comment", where=(is_shown_pinned, "is_pinned", "is_deleted"), lazy=True)


class Reblog(Row):
    """A reblog by an account. `post` is the id of a row of SocialPosts."""

    account: str = ""
    post: int = 0
    created: int = 0


class Reblogs(Table[Reblog]):
    """All reblogs."""

    packed = Packed()
    by_pair = Unique("post", "account")
    by_post = Ordered("post", "account", lazy=True)
    by_account = Ordered("account", "-created", "-post", lazy=True)


class Notification(Row):
    """A notification to an account (`dst`), of a community or about a post. `type` is a notifications.writer.Type."""

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
    """All notifications, oldest first. Their number grows with the chain, by at most a few per operation."""

    packed = Packed()
    by_dst = Ordered("dst", where=(bool, "dst"), lazy=True)
    by_community = Ordered("community", where=(bool, "community"), lazy=True)
    by_post = Ordered("post", where=(is_about_a_post, "post"), lazy=True)


class SentOnce(Row):
    """Key of a notification that is written only once: votes and flags per sender, mentions per receiver (`account`).

    Notifications themselves have no index by post and account.
    """

    type: int = 0
    post: int = 0
    account: str = ""


class SentOnceTable(Table[SentOnce]):
    """The keys of all notifications that are sent only once: those of votes, mentions and flags."""

    packed = Packed()
    by_all = Unique("type", "post", "account")


class LastRead(Row):
    """The time up to which an account has read its notifications."""

    account: str = ""
    time: int = 0


class LastReads(Table[LastRead]):
    """Times of the accounts that have marked their notifications as read."""

    packed = Packed()
    by_account = Unique("account")
