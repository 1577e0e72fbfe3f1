"""Parses the texts of posts and accounts for the social index (metadata, tags, profiles), and rates posts (blacklists, gray).
Source: social.md §2.2, §2.6, §2.8.
"""

import json
from functools import lru_cache
from typing import Any

from state.plugins.social.community_payloads import read_json
from state.store.rows import shared

TAGS_MAX, TAG_MAX = 5, 32
KNOWN_METADATA_MAX = 200  # characters; tags of longer metadata are not cached
IMAGE_URL_MAX = 1023
PROFILE_VERSION = 2
NAME_MAX, ABOUT_MAX, LOCATION_MAX, WEBSITE_MAX, PROFILE_IMAGE_MAX = 20, 160, 30, 100, 1024
LIMITED = (("name", NAME_MAX), ("about", ABOUT_MAX), ("location", LOCATION_MAX))
IMAGES = ("profile_image", "cover_image")
FLAG_DIGITS = 11
WEB = ("http://", "https://")
MUTED_LIST, BAD_LISTS = "irredeemables", ("reputation-0", "reputation-1")
GRAY_LISTS_MIN = 2


def metadata_of(text: str) -> dict[str, Any]:
    """Parse the metadata of a post. Return an empty object if the text isn't a JSON object."""
    value = read_json(text) if text else {}
    return value if isinstance(value, dict) else {}


def shown_metadata(text: str) -> dict[str, Any]:
    """Return the metadata of a post for display. The member `image` becomes the list of its valid URLs, or is removed if it has none."""
    metadata = metadata_of(text)
    if "image" in metadata:
        images = metadata["image"]
        images = images if isinstance(images, list) else [images]
        kept = [image.strip() for image in images if isinstance(image, str)]
        kept = [image for image in kept if len(image) <= IMAGE_URL_MAX and image.startswith("http")]
        if kept:
            metadata["image"] = kept
        else:
            del metadata["image"]
    return metadata


def post_tags(category: str, metadata: str) -> tuple[str, ...]:
    """Return the first five tags of a post, the category and then the tags of its metadata, except for those that contain a slash."""
    return known_tags(category, metadata) if len(metadata) <= KNOWN_METADATA_MAX else read_tags(category, metadata)


def read_tags(category: str, metadata: str) -> tuple[str, ...]:
    """Compute the result of `post_tags`."""
    named = metadata_of(metadata).get("tags")
    tags = [category, *(named if isinstance(named, list) else ())]
    clean = [str(tag).strip("# ").lower()[:TAG_MAX] for tag in tags]
    first = list(dict.fromkeys([tag for tag in clean if tag]))[:TAGS_MAX]
    return shared(tuple([same_text(tag) for tag in first if "/" not in tag]))


# Cached, since many posts have the same short metadata, or none.
known_tags = lru_cache(maxsize=1000)(read_tags)


@lru_cache(1 << 14)
def same_text(text: str) -> str:
    """Return one object for equal texts, since many posts have the same tags."""
    return text


def flag_weight(rshares: list[int]) -> int:
    """Return the weight of the downvotes on a post, which increases by one per factor of ten.

    As on the reference, half the sum of the downvotes is written as a decimal number with its minus sign. The weight is the number of
    characters beyond the first 11.
    """
    against = sum([value for value in rshares if value < 0])
    half = -(-against // 2)
    return max(len(str(half)) - FLAG_DIGITS, 0)


def blacklists(reputation: float, is_irredeemable: bool) -> list[str]:
    """Return the blacklists of an account: this node's list of hidden accounts, and at most one list for a low displayed reputation.

    The reputation is truncated toward zero: -0.5 and 0.99 are on the list for 0, and 1.99 is on the list for 1.
    """
    lists = [MUTED_LIST] if is_irredeemable else []
    whole = int(reputation)
    if whole < 1:
        lists.append(BAD_LISTS[0])
    elif whole == 1:
        lists.append(BAD_LISTS[1])
    return lists


def is_gray(is_irredeemable: bool, lists: list[str]) -> bool:
    """Whether the posts of an account outside communities are displayed as gray.

    This applies to an account on this node's list, or on two lists. Every account on two lists is on this node's list, since the two lists
    for low reputations exclude each other.
    """
    return is_irredeemable or len(lists) >= GRAY_LISTS_MIN


def profile_of(posting_metadata: str, metadata: str) -> dict[str, str]:
    """Return the profile of an account. All members are texts, which are empty if missing or invalid."""
    given = source_of(posting_metadata, metadata)
    clean = {name: value for name in ("name", "about", "location", "website", *IMAGES) if (value := text_in(given, name))}
    for name, most in LIMITED:
        if name in clean:
            clean[name] = truncated(clean[name], most)
    if clean.get("name", "").startswith("@"):
        del clean["name"]
    website = clean.pop("website", "")
    if website and len(website) <= WEBSITE_MAX:
        clean["website"] = website if website.startswith(WEB) else f"http://{website}"
    for name in IMAGES:
        if not clean.get(name, "").startswith(WEB) or len(clean[name]) > PROFILE_IMAGE_MAX:
            clean.pop(name, None)
    return {name: clean.get(name, "") for name in ("name", "about", "website", "location", "cover_image", "profile_image")}


def source_of(posting_metadata: str, metadata: str) -> dict[str, Any]:
    """Return the profile from the posting metadata if it declares PROFILE_VERSION, else from the account's metadata."""
    newer, older = metadata_of(posting_metadata).get("profile"), metadata_of(metadata).get("profile")
    if isinstance(newer, dict) and newer.get("version") == PROFILE_VERSION:
        return newer
    return older if isinstance(older, dict) else {}


def text_in(given: dict[str, Any], name: str) -> str:
    """Return a member of a profile as text, empty if it is missing or contains a NUL."""
    value = given.get(name)
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return "" if "\0" in text else text


def truncated(text: str, most: int) -> str:
    """Strip a text, and truncate it to `most` characters with an ellipsis of three dots."""
    text = text.strip()
    return text if len(text) <= most else text[: most - 3] + "..."


def settings_of(text: str) -> dict[str, Any]:
    """Return the settings of a community, which are stored as JSON text."""
    settings: dict[str, Any] = json.loads(text)
    return settings
