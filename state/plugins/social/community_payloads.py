"""Payloads of community operations: checks of keys and values, in the order and with the texts of the reference.

Effects and permissions are in actions.py. Source: social.md §1.6.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from state.plugins.social.rows import Community, SocialPost
from state.protocol.errors import existing, require

ROLES = {"muted": -2, "guest": 0, "member": 2, "mod": 4, "admin": 6, "owner": 8}
ROLE_NAMES = {number: name for name, number in ROLES.items()}
MUTED, GUEST, MEMBER, MOD, ADMIN, OWNER = ROLES.values()

POST_KEYS = ("community", "account", "permlink")
ACTIONS: dict[str, tuple[str, ...]] = {
    "subscribe": ("community",),
    "unsubscribe": ("community",),
    "setRole": ("community", "account", "role"),
    "setUserTitle": ("community", "account", "title"),
    "mutePost": (*POST_KEYS, "notes"),
    "unmutePost": (*POST_KEYS, "notes"),
    "flagPost": (*POST_KEYS, "notes"),
    "pinPost": POST_KEYS,
    "unpinPost": POST_KEYS,
    "updateProps": ("community", "props"),
}

NAME_MAX, PERMLINK_MAX, NOTES_MAX, USER_TITLE_MAX = 16, 256, 120, 32
TITLE_MIN, TITLE_MAX, ABOUT_MAX, LANG_MAX, LONG_TEXT_MAX = 3, 20, 120, 2, 1000
AVATAR_URL_MAX = 1023
PROPS = ("title", "about", "lang", "is_nsfw", "description", "flag_text", "settings")
LANGUAGE_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg "
    "ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn "
    "no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta "
    "te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh"
)
LANGUAGES = frozenset(LANGUAGE_CODES.split())


class NameLookups(Struct, frozen=True):
    """Functions that look up communities, accounts, and posts by author and permlink."""

    community: Callable[[str], Community | None]
    is_account: Callable[[str], bool]
    post: Callable[[str, str], SocialPost | None]


class Payload(Struct):
    """A community operation with valid values. Fields that its action doesn't use are empty."""

    action: str
    community: Community
    account: str = ""
    post: SocialPost | None = None
    role: int = GUEST
    text: str = ""
    props: dict[str, Any] = {}


@lru_cache(8)
def name_pattern(prefix: str) -> re.Pattern[str]:
    """Return the pattern of community names on a chain: the prefix, the digit of the community's type, and four to six more digits."""
    return re.compile(re.escape(prefix) + r"([123])[0-9]{4,6}")


def type_of(prefix: str, name: str) -> int | None:
    """Return the type of the community with this name, or None if it isn't the name of a community."""
    match = name_pattern(prefix).fullmatch(name)
    return None if match is None else int(match[1])


def read_json(text: str) -> Any:
    """Parse JSON text. Return an empty object for invalid text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def compact(value: Any) -> str:
    """Encode a value as JSON text without blanks, with the keys in the given order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def named_action(value: Any) -> str:
    """Return the action of a payload. Refuse an invalid structure. The notification of such a refusal has no receiver."""
    require(isinstance(value, list), "op json must be list")
    require(len(value) == 2, "op json must have 2 elements")
    action, members = value
    require(isinstance(action, str), "op json[0] must be string")
    require(isinstance(members, dict), "op json[1] must be dict")
    require(action in ACTIONS, "invalid action")
    return str(action)


def read_payload(known: NameLookups, action: str, members: dict[str, Any]) -> Payload:
    """Check the members of a payload in the reference's order, and return the payload. Names in it are replaced by the objects that they
    name.
    """
    keys = ACTIONS[action]
    require_exactly(members, keys)
    name = read_text(members, "community", NAME_MAX)
    community = existing(known.community(name), f"community `{name}` does not exist")
    payload = Payload(action, community)
    if "account" in keys:
        payload.account = read_text(members, "account", NAME_MAX)
        require(known.is_account(payload.account), f"account `{payload.account}` not found")
    if "permlink" in keys:
        permlink = read_text(members, "permlink", PERMLINK_MAX)
        payload.post = known.post(payload.account, permlink)
        require(payload.post is not None, f"invalid post: {payload.account}/{permlink}")
        assert payload.post is not None
        require(payload.post.community == name, "post does not belong to community")
    if "role" in keys:
        role = read_text(members, "role", NAME_MAX)
        require(role in ROLES, "invalid role")
        payload.role = ROLES[role]
    if "notes" in keys:
        payload.text = read_text(members, "notes", NOTES_MAX)
    if "title" in keys:
        payload.text = read_text(members, "title", USER_TITLE_MAX, may_be_blank=True).replace("\0", " ")
    if "props" in keys:
        payload.props = read_props(members)
    return payload


def require_exactly(members: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Require that an object has all of these keys and no others."""
    missing = [key for key in keys if key not in members]
    require(not missing, f"missing keys: {shown_set(missing)}")
    require_no_others(members, keys)


def require_no_others(members: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Require that an object has no keys other than these."""
    extra = [key for key in members if key not in keys]
    require(not extra, f"extraneous keys: {shown_set(extra)}")


def shown_set(keys: list[str]) -> str:
    """Format keys as Python prints a set, because the reference is a Python program that puts such sets into its messages."""
    return "{" + ", ".join(map(repr, keys)) + "}"


def read_text(members: dict[str, Any], key: str, most: int, *, may_be_blank: bool = False) -> str:
    """Return a text member. Refuse a text with more than `most` characters, with white space at either end, or, unless `may_be_blank`, an
    empty one.
    """
    value = members[key]
    require(isinstance(value, str), f"key `{key}` was not str")
    text = str(value)
    require(may_be_blank or text, f"key `{key}` was blank")
    require(text == text.strip(), f"invalid padding: {key}")
    require(len(text) <= most, f"exceeds max len: {key}")
    return text


def read_object(members: dict[str, Any], key: str) -> dict[str, Any]:
    """Return an object member, which must not be empty."""
    value = members[key]
    require(value, f"key `{key}` was blank")
    require(isinstance(value, dict), f"key `{key}` not a dict")
    found: dict[str, Any] = value
    return found


def read_props(members: dict[str, Any]) -> dict[str, Any]:
    """Return the checked properties of a community."""
    props = read_object(members, "props")
    require_no_others(props, PROPS)
    if "title" in props:
        title = read_text(props, "title", TITLE_MAX)
        require(len(title) >= TITLE_MIN, "title too short")
        require(title[0] not in "@#", "invalid title prefix")
    if "about" in props:
        read_text(props, "about", ABOUT_MAX, may_be_blank=True)
    if "lang" in props:
        require(read_text(props, "lang", LANG_MAX) in LANGUAGES, "invalid lang: lang")
    if "is_nsfw" in props:
        require(isinstance(props["is_nsfw"], bool), "must be bool: is_nsfw")
    for key in ("description", "flag_text"):
        if key in props:
            read_text(props, key, LONG_TEXT_MAX, may_be_blank=True)
    if "settings" in props:
        require_settings(read_object(props, "settings"))
    return props


def require_settings(settings: dict[str, Any]) -> None:
    """Check the URL of the avatar. All other settings are for front ends and are not checked."""
    if "avatar_url" not in settings:
        return
    url = settings["avatar_url"]
    require(url is not None)
    require(isinstance(url, str), "url was not string")
    require(not url or url.startswith(("http://", "https://")))
    require(len(url) <= AVATAR_URL_MAX, "url must be shorter than 1024 characters")
