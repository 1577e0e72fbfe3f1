"""Records of `bridge`: posts, communities, notifications and profiles as the social index shows them. Source: social.md §3.2-§3.8."""

from collections.abc import Callable
from typing import Annotated, NotRequired, TypedDict

from msgspec import Struct

from rpc.records.comments import NO_COMMENT, NO_CONTENT
from rpc.records.discussions import title_of
from rpc.service.show import Json, Of
from state.plugins.follow.lists import follow_count
from state.plugins.follow.plugin import FOLLOW
from state.plugins.social.communities import lists as communities_lists
from state.plugins.social.communities.lists import Figure, Standing
from state.plugins.social.communities.payloads import ROLE_NAMES
from state.plugins.social.facts import Worth, follows, ignores, payout_of
from state.plugins.social.index import Social
from state.plugins.social.notifications.texts import content_of, message, url
from state.plugins.social.posts.texts import blacklists, flag_weight, is_gray, profile_of, settings_of, shown_metadata
from state.plugins.social.rows import Community, Notification, Role
from state.plugins.social.scores import shown_reputation
from state.protocol.codec.kinds import Seconds
from state.protocol.values.text import time_text
from state.tables import State
from state.tables.accounts import Account, AccountMetadata
from state.tables.content import Comment

NO_CATEGORY = "undefined"
SBD_UNIT = 1000
COIN_UNIT = 1000

TimeText = Annotated[str, Of(Seconds())]
RoleItem = tuple[str, str, str]
SubscriptionItem = tuple[str, str]


class Stats(TypedDict):
    """How a post stands."""

    hide: bool
    gray: bool
    total_votes: int
    flag_weight: int
    is_pinned: NotRequired[bool]


class BridgeVote(TypedDict):
    """A vote, with a decimal number as text."""

    voter: str
    rshares: str


class PostFacts(TypedDict):
    """What is told of a post or a reply. Those in communities, replies, and posts in blogs and feeds tell more."""

    author: str
    permlink: str
    category: str
    title: str
    body: str
    json_metadata: Json
    created: TimeText
    updated: TimeText
    depth: int
    children: int
    net_rshares: float
    is_paidout: bool
    payout_at: TimeText
    payout: float
    pending_payout_value: str
    author_payout_value: str
    curator_payout_value: str
    promoted: str
    replies: list[str]
    active_votes: list[BridgeVote]
    author_reputation: float
    stats: Stats
    beneficiaries: list[Json]
    max_accepted_payout: str
    percent_coin_dollars: int
    url: str
    blacklists: list[str]
    parent_author: NotRequired[str]
    parent_permlink: NotRequired[str]
    community: NotRequired[str]
    community_title: NotRequired[str]
    author_role: NotRequired[str]
    author_title: NotRequired[str]
    reblogged_by: NotRequired[list[str]]


class BridgePost(PostFacts):
    """A post or a reply."""

    post_id: int


class NormalizedPost(PostFacts):
    """A post or a reply; without a number (null) when it isn't on this chain."""

    post_id: NotRequired[int | None]


class Context(TypedDict):
    """What an account is in a community."""

    role: str
    title: str
    subscribed: bool


class CommunityFacts(TypedDict):
    """What is told of a community everywhere."""

    id: int
    name: str
    title: str
    about: str
    lang: str
    type_id: int
    is_nsfw: bool
    subscribers: int
    sum_pending: int
    num_pending: int
    num_authors: int
    created_at: TimeText
    avatar_url: str
    context: Context


class CommunityItem(CommunityFacts):
    """A community in a list."""

    admins: NotRequired[list[str]]


class FullCommunity(CommunityFacts):
    """A community with all that is told of it."""

    description: str
    flag_text: str
    settings: Json
    team: list[RoleItem]


class NotificationItem(TypedDict):
    """A notification."""

    id: int
    type: str
    score: int
    date: TimeText
    msg: str
    url: str


class ProfileStats(TypedDict):
    """An account in numbers."""

    sp: int
    rank: int
    following: int
    followers: int


class ProfileContext(TypedDict):
    """What an account is to another."""

    followed: bool
    muted: NotRequired[bool]


class Profile(TypedDict):
    """An account and what it says of itself."""

    id: int
    name: str
    created: TimeText
    active: TimeText
    post_count: int
    reputation: float
    blacklists: list[str]
    stats: ProfileStats
    metadata: Json
    context: NotRequired[ProfileContext]


def debt(state: State, amount: int) -> str:
    """An amount of SBD as text."""
    return f"{amount // SBD_UNIT}.{amount % SBD_UNIT:03} {state.spec.debt_symbol}"


def number(amount: int) -> float:
    """An amount of SBD as a number."""
    return amount / SBD_UNIT


# ------------------------------------------------------------------ posts


class Shower(Struct):
    """Shows posts as they are at one moment."""

    state: State
    kept: Social
    worth: Worth
    spell: Callable[[str], str]

    def post(self, comment: Comment) -> Json:
        """A post or a reply."""
        state, kept = self.state, self.kept
        row = kept.posts.by_comment.get(comment.id)
        texts = state.comment_contents.by_comment.get(comment.id) or NO_CONTENT
        root = state.comments.get(comment.root_comment) or NO_COMMENT
        votes = list(state.comment_votes.by_comment_voter.equal(comment.id))
        rshares = [vote.rshares for vote in votes]
        payout = payout_of(state, kept.facts, comment, self.worth)
        reputation = shown_reputation(kept.facts.reputation(state, comment.author))
        is_bad = comment.author in kept.irredeemables
        lists = blacklists(reputation, is_bad)
        category = comment.category or NO_CATEGORY
        path = f"@{comment.author}/{comment.permlink}"
        found: Json = {
            "post_id": comment.id,
            "author": comment.author,
            "permlink": comment.permlink,
            "category": category,
            "title": f"RE: {title_of(state, root)}" if comment.parent_author else texts.title,
            "body": texts.body.replace("\0", "[NUL]"),
            "json_metadata": shown_metadata(texts.json_metadata),
            "created": time_text(comment.created),
            "updated": time_text(comment.last_update),
            "depth": comment.depth,
            "children": comment.children,
            "net_rshares": sum(rshares),
            "is_paidout": payout.is_paid,
            "payout_at": time_text(payout.at),
            "payout": number(payout.total),
            "pending_payout_value": debt(state, payout.pending),
            "author_payout_value": debt(state, payout.of_author),
            "curator_payout_value": debt(state, payout.of_curators),
            "promoted": debt(state, 0 if row is None else row.promoted),
            "replies": [],
            "active_votes": [{"voter": state.accounts.find(vote.voter).name, "rshares": str(vote.rshares)} for vote in votes],
            "author_reputation": reputation,
            "stats": {
                "hide": is_bad,
                "gray": row.is_muted if row is not None and row.community else is_gray(is_bad, lists),
                "total_votes": sum(value != 0 for value in rshares),
                "flag_weight": flag_weight(rshares),
            },
            "beneficiaries": [{"account": one.account, "weight": one.weight} for one in comment.beneficiaries],
            "max_accepted_payout": debt(state, comment.max_accepted_payout),
            self.spell("percent_coin_dollars"): comment.percent_coin_dollars,
            "url": f"/{category}/@{root.author}/{root.permlink}#{path}" if comment.parent_author else f"/{category}/{path}",
            "blacklists": lists,
        }
        if comment.parent_author:
            found |= {"parent_author": comment.parent_author, "parent_permlink": comment.parent_permlink}
        if row is not None and row.community:
            found |= self.place(row.community, comment.author)
            if row.is_pinned:
                found["stats"]["is_pinned"] = True
        return found

    def place(self, name: str, author: str) -> Json:
        """The community of a post, and what its author is there."""
        community, role = self.kept.community(name), self.kept.role_row(name, author)
        return {
            "community": name,
            "community_title": name if community is None else community.title or name,
            "author_role": ROLE_NAMES[0 if role is None else role.role],
            "author_title": "" if role is None else role.title,
        }


def shower(state: State, kept: Social) -> Shower:
    """What shows posts as they are now."""
    return Shower(state, kept, kept.facts.worth(state), state.spec.spell)


# ------------------------------------------------------------------ communities


def role_item(row: Role) -> RoleItem:
    """Who is what."""
    return row.account, ROLE_NAMES[row.role], row.title


def context(kept: Social, community: str, account: str) -> Context:
    """What an account is in a community; nobody is a guest."""
    row = kept.role_row(community, account)
    return {
        "role": ROLE_NAMES[0 if row is None else row.role],
        "title": "" if row is None else row.title,
        "subscribed": kept.is_subscribed(community, account),
    }


def community_facts(kept: Social, row: Community, figure: Figure, observer: str) -> CommunityFacts:
    """What is told of a community everywhere."""
    return {
        "id": row.account,
        "name": row.name,
        "title": row.title or f"@{row.name}",
        "about": row.about,
        "lang": row.lang,
        "type_id": row.type_id,
        "is_nsfw": row.is_nsfw,
        "subscribers": row.subscribers,
        "sum_pending": figure.rounded,
        "num_pending": figure.posts,
        "num_authors": figure.authors,
        "created_at": time_text(row.created),
        "avatar_url": row.avatar_url,
        "context": context(kept, row.name, observer),
    }


def community_item(kept: Social, one: Standing, observer: str) -> CommunityItem:
    """A community in a list."""
    facts, admins = community_facts(kept, one.row, one.figure, observer), communities_lists.admins(kept, one.row.name)
    item: CommunityItem = {**facts, "admins": admins}
    if not admins:
        del item["admins"]
    return item


def full_community(state: State, kept: Social, row: Community, observer: str) -> FullCommunity:
    """A community with all that is told of it."""
    return {
        **community_facts(kept, row, communities_lists.figure_of(state, kept, row), observer),
        "description": row.description,
        "flag_text": row.flag_text,
        "settings": settings_of(row.settings),
        "team": [role_item(one) for one in communities_lists.team(kept, row.name)],
    }


# ------------------------------------------------------------------ notifications and profiles


def notification_item(kept: Social, row: Notification) -> NotificationItem:
    """A notification; their numbers begin with 1."""
    content = content_of(kept, row)
    return {
        "id": row.id + 1,
        "type": content.type.name,
        "score": row.score,
        "date": time_text(row.created),
        "msg": message(content),
        "url": url(content),
    }


def profile(state: State, kept: Social, account: Account, observer: str) -> Profile:
    """An account, and what it is to an observer if there is one."""
    metadata = state.account_metadata.by_account.get(account.id) or AccountMetadata()
    reputation = shown_reputation(kept.facts.reputation(state, account.name))
    followers, following = follow_count(state, account.name) if FOLLOW.is_on(state) else (0, 0)
    props = state.props
    times = (account.created, account.last_account_update, account.last_post, account.last_root_post, account.last_vote_time)
    found: Profile = {
        "id": account.id,
        "name": account.name,
        "created": time_text(account.created),
        "active": time_text(max(times)),
        "post_count": account.post_count,
        "reputation": reputation,
        "blacklists": blacklists(reputation, account.name in kept.irredeemables),
        "stats": {
            "sp": account.vote_weight * props.total_vesting_fund_coin // (props.total_vesting_shares * COIN_UNIT or 1),
            "rank": kept.facts.rank(state, account) or 0,
            "following": following,
            "followers": followers,
        },
        "metadata": {"profile": profile_of(metadata.posting_json_metadata, metadata.json_metadata)},
    }
    if observer:
        found["context"] = {"followed": follows(state, observer, account.name)}
        if ignores(state, observer, account.name):
            found["context"]["muted"] = True
    return found
