"""condenser_api.get_state: the data of one page of the condenser, the Steem family's original website. Source: rpc-api.md §5.1."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Annotated, Any, TypedDict, cast

from msgspec import Struct

from rpc.api.content import DiscussionJson, TagJson
from rpc.api.database_lists import whole
from rpc.api.discussions import DiscussionQuery, in_order, latest_of, latest_replies, set_rebloggers
from rpc.api.globals import PriceJson, PropertiesJson, get_dynamic_global_properties
from rpc.api.witnesses import ScheduleJson, WitnessJson
from rpc.declare.arguments import Example, Text
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.accounts import account_view
from rpc.records.chain import WitnessScheduleRecord
from rpc.records.discussions import DiscussionRecord, DiscussionView, PayoutContext, TagRecord, discussion_view, shared, vote_views
from rpc.records.pages import PageAccountRecord, PageAccountView
from rpc.records.witnesses import WitnessRecord
from state.effects.comments import find_comment
from state.plugins import account_history
from state.plugins.account_history import ACCOUNT_HISTORY
from state.plugins.follow.lists import blog_authors
from state.plugins.follow.plugin import FOLLOW
from state.plugins.plugin import Plugin
from state.plugins.tags.lists import trending_tags
from state.plugins.tags.metadata import SMALL_LETTERS
from state.plugins.tags.plugin import TAGS
from state.plugins.tags.view import TagStats
from state.protocol.errors import ChainError
from state.protocol.operation import SMT_TAGS
from state.protocol.values import text
from state.protocol.values.asset import Price
from state.tables import State
from state.tables.witnesses import Witness

START_PAGE = "trending"
PARTS = 4
NAME_BYTES_MAX = 16
TAGS_SHOWN, ALL_TAGS_SHOWN = 50, 250
DISCUSSIONS_SHOWN, BODY_BYTES_SHOWN = 20, 1024
ENTRIES_SHOWN, REPLIES_SHOWN = 20, 50
HISTORY_SHOWN = 1000
TREE_MAX = 10_000
NEWEST = -1
WITNESSES_SHOWN = 100

# Pages that list discussions. Each entry has the sort order, and the list of DiscussionIndex to fill.
LISTS = {
    "trending": ("trending", "trending"),
    "payout": ("post_payout", "payout"),
    "payout_comments": ("comment_payout", "payout_comments"),
    "promoted": ("promoted", "promoted"),
    "responses": ("children", "responses"),
    "hot": ("hot", "hot"),
    "": ("hot", "hot"),
    "votes": ("votes", "votes"),
    "cashout": ("cashout", "cashout"),
    "active": ("active", "active"),
    "created": ("created", "created"),
    "recent": ("created", "created"),
}

MONEY = frozenset({
    "transfer_to_vesting", "withdraw_vesting", "interest", "transfer", "liquidity_reward", "author_reward", "curation_reward",
    "comment_benefactor_reward", "transfer_to_savings", "transfer_from_savings", "cancel_transfer_from_savings", "escrow_transfer",
    "escrow_approve", "escrow_dispute", "escrow_release", "fill_convert_request", "fill_order", "claim_reward_balance",
})  # fmt: skip
"""Operations in the member `transfer_history` of an account."""

OMITTED_OPERATIONS = frozenset({
    "comment", "limit_order_create", "limit_order_cancel", "vote", "account_witness_vote", "account_witness_proxy",
})  # fmt: skip
"""Operations in no history of an account. All others are in the member `other_history`."""


class TagIndex(TypedDict):
    """Names of the trending tags."""

    trending: list[str]


class DiscussionIndex(TypedDict):
    """Discussion identifiers for the pages of a tag: one list per sort order.

    As in the reference, `category` and several lists are always empty.
    """

    category: str
    trending: list[str]
    payout: list[str]
    payout_comments: list[str]
    trending30: list[str]
    updated: list[str]
    created: list[str]
    responses: list[str]
    active: list[str]
    votes: list[str]
    maturing: list[str]
    best: list[str]
    hot: list[str]
    promoted: list[str]
    cashout: list[str]


AccountJson = Annotated[Json, ShowsRecord(PageAccountRecord)]


class PageState(TypedDict):
    """Data of a page: the chain properties, and all objects that appear on the page, by name."""

    current_route: str
    props: PropertiesJson
    tag_idx: TagIndex
    tags: dict[str, TagJson]
    content: dict[str, DiscussionJson]
    accounts: dict[str, AccountJson]
    witnesses: dict[str, WitnessJson]
    discussion_idx: dict[str, DiscussionIndex]
    witness_schedule: ScheduleJson
    feed_price: PriceJson
    error: str


class Page(Struct):
    """Data of a page while it is being collected.

    `names` maps a tag to its list of discussions, and to the member of DiscussionIndex that receives the list.
    """

    state: State
    known: PayoutContext
    trending: list[str] = []
    tags: dict[str, TagStats] = {}
    content: dict[str, DiscussionView] = {}
    accounts: dict[str, PageAccountView] = {}
    witnesses: dict[str, Witness] = {}
    names: dict[str, tuple[str, list[str]]] = {}
    error: str = ""

    def has(self, plugin: Plugin[Any]) -> bool:
        """Whether a plugin is enabled. A page omits the data of disabled plugins."""
        return plugin.is_on(self.state)

    def add_authors(self) -> None:
        """Add the authors of all discussions on the page to its accounts."""
        for view in self.content.values():
            if view.row.author not in self.accounts:
                self.accounts[view.row.author] = page_account(self.state, view.row.author)

    def add(self, view: DiscussionView) -> str:
        """Add a discussion to the page and return its identifier."""
        self.content[view.name] = view
        return view.name


@method("condenser_api.get_state")
def get_state(state: State, show: RecordEncoder, /, path: Annotated[Text, Example("/@alice")]) -> PageState:
    """Return the data of a page of the condenser. `path` selects an account, a discussion, a list of discussions, tags, or witnesses.

    The call is never refused. If the path is invalid or the page can't be computed, `error` contains the reason.
    """
    page = Page(state, shared(state))
    try:
        fill(page, path)
    except ChainError as error:
        page.error = error.message(state.spec.spell)
    for view in page.content.values():
        view.active_votes = vote_views(page.known, view.row)
    return {
        "current_route": path,
        "props": get_dynamic_global_properties(state, show),
        "tag_idx": {"trending": page.trending},
        "tags": by_name(show, TagRecord, page.tags),
        "content": by_name(show, DiscussionRecord, page.content),
        "accounts": by_name(show, PageAccountRecord, page.accounts),
        "witnesses": by_name(show, WitnessRecord, page.witnesses),
        "discussion_idx": {tag: discussion_index(member, names) for tag, (member, names) in page.names.items()},
        "witness_schedule": show(WitnessScheduleRecord, state.schedule),
        "feed_price": show(Price, state.feed.current_median_history),
        "error": page.error,
    }


def by_name(show: RecordEncoder, record: type, views: Mapping[str, object]) -> dict[str, Json]:
    """Encode views as records, sorted by name."""
    dump = show.by(record)
    return {name: dump(views[name]) for name in sorted(views)}


def discussion_index(member: str, names: list[str]) -> DiscussionIndex:
    """Return the discussion lists of a tag. Only the list named `member` is filled."""
    index: dict[str, Any] = {name: [] for name in DiscussionIndex.__annotations__}
    return cast(DiscussionIndex, index | {"category": "", member: names})


def fill(page: Page, path: str) -> None:
    """Fill a page with the data for its path."""
    parts = (path.removeprefix("/") or START_PAGE).split("/")
    first, second, third, *_ = parts + [""] * PARTS
    if page.has(TAGS):
        page.trending = [stats.tag for stats in trending_tags(page.state, "", TAGS_SHOWN)]
    if first.startswith("@"):
        fill_account(page, first[1:], second)
    elif second.startswith("@"):
        fill_discussion(page, second[1:], third)
    elif first in ("witnesses", "~witnesses"):
        page.witnesses = {row.owner: row for row in islice(page.state.witnesses.by_vote_name, WITNESSES_SHOWN)}
    elif first in LISTS and page.has(TAGS):
        fill_list(page, *LISTS[first], second.translate(SMALL_LETTERS))
    elif first == "tags" and page.has(TAGS):
        page.tags = {stats.tag: stats for stats in trending_tags(page.state, "", ALL_TAGS_SHOWN)}
        page.trending = list(page.tags)


# ------------------------------------------------------------------ lists and discussions


def fill_list(page: Page, order: str, member: str, tag: str) -> None:
    """Add the discussions with a tag, and their authors, to a page."""
    query = DiscussionQuery(tag=tag, limit=DISCUSSIONS_SHOWN, truncate_body=BODY_BYTES_SHOWN)
    page.names[tag] = member, [page.add(view) for view in in_order(order)(page.known, query)]
    page.add_authors()


def fill_discussion(page: Page, author: str, permlink: str) -> None:
    """Add a comment, at most TREE_MAX comments below it, and the authors of all of them to a page."""
    state, known = page.state, page.known
    if not page.has(TAGS):
        return
    top = find_comment(state, text.cut(author, NAME_BYTES_MAX), permlink)
    if top is None:
        page.error = f"there is no post @{author}/{permlink}"
        return
    view = discussion_view(known, top)
    page.add(view)
    waiting = [view]
    while waiting and len(page.content) < TREE_MAX:
        view = waiting.pop()
        replies = [discussion_view(known, row) for row in whole(state.comments.by_parent, view.row.author, view.row.permlink)]
        view.replies = tuple([page.add(reply) for reply in replies])
        waiting += replies
    page.add_authors()


# ------------------------------------------------------------------ accounts


def fill_account(page: Page, name: str, section: str) -> None:
    """Add an account to a page, together with one of its sections if the plugin that the section requires is enabled."""
    state = page.state
    row = state.accounts.by_name.get(text.cut(name, NAME_BYTES_MAX))
    if row is None:
        page.error = f"there is no account {name}"
        return
    account = page.accounts[name] = page_account(state, row.name)
    if page.has(FOLLOW):
        account.guest_bloggers = tuple(blog_authors(state, row.name))
    if section in SECTIONS:
        plugin, fill_section = SECTIONS[section]
        if plugin is None or page.has(plugin):
            fill_section(page, account)


def page_account(state: State, name: str) -> PageAccountView:
    """Return an account with the data that its page needs. Refuse an unknown account."""
    known = account_view(state, state.account(name))
    return PageAccountView(known.row, known.authority, known.metadata, state)


def fill_blog(page: Page, account: PageAccountView) -> None:
    """Add the newest entries of an account's blog to its page."""
    account.blog = []
    for entry in islice(FOLLOW.of(page.state).blogs.newest_first(account.row.name), ENTRIES_SHOWN):
        view = discussion_view(page.known, page.state.comments.find(entry.comment))
        view.first_reblogged_on = entry.reblogged_on or None
        account.blog.append(page.add(view))


def fill_feed(page: Page, account: PageAccountView) -> None:
    """Add the newest entries of an account's feed to its page."""
    account.feed = []
    for entry in islice(FOLLOW.of(page.state).feeds.newest_first(account.row.name), ENTRIES_SHOWN):
        view = discussion_view(page.known, page.state.comments.find(entry.comment))
        account.feed.append(page.add(set_rebloggers(view, entry)))


def fill_comments(page: Page, account: PageAccountView) -> None:
    """Add an account's latest replies to its page. The section `posts` contains them, too."""
    rows = (row for row in latest_of(page.state, account.row.name) if row.parent_author)
    account.comments = [page.add(discussion_view(page.known, row)) for row in islice(rows, ENTRIES_SHOWN)]


def fill_replies(page: Page, account: PageAccountView) -> None:
    """Add the latest replies to an account to its page."""
    rows = islice(latest_replies(page.state, account.row.name), REPLIES_SHOWN)
    account.recent_replies = [page.add(discussion_view(page.known, row)) for row in rows]


def fill_transfers(page: Page, account: PageAccountView) -> None:
    """Add an account's newest operations to its page: operations on money in one list, most others in a second list.

    Operations on tokens are omitted, since condenser_api can't represent them.
    """
    history = account_history.history(page.state, account.row.name, NEWEST, HISTORY_SHOWN)
    shown = [(number, record) for number, record in history if record.operation.TAG not in SMT_TAGS]
    account.transfer_history = tuple([pair for pair in shown if pair[1].operation.NAME in MONEY])
    account.other_history = tuple([pair for pair in shown if pair[1].operation.NAME not in MONEY | OMITTED_OPERATIONS])


Section = tuple[Plugin[Any] | None, Callable[[Page, PageAccountView], None]]
SECTIONS: dict[str, Section] = {
    "": (FOLLOW, fill_blog),
    "blog": (FOLLOW, fill_blog),
    "feed": (FOLLOW, fill_feed),
    "posts": (None, fill_comments),
    "comments": (None, fill_comments),
    "recent-replies": (TAGS, fill_replies),
    "transfers": (ACCOUNT_HISTORY, fill_transfers),
}
"""Sections of an account's page: the required plugin, and the function that fills the section."""
