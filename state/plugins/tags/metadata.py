"""Reads tags from the metadata of comments. Source: block-processing.md §7.6."""

from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase

from state.protocol.errors import ChainError
from state.protocol.values import jsontext, text
from state.protocol.values.convert import to_array, to_text
from state.tables import State
from state.tables.content import Comment

TAGS_MAX = 5
TAG_BYTES_MAX = 32
KNOWN_METADATA_MAX = 200  # characters; tags of longer metadata are not cached
SMALL_LETTERS = str.maketrans(ascii_uppercase, ascii_lowercase)


def wanted_tags(state: State, comment: Comment) -> tuple[str, ...]:
    """Return the tags that a comment should have according to its metadata, in order.

    They include the universal tag "", under which lists without a tag find all comments, unless the comment's votes are below zero.
    """
    content = state.comment_contents.by_comment.get(comment.id)
    metadata = "" if content is None else content.json_metadata
    named = () if not metadata else known_tags(metadata) if len(metadata) <= KNOWN_METADATA_MAX else named_tags(metadata)
    return ("", *named) if comment.net_rshares >= 0 else named


def named_tags(metadata: str) -> tuple[str, ...]:
    """Return the first tags in metadata, lower-cased and sorted, or no tags if the metadata can't be parsed.

    The order of the steps is the reference's: sort, truncate to five, then lower-case and drop the empty tag. Upper-case tags therefore
    come first, and an empty tag counts as one of the five.
    """
    try:
        value = jsontext.read(metadata)
        named = {to_text(tag) for tag in to_array(value.get("tags", []))} if type(value) is dict else set()
    except ChainError:
        return ()
    return tuple(in_order({tag.translate(SMALL_LETTERS) for tag in in_order(named)[:TAGS_MAX] if tag}))


# Cached, since the metadata of many replies is the same: the application and the tag of the discussion.
known_tags = lru_cache(maxsize=1000)(named_tags)


def in_order(tags: set[str]) -> list[str]:
    """Sort tags by their bytes, as the reference does. For ASCII this equals Python's order."""
    return sorted(tags) if all(map(str.isascii, tags)) else sorted(tags, key=text.encode)


def stored(tag: str) -> str:
    """Truncate a tag to the size of the reference's fixed strings."""
    return text.cut(tag, TAG_BYTES_MAX)
