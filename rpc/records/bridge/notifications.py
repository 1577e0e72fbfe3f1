"""Records of `bridge` for notifications. Source: social.md §3.4."""

from msgspec import Struct

from state.plugins.social.index import Social
from state.plugins.social.notifications.texts import content_of, message, url
from state.plugins.social.rows import Notification
from state.protocol.codec.kinds import Text, Time, UInt32


class NotificationRecord(Struct):
    """A notification. `msg` is its text, and `url` is the path of the page to which it refers."""

    id: UInt32
    type: Text
    score: UInt32
    date: Time
    msg: Text
    url: Text


class UnreadRecord(Struct):
    """The time up to which an account has read its notifications, and the number of newer notifications."""

    lastread: Time
    unread: UInt32


def notification(kept: Social, row: Notification, brand: str) -> NotificationRecord:
    """Return the record of a notification. Its id is the row's id plus one, since clients count notifications from 1."""
    content = content_of(kept, row)
    return NotificationRecord(row.id + 1, content.type.name, row.score, row.created, message(content, brand), url(content))
