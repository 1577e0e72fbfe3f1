"""Skip flags: the checks to skip when a block or transaction is applied. Source: block-processing.md §2.3."""


class Skip:
    """The reference's skip flags as plain integers. debug_node_api takes them from clients, so the bits are fixed.

    Not every flag does what its name suggests. TRANSACTION_SIGNATURES and AUTHORITY_CHECK are the same check. TRANSACTION_DUPE_CHECK also
    skips the recording of the transaction for later comparisons. BLOCK_SIZE_CHECK affects only the producer's last check.
    VALIDATE_INVARIANTS, UNDO_BLOCK and BLOCK_LOG have no effect here.
    """

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


# Checks without effect on the state: a file of valid blocks leads to the same state without them. The duplicate check stays, because
# its records refuse the same transaction after the node resumes from that state.
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
