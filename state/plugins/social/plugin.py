"""The plugin `communities`, the social index of communities, posts and notifications. The methods of `bridge` read it.

It never refuses an operation. An operation that has no effect on the index is ignored, or causes an error notification. Source: social.md.
"""

from collections.abc import Callable, Sequence
from functools import partial

from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount
from state.operations.content import Comment, DeleteComment, Vote
from state.operations.custom import CustomJson
from state.operations.mining import Pow, Pow2
from state.operations.transfers import Transfer
from state.plugins.follow.operations import FollowOperation
from state.plugins.follow.plugin import FOLLOW
from state.plugins.plugin import Plugin, bound
from state.plugins.reputation import REPUTATION
from state.plugins.social.communities.actions import on_custom_json
from state.plugins.social.communities.lists import figures
from state.plugins.social.community_payloads import OWNER, type_of
from state.plugins.social.index import Social
from state.plugins.social.notifications.writer import Type, notify
from state.plugins.social.portable import export_rows, import_rows
from state.plugins.social.posts import placement
from state.plugins.social.posts.lists import Scope, ranked_posts
from state.plugins.social.root_posts import EVERYTHING
from state.plugins.social.rows import Community, Role
from state.protocol.virtual import CommentPayoutUpdate, Hardfork
from state.store.serializers import tables
from state.tables import State

# The view takes some 600 bytes per unpaid post, and up to 30 per paid one. On startup, lists are read only up to these numbers of posts.
AHEAD_UNPAID_MAX, AHEAD_POSTS_MAX = 200_000, 2_000_000
AHEAD_SORTS = ("trending", "hot", "promoted", "payout", "payout_comments", "muted")

Creation = AccountCreate | AccountCreateWithDelegation | CreateClaimedAccount


def install(state: State) -> Social:
    """Create the plugin's tables and register its listeners. If the plugin `follow` is enabled, listen to changes of relations as well."""
    kept = Social(state)
    on = state.listeners.on_operation
    on(bound(on_creation, kept), AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount)
    on(bound(on_work, kept), Pow, Pow2)
    on(bound(placement.on_comment, kept), Comment)
    on(bound(placement.remember_deleted, kept), DeleteComment, after=False)
    on(bound(placement.mark_deleted, kept), DeleteComment)
    on(bound(placement.on_vote, kept), Vote)
    on(bound(placement.on_payout, kept), CommentPayoutUpdate)
    on(bound(placement.on_hardfork, kept), Hardfork)
    on(bound(placement.promote, kept), Transfer)
    on(bound(on_custom_json, kept), CustomJson)
    state.listeners.before_block.append(kept.set_incoming)
    relations = FOLLOW.find(state)
    if relations is not None:

        def changed(state: State, operation: FollowOperation, before: int, now: int) -> None:
            placement.on_relation(state, kept, operation, before, now)

        relations.on_change.append(changed)
    return kept


def on_creation(state: State, kept: Social, operation: Creation) -> None:
    """After an account was created, create its community if the account's name is that of a community."""
    register(state, kept, operation.new_account_name)


def on_work(state: State, kept: Social, operation: Pow | Pow2) -> None:
    """After a proof of work, which can have created the worker's account, create the worker's community as in `on_creation`."""
    register(state, kept, operation.worker_account if isinstance(operation, Pow) else operation.work.input.worker_account)


def register(state: State, kept: Social, name: str) -> None:
    """If an account's name is that of a community, create the community. The account is its owner."""
    type_id = type_of(state.spec.community_prefix, name)
    account = state.accounts.by_name.get(name)
    if type_id is None or account is None or kept.community(name) is not None:
        return
    kept.communities.insert(Community(account=account.id, name=name, type_id=type_id, created=kept.moment(state)))
    kept.roles.insert(Role(community=name, account=name, role=OWNER))
    notify(state, kept, Type.new_community, dst=name, community=name)


def restored(kept: Social) -> None:
    """Discard the view and the payout totals, so that the next read rebuilds them."""
    kept.view.mark_all()
    kept.counted = kept.counting = kept.incoming = None
    kept.late_counts = 0


def warm_up_reads(state: State, kept: Social) -> Sequence[Callable[[], object]]:
    """Return the reads that rank all posts and sort the most used lists, or no reads if they would take too much memory."""
    if len(state.comments.by_due_payout) > AHEAD_UNPAID_MAX:
        return ()
    scope = Scope((EVERYTHING,), of_communities=False)
    sorts = (*AHEAD_SORTS, "created") if len(kept.posts) <= AHEAD_POSTS_MAX else AHEAD_SORTS
    pages = [partial(ranked_posts, state, kept, scope, sort, 1, None) for sort in sorts]
    # A count of the payout totals isn't worthwhile here, since each block changes them.
    return *pages, lambda: None if kept.counted is not None else figures(state, kept)


COMMUNITIES = Plugin(
    "communities",
    Social,
    install,
    serves=("bridge",),
    uses=(REPUTATION, FOLLOW),
    parts=lambda state, kept: tables(
        kept, "communities", "roles", "subscriptions", "posts", "reblogs", "notifications", "sent_once", "last_reads"
    ),
    unsaved=(
        "facts",
        "irredeemables",
        "recommended",
        "dirty",
        "view",
        "_comments",
        "leaving",
        "incoming",
        "counted",
        "counting",
        "late_counts",
    ),
    on_restored=restored,
    import_rows=import_rows,
    export_rows=export_rows,
    warm_up_reads=warm_up_reads,
)
