"""The social index: communities, what posts are in them, and notifications; what `bridge` is read from. It never refuses anything.
Source: social.md.

communities_rows      what is kept in the journal
communities_kept      all of it in one object, with the time of an operation
communities_payloads  what community operations may hold
communities_actions   what they do, and who may
social_posts          how posts are taken in; votes, payouts, promotion, reblogs
social_posts_texts    what their texts mean
social_posts_view     how they are ranked
social_posts_lists    how lists of them are read
social_scores         doubles
social_facts          what is asked of the chain
notifications         types, scores and texts
"""

import re
from functools import lru_cache

from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount
from state.operations.content import Comment, DeleteComment, Vote
from state.operations.custom import CustomJson
from state.operations.mining import Pow, Pow2
from state.operations.transfers import Transfer
from state.plugins.follow import plugin as follow
from state.plugins.social.communities.actions import follow_custom_json
from state.plugins.social.communities.payloads import OWNER
from state.plugins.social.index import NAME as NAME
from state.plugins.social.index import Social, moment, note_incoming, plugin
from state.plugins.social.notifications.writing import Type, notify
from state.plugins.social.posts.placement import (
    follow_comment,
    follow_follow,
    follow_hardfork,
    follow_payout,
    follow_vote,
    forget_deleted,
    promote,
)
from state.plugins.social.rows import Community, Role
from state.protocol.virtual import CommentPayoutUpdate, Hardfork
from state.tables import State

Creation = AccountCreate | AccountCreateWithDelegation | CreateClaimedAccount


def install(state: State) -> Social:
    """Make the tables and listen; who follows whom is heard from the plugin `follow`, if it is enabled."""
    on = state.listeners.on_operation
    on(follow_creation, AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount)
    on(follow_work, Pow, Pow2)
    on(follow_comment, Comment)
    on(forget_deleted, DeleteComment)
    on(follow_vote, Vote)
    on(follow_payout, CommentPayoutUpdate)
    on(follow_hardfork, Hardfork)
    on(promote, Transfer)
    on(follow_custom_json, CustomJson)
    state.listeners.before_block.append(note_incoming)
    if follow.NAME in state.plugins:
        follow.plugin(state).on_change.append(follow_follow)
    return Social(state)


def follow_creation(state: State, operation: Creation) -> None:
    """An account was created."""
    register(state, operation.new_account_name)


def follow_work(state: State, operation: Pow | Pow2) -> None:
    """Somebody has mined, which may have made the account."""
    register(state, operation.worker_account if isinstance(operation, Pow) else operation.work.input.worker_account)


@lru_cache(8)
def name_pattern(prefix: str) -> re.Pattern[str]:
    """What the names of communities look like on a chain: the prefix, the type, and four to six digits."""
    return re.compile(re.escape(prefix) + r"([123])[0-9]{4,6}")


def type_of(prefix: str, name: str) -> int | None:
    """The type of the community that an account of this name is; None if it is none."""
    match = name_pattern(prefix).fullmatch(name)
    return None if match is None else int(match[1])


def register(state: State, name: str) -> None:
    """An account whose name is a community's is one, and its own owner."""
    kept = plugin(state)
    kept.changed.author(name)
    type_id = type_of(state.spec.community_prefix, name)
    account = state.accounts.by_name.get(name)
    if type_id is None or account is None or kept.community(name) is not None:
        return
    kept.communities.insert(Community(account=account.id, name=name, type_id=type_id, created=moment(state)))
    kept.roles.insert(Role(community=name, account=name, role=OWNER))
    notify(state, kept, Type.new_community, dst=name, community=name)
