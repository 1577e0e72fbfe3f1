"""Text search for blocks, transactions, accounts, posts, communities, public keys and tokens."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, NotRequired, TypedDict
from urllib.parse import unquote

from rpc.api.explorer.transactions import find_transaction
from rpc.declare.arguments import Example, Text, UInt32
from rpc.declare.method import method
from state.chain.chain import Chain
from state.effects.tokens import token_with_name
from state.plugins.account_by_key import ACCOUNT_BY_KEY, references
from state.plugins.social.plugin import COMMUNITIES
from state.protocol.errors import ChainError
from state.protocol.keys.keys import public_key_from_text, public_key_text
from state.protocol.transaction import block_number
from state.protocol.values.asset import COIN, SBD, VESTS, nai_text, symbol_from_digits
from state.tables import State

HITS_MAX = 20
TEXT_MAX = 2000  # characters; the rest of the query is ignored. URLs of posts have a few hundred.
NAME_MAX = 16  # characters of an account name
KEY_TEXT = re.compile(r"[A-Z0-9]{2,8}[1-9A-HJ-NP-Za-km-z]{49,51}")
PREFIX_SIZES = range(2, 9)
NAI = re.compile(r"(?:@@)?(\d{8})\d")
NUMBER = re.compile(r"#?\d[\d,._ ]*")
ID = re.compile(r"[0-9a-f]{40}")
NAME = re.compile(r"[a-z][a-z0-9.-]*")


class Hit(TypedDict):
    """A search result. `kind` is block, transaction, account, post, community, key or token, and determines which other members are
    present.

    `is_exact` is false for an account whose name only starts with the text, and for an author who was found instead of an unknown post.
    """

    kind: str
    is_exact: bool
    block_num: NotRequired[UInt32 | None]
    id: NotRequired[str]
    account: NotRequired[str]
    permlink: NotRequired[str]
    name: NotRequired[str]
    key: NotRequired[str]
    accounts: NotRequired[list[str] | None]
    nai: NotRequired[str]
    symbol: NotRequired[str | None]


@method("explorer_api.find")
def find(chain: Chain, /, text: Annotated[Text, Example("alice")]) -> list[Hit]:
    """Return at most 20 search results for a query, best first.

    `text` can be the number or id of a block, the id of a transaction, the name of an account or its first letters, the author/permlink of
    a post or the URL of its page, the name of a community, a public key, or the NAI or letters of a token. A pending transaction's block is
    null. A key's accounts are null without the plugin account_by_key.
    """
    query = text[:TEXT_MAX].strip()
    return list(islice(hits(chain, query), HITS_MAX)) if query else []


def hits(chain: Chain, text: str) -> Iterator[Hit]:
    """Yield search results for a query, best first."""
    state = chain.state
    number = int(re.sub(r"\D", "", text)[:20]) if NUMBER.fullmatch(text) else 0
    if 0 < number <= state.props.head_block_number:
        yield {"kind": "block", "is_exact": True, "block_num": number}
    if ID.fullmatch(text.lower()):
        yield from find_by_id(chain, bytes.fromhex(text))
    yield from find_token(state, text)
    yield from find_key(state, text)
    author, permlink = parse_author_and_permlink(text)
    if permlink:
        yield from find_post(state, author, permlink)
    elif author:
        yield from find_account_and_community(state, author)
        yield from find_accounts_starting_with(state, author)


def find_by_id(chain: Chain, wanted: bytes) -> Iterator[Hit]:
    """Yield the block and the transaction with this id, if they exist."""
    number = block_number(wanted)
    block = chain.block_by_number(number) if 0 < number <= chain.state.props.head_block_number else None
    if block is not None and block.id == wanted:
        yield {"kind": "block", "is_exact": True, "block_num": number, "id": wanted.hex()}
    found = find_transaction(chain, wanted)
    if found is not None:
        yield {"kind": "transaction", "is_exact": True, "block_num": found[1], "id": wanted.hex()}


def find_token(state: State, text: str) -> Iterator[Hit]:
    """Yield the token with this NAI or symbol name, if it exists. Only built-in tokens have symbol names; users' tokens have only a NAI."""
    spec, match = state.spec, NAI.fullmatch(text)
    letters = {COIN: spec.coin_symbol, SBD: spec.debt_symbol, VESTS: spec.vests_symbol}
    for symbol, name in letters.items():
        if text.upper() == name or (match is not None and nai_text(symbol).endswith(text.removeprefix("@@"))):
            yield {"kind": "token", "is_exact": True, "nai": nai_text(symbol), "symbol": name}
            return
    if match is None:
        return
    try:
        token = token_with_name(state, symbol_from_digits(int(match[1]), 0))
    except ChainError:
        return
    if token is not None and nai_text(token.liquid_symbol).endswith(text.removeprefix("@@")):
        yield {"kind": "token", "is_exact": True, "nai": nai_text(token.liquid_symbol), "symbol": None}


def find_key(state: State, text: str) -> Iterator[Hit]:
    """Yield a public key with its accounts. The key may have the prefix of another chain."""
    key = read_key(text, state.spec.key_prefix)
    if key is None:
        return
    names = list(references(state, key)[:HITS_MAX]) if ACCOUNT_BY_KEY.is_on(state) else None
    yield {"kind": "key", "is_exact": True, "key": public_key_text(key, state.spec.key_prefix), "accounts": names}


def read_key(text: str, own: str) -> bytes | None:
    """Parse a public key with any prefix. Return None for any other string, and for a key with a wrong checksum."""
    if not KEY_TEXT.fullmatch(text):
        return None
    for prefix in (own, *(text[:size] for size in PREFIX_SIZES)):
        try:
            return public_key_from_text(text, prefix)
        except ChainError:
            continue
    return None


def parse_author_and_permlink(text: str) -> tuple[str, str]:
    """Extract account and permlink from `@name`, `author/permlink` or a URL, for example `https://x/tag/@author/permlink`.

    The permlink is "" for an account. If the URL's fragment names a reply (`#@author/permlink`), the reply's author and permlink are
    returned.
    """
    page, _, anchor = text.partition("#")
    if anchor.startswith("@"):
        page = anchor.partition("#")[0]
    path = re.sub(r"^[a-z]+://[^/]*/?", "", page.partition("?")[0], flags=re.IGNORECASE)
    is_address = path != page.partition("?")[0]
    parts = [unquote(part) for part in path.split("/") if part]
    at = next((i for i, part in enumerate(parts) if part.startswith("@")), None)
    if at is None and (is_address or len(parts) > 2):
        return "", ""
    parts = parts[at or 0 :]
    return (parts[0].lstrip("@").lower() if parts else ""), (parts[1] if len(parts) > 1 else "")


def find_post(state: State, author: str, permlink: str) -> Iterator[Hit]:
    """Yield the post or reply with this author and permlink. If it doesn't exist, yield its author."""
    if state.comments.by_permlink.get(author, permlink) is not None:
        yield {"kind": "post", "is_exact": True, "account": author, "permlink": permlink}
    elif state.accounts.by_name.get(author) is not None:
        yield {"kind": "account", "is_exact": False, "account": author}


def find_account_and_community(state: State, name: str) -> Iterator[Hit]:
    """Yield the account and the community with this name, if they exist."""
    if state.accounts.by_name.get(name) is None:
        return
    yield {"kind": "account", "is_exact": True, "account": name}
    index = COMMUNITIES.find(state)
    if index is not None and index.communities.by_name.get(name) is not None:
        yield {"kind": "community", "is_exact": True, "name": name}


def find_accounts_starting_with(state: State, text: str) -> Iterator[Hit]:
    """Yield the accounts whose names start with a string. The account with exactly this name is excluded."""
    if len(text) >= NAME_MAX or not NAME.fullmatch(text):
        return
    for row in islice(state.accounts.by_name.starting(text), HITS_MAX + 1):
        if not row.name.startswith(text):
            return
        if row.name != text:
            yield {"kind": "account", "is_exact": False, "account": row.name}
