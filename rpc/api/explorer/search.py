"""Text search for blocks, transactions, accounts, posts, communities, tags, proposals, public keys and tokens."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, NotRequired, TypedDict
from urllib.parse import unquote

from rpc.api.discussions import latest_replies
from rpc.api.explorer.titles import content_of
from rpc.api.explorer.transactions import find_transaction
from rpc.declare.arguments import Example, Text, UInt32
from rpc.declare.method import method
from state.chain.chain import Chain
from state.effects.tokens import token_with_name
from state.plugins.account_by_key import ACCOUNT_BY_KEY, references
from state.plugins.account_history import ACCOUNT_HISTORY, block_numbers_of
from state.plugins.social.communities.lists import has_words
from state.plugins.social.plugin import COMMUNITIES
from state.plugins.tags.plugin import TAGS
from state.protocol.errors import ChainError, UnreadableBlock
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
ID_PREFIX = re.compile(r"[0-9a-f]{6,39}")
BLOCK_DIGITS = 8  # the first hex digits of a block id, which are the number of the block
NAME = re.compile(r"[a-z][a-z0-9.-]*")
TAG = re.compile(r"#([^\W\d_][\w-]*)")
PROPOSAL = re.compile(r"proposals?\b\s*#?(.*)", re.IGNORECASE)
NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789-."
SIMILAR_UNITS = 20  # of work for all names that differ in one character
CHARACTERS_MIN = 3  # of a text that is searched for in titles, and of a name with a typo
WORDS_MAX = 10  # of a text that is searched for in titles; the other words are ignored
POSTS_READ_MAX, TEXTS_READ_MAX = 500, 4 << 20  # posts whose titles are searched, and characters of their bodies, which are read with them
COMMUNITIES_READ_MAX = PROPOSALS_READ_MAX = 500
ACCOUNTS_READ_MAX = 5_000
WITNESSES_READ_MAX = 1_000
ROWS_OF_UNIT = 20  # rows of these tables that are read per unit of work
ROLES = ("owner", "active", "posting")


class Hit(TypedDict):
    """A search result. `kind` is block, transaction, account, post, community, tag, proposal, key or token, and determines which other
    members are present.

    `is_exact` is false for an account or an id that only starts with the text, for results whose titles have the words, and for an author
    who was found instead of an unknown post. `is_similar` is true for an account whose name differs in one character. `roles` are the roles
    in which accounts have a key.
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
    tag: NotRequired[str]
    proposal_id: NotRequired[UInt32]
    title: NotRequired[str]
    roles: NotRequired[dict[str, list[str]]]
    is_similar: NotRequired[bool]


@method("explorer_api.find")
def find(chain: Chain, /, text: Annotated[Text, Example("alice")]) -> list[Hit]:
    """Return at most 20 search results for a query, best first.

    `text` can be the number of a block, the id of a block or its first 8 or more digits, the id of a transaction or its first 6 or more
    digits, the name of an account or its first letters, the author/permlink of a post or the URL of its page, the name of a community, `#`
    and a tag, `proposal` with its id or words of its subject, a public key, or the NAI or letters of a token. Without an exact result, the
    words of a text of three or more characters are also searched for in the titles of the 500 posts that were changed last, fewer if these
    are long, and of 500 communities and proposals. Without any result, accounts are returned whose names differ in one character.

    A pending transaction's block is null. Memo keys are found among the first 5,000 accounts, and signing keys among the first 1,000
    witnesses. A key's accounts are null if none is found and the plugin account_by_key is off.
    """
    query = text[:TEXT_MAX].strip()
    return list(islice(hits(chain, query), HITS_MAX)) if query else []


def hits(chain: Chain, text: str) -> Iterator[Hit]:
    """Yield search results for a query, best first."""
    text = text.removesuffix("…").removesuffix("...").strip()
    is_found = is_exact = False
    for hit in find_named(chain, text):
        is_found, is_exact = True, is_exact or hit["is_exact"]
        yield hit
    if not is_exact:
        for hit in find_titled(chain.state, text):
            is_found = True
            yield hit
    if not is_found:
        yield from find_similar_accounts(chain.state, text.removeprefix("@").lower())


def find_named(chain: Chain, text: str) -> Iterator[Hit]:
    """Yield the results with this number, id, name or key, and those with a name or an id that starts with the text."""
    state = chain.state
    # Eight or more digits with a leading 0 are the beginning of the id of a block.
    is_number = NUMBER.fullmatch(text) and not (text[0] == "0" and len(text) >= BLOCK_DIGITS)
    number = int(re.sub(r"\D", "", text)[:20]) if is_number else 0
    if 0 < number <= state.props.head_block_number:
        yield {"kind": "block", "is_exact": True, "block_num": number}
    if ID.fullmatch(text.lower()):
        yield from find_by_id(chain, bytes.fromhex(text))
    elif ID_PREFIX.fullmatch(text.lower()):
        yield from find_by_id_prefix(chain, text.lower())
    yield from find_token(state, text)
    yield from find_key(state, text)
    yield from find_tag(state, text)
    yield from find_proposals(state, text)
    author, permlink = parse_author_and_permlink(text)
    if permlink:
        yield from find_post(state, author, permlink)
    elif author:
        yield from find_account_and_community(state, author)
        yield from find_accounts_starting_with(state, author)


def find_titled(state: State, text: str) -> Iterator[Hit]:
    """Yield the communities, proposals and posts that have all words of a text in their titles. Only the newest posts are read."""
    words = words_of(text)
    if len("".join(words)) < CHARACTERS_MIN or "/" in text:
        return
    index = COMMUNITIES.find(state)
    for row in () if index is None else islice(index.communities.scan(), COMMUNITIES_READ_MAX):
        count_row(state, row.id)
        if has_words(row, words):
            yield {"kind": "community", "is_exact": False, "name": row.name, "title": row.title}
    if not PROPOSAL.fullmatch(text):
        yield from find_proposals_with(state, words)
    size = 0
    for comment in islice(latest_replies(state, ""), POSTS_READ_MAX):
        try:
            content = content_of(state, comment.id)
        except UnreadableBlock:
            continue
        title = content.title
        if has_all(title, words):
            yield {"kind": "post", "is_exact": False, "account": comment.author, "permlink": comment.permlink, "title": title}
        size += len(content.body)
        if size > TEXTS_READ_MAX:
            return


def words_of(text: str) -> list[str]:
    """Return the words of a text that titles must have, in lower case."""
    return text.lower().split()[:WORDS_MAX]


def has_all(title: str, words: list[str]) -> bool:
    """Whether a title contains all of these words."""
    lowered = title.lower()
    return all(word in lowered for word in words)


def count_row(state: State, number: int) -> None:
    """Count the work of reading a row. `number` increases with each row."""
    if number % ROWS_OF_UNIT == 0:
        state.work.spend(1, "searched rows")


def find_by_id_prefix(chain: Chain, digits: str) -> Iterator[Hit]:
    """Yield the block and the transactions whose ids start with these hex digits. Transactions in blocks need account_history."""
    state = chain.state
    number = int(digits[:BLOCK_DIGITS], 16) if len(digits) >= BLOCK_DIGITS else 0
    block = chain.block_by_number(number) if 0 < number <= state.props.head_block_number else None
    if block is not None and block.id.hex().startswith(digits):
        yield {"kind": "block", "is_exact": False, "block_num": number, "id": block.id.hex()}
    for trx in chain.pending:
        if trx.id.hex().startswith(digits):
            yield {"kind": "transaction", "is_exact": False, "block_num": None, "id": trx.id.hex()}
    if ACCOUNT_HISTORY.is_on(state):
        for trx_id, place in block_numbers_of(state, bytes.fromhex(digits[: len(digits) // 2 * 2])):
            if trx_id.hex().startswith(digits):
                yield {"kind": "transaction", "is_exact": False, "block_num": place, "id": trx_id.hex()}


def find_tag(state: State, text: str) -> Iterator[Hit]:
    """Yield the tag that follows `#`, if posts have it. Without the plugin tags, nothing is found."""
    match, index = TAG.fullmatch(text), TAGS.find(state)
    if match is not None and index is not None and index.rests.by_tag.get(match[1].lower()) is not None:
        yield {"kind": "tag", "is_exact": True, "tag": match[1].lower()}


def find_proposals(state: State, text: str) -> Iterator[Hit]:
    """Yield the proposal whose id follows the word `proposal`, or the proposals whose subjects have the words that follow it."""
    match = PROPOSAL.fullmatch(text)
    if match is None:
        return
    if not re.fullmatch(r"[0-9]{1,18}", match[1]):
        yield from find_proposals_with(state, words_of(match[1]))
    elif (row := state.proposals.by_proposal_id.get(int(match[1]))) is not None:
        yield {"kind": "proposal", "is_exact": True, "proposal_id": row.proposal_id, "title": row.subject}


def find_proposals_with(state: State, words: list[str]) -> Iterator[Hit]:
    """Yield the proposals that have all of these words in their subjects."""
    for row in islice(state.proposals.by_proposal_id.starting(0), PROPOSALS_READ_MAX):
        count_row(state, row.id)
        if has_all(row.subject, words):
            yield {"kind": "proposal", "is_exact": False, "proposal_id": row.proposal_id, "title": row.subject}


def find_similar_accounts(state: State, text: str) -> Iterator[Hit]:
    """Yield the accounts whose names differ from a text in one character: it is missing, added, replaced, or swapped with the next one."""
    if not NAME.fullmatch(text) or not CHARACTERS_MIN <= len(text) <= NAME_MAX + 1:
        return
    state.work.spend(SIMILAR_UNITS, "similar names")
    for name in sorted(similar_names(text)):
        if state.accounts.by_name.get(name) is not None:
            yield {"kind": "account", "is_exact": False, "account": name, "is_similar": True}


def similar_names(text: str) -> set[str]:
    """Return all texts that differ from this one in one character of a name."""
    parts = [(text[:i], text[i:]) for i in range(len(text) + 1)]
    shorter = {left + right[1:] for left, right in parts if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in parts if len(right) > 1}
    replaced = {left + one + right[1:] for left, right in parts if right for one in NAME_CHARACTERS}
    longer = {left + one + right for left, right in parts for one in NAME_CHARACTERS}
    return shorter | swapped | replaced | longer


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
    """Yield a public key with its accounts. The key may have the prefix of another chain. Of memo keys, ACCOUNTS_READ_MAX are read, and of
    signing keys WITNESSES_READ_MAX.
    """
    key = read_key(text, state.spec.key_prefix)
    if key is None:
        return
    roles: dict[str, list[str]] = {}
    is_on = ACCOUNT_BY_KEY.is_on(state)
    for name in references(state, key)[:HITS_MAX] if is_on else ():
        row = state.authority(name)
        roles[name] = [role for role in ROLES if any(key == own for own, _ in getattr(row, role).key_auths)]
    for account in islice(state.accounts.scan(), ACCOUNTS_READ_MAX):
        count_row(state, account.id)
        if account.memo_key == key and len(roles) < HITS_MAX:
            roles.setdefault(account.name, []).append("memo")
    for witness in islice(state.witnesses.scan(), WITNESSES_READ_MAX):
        count_row(state, witness.id)
        if witness.signing_key == key and len(roles) < HITS_MAX:
            roles.setdefault(witness.owner, []).append("signing")
    accounts = list(roles) if is_on or roles else None
    yield {"kind": "key", "is_exact": True, "key": public_key_text(key, state.spec.key_prefix), "accounts": accounts, "roles": roles}


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
