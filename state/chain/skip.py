"""Which checks of a block or a transaction to leave out. Source: block-processing.md §2.3."""


class Skip:
    """The reference's skip flags, plain numbers; the bits are part of debug_node_api."""

    NOTHING = 0
    WITNESS_SIGNATURE = 1 << 0
    TRANSACTION_SIGNATURES = 1 << 1
    TRANSACTION_DUPE_CHECK = 1 << 2
    FORK_DB = 1 << 3
    BLOCK_SIZE_CHECK = 1 << 4
    TAPOS_CHECK = 1 << 5
    AUTHORITY_CHECK = 1 << 6
    MERKLE_CHECK = 1 << 7
    UNDO_HISTORY_CHECK = 1 << 8
    WITNESS_SCHEDULE_CHECK = 1 << 9
    VALIDATE = 1 << 10
    VALIDATE_INVARIANTS = 1 << 11
    UNDO_BLOCK = 1 << 12
    BLOCK_LOG = 1 << 13


# What can't change the state that a good file leads to. The check for duplicates stays: it makes the records that refuse the
# same transaction once more when the node goes on from there.
TRUSTED = (
    Skip.WITNESS_SIGNATURE
    | Skip.TRANSACTION_SIGNATURES
    | Skip.TAPOS_CHECK
    | Skip.AUTHORITY_CHECK
    | Skip.MERKLE_CHECK
    | Skip.WITNESS_SCHEDULE_CHECK
    | Skip.VALIDATE
    | Skip.VALIDATE_INVARIANTS
)
