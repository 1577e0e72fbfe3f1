"""The tags that a comment's metadata names. Source: block-processing.md §7.6."""

from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase

from state.protocol.errors import ChainError
from state.protocol.values import jsontext, text
from state.protocol.values.convert import to_array, to_text
from state.tables import State
from state.tables.content import Comment

TAGS_MAX = 5
TAG_BYTES_MAX = 32
KNOWN_METADATA_MAX = 200  # characters of the metadata whose tags are remembered
SMALL_LETTERS = str.maketrans(ascii_uppercase, ascii_lowercase)


def wanted_tags(state: State, comment: Comment) -> tuple[str, ...]:
    """Return the tags that a comment should have by its metadata, in order.

    The universal tag "" is among them unless the comment is voted below zero; lists without a tag are lists of this one.
    """
    content = state.comment_contents.by_comment.get(comment.id)
    metadata = "" if content is None else content.json_metadata
    named = () if not metadata else known_tags(metadata) if len(metadata) <= KNOWN_METADATA_MAX else named_tags(metadata)
    return ("", *named) if comment.net_rshares >= 0 else named


def named_tags(metadata: str) -> tuple[str, ...]:
    """Return the first tags that metadata names, in small letters and in order; none if it can't be read.

    The reference's order of steps matters: texts are sorted, then cut to five, and only then changed to small letters and freed of the
    empty one. So capitals come first, and an empty text takes one of the five places.
    """
    try:
        value = jsontext.read(metadata)
        named = {to_text(tag) for tag in to_array(value.get("tags", []))} if type(value) is dict else set()
    except ChainError:
        return ()
    return tuple(in_order({tag.translate(SMALL_LETTERS) for tag in in_order(named)[:TAGS_MAX] if tag}))


# Replies have the metadata of the application that they were written with and the tag of the discussion: much of it is the same.
known_tags = lru_cache(maxsize=1000)(named_tags)


def in_order(tags: set[str]) -> list[str]:
    """Sort tags by their bytes, as the reference does; for plain ASCII this is the order of Python."""
    return sorted(tags) if all(map(str.isascii, tags)) else sorted(tags, key=text.encode)


def stored(tag: str) -> str:
    """Cut a tag to the bytes that the reference's fixed strings hold."""
    return text.cut(tag, TAG_BYTES_MAX)
