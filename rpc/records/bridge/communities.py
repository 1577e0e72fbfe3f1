"""Records of `bridge` for communities and the roles of their members. Source: social.md §3.5, §3.8."""

from typing import Annotated, ClassVar

from msgspec import Struct

from rpc.declare.record_encoder import Json
from rpc.declare.record_fields import FieldPath, OptionalFieldPath
from rpc.records.bridge.kinds import FreeObject, RoleName, RoleRow
from state.plugins.social.communities import lists
from state.plugins.social.communities.lists import CommunityRank, PayoutTotals
from state.plugins.social.community_payloads import GUEST
from state.plugins.social.index import Social
from state.plugins.social.post_metadata import settings_of
from state.plugins.social.rows import Community, Role
from state.protocol.codec.kinds import AccountName, Bool, Bounded, Many, Text, Time, UInt32
from state.tables import State

ROLE = RoleRow()


class CommunityContextRecord(Struct):
    """Role and title of an account in a community, and whether it subscribes to the community."""

    role: Annotated[int, RoleName()]
    title: Text
    subscribed: Bool


class CommunityView(Struct):
    """The object from which community records are read: the community's row, its pending payouts, and the observer's role in it.

    `admins` is None if there are none. `team` and `settings` are filled only if the record is for a single community.
    """

    row: Community
    figure: PayoutTotals
    context: CommunityContextRecord
    admins: list[str] | None = None
    team: list[Role] = []
    settings: Json = {}

    @property
    def title(self) -> str:
        """The title of the community, or its name if it has no title."""
        return self.row.title or f"@{self.row.name}"


class CommunityRecord(Struct):
    """A community, read from a `CommunityView`. `sum_pending` is in whole SBD. `context` is the observer's role in the community."""

    ROOT: ClassVar[str] = "row"

    id: Annotated[int, FieldPath("row.account", UInt32)]
    name: AccountName
    title: Annotated[str, FieldPath("title", Text)]
    about: Text
    lang: Text
    type_id: UInt32
    is_nsfw: Bool
    subscribers: UInt32
    sum_pending: Annotated[int, FieldPath("figure.rounded", UInt32)]
    num_pending: Annotated[int, FieldPath("figure.posts", UInt32)]
    num_authors: Annotated[int, FieldPath("figure.authors", UInt32)]
    created_at: Annotated[int, FieldPath("row.created", Time)]
    avatar_url: Text
    context: Annotated[CommunityContextRecord, FieldPath("context", CommunityContextRecord)]


class ListedCommunityRecord(CommunityRecord):
    """A community in a list, read from a `CommunityView`. If the community has no admins, the member `admins` is omitted."""

    admins: Annotated[list[str] | None, OptionalFieldPath("admins", Many(Bounded(16)))]


class FullCommunityRecord(CommunityRecord):
    """A single community, read from a `CommunityView`. `team` lists account, role and title of its owner, admins and moderators."""

    description: Text
    flag_text: Text
    settings: Annotated[Json, FieldPath("settings", FreeObject())]
    team: Annotated[list[Role], FieldPath("team", Many(ROLE))]


def context_of(kept: Social, community: str, account: str) -> CommunityContextRecord:
    """Return the role and title of an account in a community. An account without a role is a guest."""
    row = kept.role_row(community, account)
    role, title = (GUEST, "") if row is None else (row.role, row.title)
    return CommunityContextRecord(role, title, kept.is_subscribed(community, account))


def listed_community(kept: Social, one: CommunityRank, observer: str) -> CommunityView:
    """Return the view from which `ListedCommunityRecord` is read."""
    admins = lists.admins(kept, one.row.name)
    return CommunityView(one.row, one.figure, context_of(kept, one.row.name, observer), admins or None)


def full_community(state: State, kept: Social, row: Community, observer: str) -> CommunityView:
    """Return the view from which `FullCommunityRecord` is read."""
    view = CommunityView(row, lists.figures(state, kept).communities.get(row.name, PayoutTotals()), context_of(kept, row.name, observer))
    view.team, view.settings = lists.team(kept, row.name), settings_of(row.settings)
    return view
