"""State changes that a block made: rows before and after the block. They are available as long as the block can be undone."""

from itertools import islice
from typing import Any, TypedDict

import msgspec

from rpc.declare.arguments import UInt32
from rpc.declare.method import method
from rpc.records.rows import name_of, shown_value
from state.chain.chain import Chain
from state.chain.changes import RowChange, changes_of
from state.tables import State

ROWS_MAX = 500
FIELDS_MAX = 20  # the maximum number of fields per row
TEXT_MAX = 300  # the maximum number of characters per value


class PostName(TypedDict):
    """Author and permlink of a post or a reply."""

    author: str
    permlink: str


class ChangedField(TypedDict):
    """A field with its value before and after the block, in the format of the API. Long lists and strings are returned as truncated
    strings.
    """

    field: str
    before: Any
    after: Any


class ChangedRow(TypedDict):
    """A row that was `created`, `changed` or `removed`, with its name, and the account or post to which it belongs.

    For a created or removed row, only fields with a value other than the default are included.
    """

    table: str
    name: str
    account: str | None
    post: PostName | None
    change: str
    fields: list[ChangedField]
    fields_left_out: UInt32


class Changes(TypedDict):
    """The rows that a block changed, in order of the first write to each row."""

    block_num: UInt32
    rows: list[ChangedRow]
    rows_left_out: UInt32


@method("explorer_api.get_changes")
def get_changes(chain: Chain, /, block_num: UInt32) -> Changes:
    """Return the rows of the state that a block created, changed or removed, with their values before and after it.

    They are read from the undo journal, so a block that can no longer be undone is refused. At most 500 rows with 20 fields each are
    returned. Plugin data outside of tables, for example account histories, is not included.
    """
    changes, left_out = changes_of(chain, block_num, ROWS_MAX)
    return {"block_num": block_num, "rows": [shown_row(chain.state, change) for change in changes], "rows_left_out": left_out}


def shown_row(state: State, change: RowChange) -> ChangedRow:
    """Encode a changed row."""
    row, named = change.row, name_of(state, change.table, change.row)
    return {
        "table": change.name,
        "name": shortened(named.text),
        "account": named.account,
        "post": None if named.post is None else {"author": named.post[0], "permlink": named.post[1]},
        "change": change.kind,
        "fields": [
            {
                "field": state.spec.spell(field.rstrip("_")),
                "before": bounded(shown_value(state, row, field, change.before[field])),
                "after": bounded(shown_value(state, row, field, change.after[field])),
            }
            for field in islice(change.after, FIELDS_MAX)
        ],
        "fields_left_out": max(0, len(change.after) - FIELDS_MAX),
    }


def bounded(value: Any) -> Any:
    """Return a value unchanged if it is short. Otherwise, return it as a string of TEXT_MAX characters."""
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, (list, dict)):
        text = msgspec.json.encode(value).decode()
        return value if len(text) <= TEXT_MAX else shortened(text)
    return value


def shortened(text: str) -> str:
    """Truncate a string to TEXT_MAX characters and append an ellipsis."""
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"
