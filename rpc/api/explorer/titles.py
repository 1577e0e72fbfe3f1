"""Titles of posts and communities, with which pages show them instead of permlinks and names such as coin-123456."""

from typing import Annotated, TypedDict

from rpc.declare.arguments import AccountName, Example, Text
from rpc.declare.method import method
from rpc.records.comments import NO_CONTENT
from state.plugins.social.plugin import COMMUNITIES
from state.protocol.errors import UnreadableBlock, require
from state.tables import State
from state.tables.texts import CommentContent

POSTS_MAX = 200
COMMUNITIES_MAX = 100
TITLE_UNITS, BYTES_OF_UNIT = 2, 8192  # of work per title that is read from its block, and bytes of its text per additional unit


class PostTitle(TypedDict):
    """The title of a post or reply, which can be empty, and the title of the post at the root of its discussion."""

    author: str
    permlink: str
    title: str
    root_title: str


class CommunityTitle(TypedDict):
    """The title of a community, which can be empty."""

    name: str
    title: str


class Titles(TypedDict):
    """The titles that a call asked for, in its order."""

    posts: list[PostTitle]
    communities: list[CommunityTitle]


@method("explorer_api.get_titles")
def get_titles(
    state: State,
    /,
    posts: Annotated[list[tuple[AccountName, Text]], Example((("alice", "first-post"),))] = [],  # noqa: B006 - it is never changed
    communities: list[AccountName] = [],  # noqa: B006 - it is never changed
) -> Titles:
    """Return the titles of at most 200 posts and replies, and of at most 100 communities.

    Those that don't exist are omitted, and so are posts whose block can't be read. A fork doesn't fetch them from its source. Without the
    plugin communities, there are no communities.
    """
    for name, given, most in (("posts", posts, POSTS_MAX), ("communities", communities, COMMUNITIES_MAX)):
        require(len(given) <= most, "${name} can have at most ${n} members", condition="size <= max", name=name, n=most)
    index = COMMUNITIES.find(state)
    rows = [] if index is None else [row for name in communities if (row := index.communities.by_name.get(name)) is not None]
    return {
        "posts": [found for author, permlink in posts if (found := find_title(state, author, permlink)) is not None],
        "communities": [{"name": row.name, "title": row.title} for row in rows],
    }


def find_title(state: State, author: str, permlink: str) -> PostTitle | None:
    """Return the title of a post or reply, or None if it doesn't exist or its block can't be read."""
    row = state.comments.by_permlink.get(author, permlink)
    if row is None:
        return None
    try:
        title = content_of(state, row.id).title
        root_title = title if not row.parent_author else content_of(state, row.root_comment).title
    except UnreadableBlock:
        return None
    return {"author": author, "permlink": permlink, "title": title, "root_title": root_title}


def content_of(state: State, comment: int) -> CommentContent:
    """Return the texts of a comment with this row id, and count the work of reading them. Raises UnreadableBlock."""
    content = state.comment_contents.by_comment.get(comment) or NO_CONTENT
    state.work.spend(TITLE_UNITS + len(content.body) // BYTES_OF_UNIT, "titles")
    return content
