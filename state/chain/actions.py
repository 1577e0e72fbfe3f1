"""Automated actions: transactions queued by the chain itself, which a producer puts into the header of a block.

A due required action must be in the next block; an optional action can be left out. Only the reference's test build defines actions: one
required and one optional example, neither of which has an effect. Source: operations.md §16; block-processing.md §3.24, §4.4.
"""

from typing import Any

from msgspec import json

from state.operations.checks import require_account_name
from state.protocol.codec.kinds import Tagged, Variant
from state.protocol.constants import COIN_100_PERCENT
from state.protocol.errors import require
from state.protocol.transaction import (
    OPTIONAL_ACTIONS,
    REQUIRED_ACTIONS,
    ExampleOptionalAction,
    ExampleRequiredAction,
    OptionalAction,
    RequiredAction,
    SignedBlock,
)
from state.protocol.values.integers import WORD32
from state.tables import State

Action = ExampleRequiredAction | ExampleOptionalAction


def process_required_actions(state: State, block: SignedBlock) -> None:
    """Apply the required actions in a block's header. They must be the first actions of the queue, in queue order.

    A due action can be missing only if it doesn't fit into the part of the block reserved for required actions.
    """
    queue, size = state.required_actions, 0
    if not len(queue) and not block.extensions:
        return
    for action in listed(block, REQUIRED_ACTIONS):
        pending = next(iter(queue), None)
        require(
            pending is not None,
            "Block included required action that does not exist in queue",
            condition="pending_itr != pending_action_idx.end()",
        )
        assert pending is not None, "it has just been asked for"
        require(
            pending.action == action,
            "Unexpected action included. Expected: ${e} Observed: ${o}",
            condition="actions_itr->visit( equal_visitor )",
            e=text_of(state, pending.action),
            o=text_of(state, action),
        )
        size += packed_size(state, RequiredAction, action)
        queue.remove(pending)
    pending = next(iter(queue), None)
    if pending is None or pending.execution_time > block.timestamp:
        return
    size += packed_size(state, RequiredAction, pending.action)
    # The reference's product wraps at 32 bits here, but not in its block producer.
    props = state.props
    partition = props.maximum_block_size * props.required_actions_partition_percent % WORD32 // COIN_100_PERCENT
    require(
        size > partition,
        "Expected action was not included in block. total_actions_size: ${as}, required_actions_partition_action: ${rs}, "
        "pending_action: ${pa}",
        condition="total_actions_size > required_actions_partition_size",
        **{"as": size, "rs": partition, "pa": text_of(state, pending.action)},
    )


def process_optional_actions(state: State, block: SignedBlock) -> None:
    """Since hardfork 24: check the optional actions in a block's header, and remove queued optional actions that are too old.

    An optional action is too old if it was due by the time of the last irreversible block.
    """
    if state.hardfork < 24:
        return
    for action in listed(block, OPTIONAL_ACTIONS) if block.extensions else ():
        require_account_name(action.account)
    queue = state.optional_actions
    if not len(queue):
        return
    passed = state.time_of_block(state.props.last_irreversible_block_num)
    while (pending := queue.by_execution.first()) is not None and passed is not None and pending.execution_time <= passed:
        queue.remove(pending)


def listed(block: SignedBlock, tag: int) -> tuple[Action, ...]:
    """Return the required or optional actions in a block's header: the value of the header extension with this tag, () without it."""
    return next((extension.value for extension in block.extensions if getattr(extension, "tag", 0) == tag), ())


def packed_size(state: State, kind: Variant, action: Action) -> int:
    """Return the size of an action in a header, in bytes."""
    return len(kind.packer(state.wire.codecs)(action))


def text_of(state: State, action: Action) -> str:
    """Return a required action as JSON, for refusal messages."""
    dump: Any = RequiredAction.dumper(state.wire.codecs, False)
    return json.encode(dump(action)).decode()


def select_actions(state: State, when: int, size: int) -> tuple[Tagged, ...]:
    """Return the header extensions that contain the due actions, as many as fit into a block that already has `size` bytes.

    The actions are ordered by execution time, although applying a block requires queue order. With more than one action, the reference's
    producer can therefore make blocks that the reference itself refuses. This producer does the same.
    """
    out = []
    for tag, kind, queue in (
        (REQUIRED_ACTIONS, RequiredAction, state.required_actions),
        (OPTIONAL_ACTIONS, OptionalAction, state.optional_actions),
    ):
        if not len(queue):
            continue
        chosen: list[Any] = []
        for pending in queue.by_execution:
            with_it = size + packed_size(state, kind, pending.action)
            if pending.execution_time > when or with_it > state.props.maximum_block_size:
                break
            chosen.append(pending.action)
            size = with_it
        if chosen:
            out.append(Tagged(tag, tuple(chosen)))
    return tuple(out)
