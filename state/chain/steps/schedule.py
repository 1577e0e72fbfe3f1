"""The witness schedule: the witnesses of the next round, their order, and their median properties. Source: block-processing.md §3.9."""

from collections import Counter

from state.effects.subsidies import backstop_decay, subsidy_params, witness_params
from state.effects.votes import lap_length, time_for
from state.protocol.constants import COIN_MAX_WITNESSES, COIN_START_MINER_VOTING_BLOCK
from state.protocol.errors import require
from state.protocol.keys.keys import NULL_KEY
from state.protocol.transaction import SignedBlock
from state.protocol.values.integers import UINT64_MAX, WORD32, WORD128
from state.tables import State
from state.tables.globals import ChainProperties
from state.tables.witnesses import ELECTED, LAP_LENGTH, MINER, TIMESHARE, Witness

SHUFFLE_FACTOR = 2685821657736338717


def update_witness_schedule(state: State, block: SignedBlock) -> None:
    """Every 21 blocks, compute a new round, even if fewer witnesses are scheduled."""
    if block.number % COIN_MAX_WITNESSES:
        return
    if state.hardfork >= 4:
        update_schedule(state)
    else:
        # Before hardfork 4 one witness per round came from the queue by virtual time, and miners filled the rest.
        update_early_schedule(state)
    update_median_properties(state)


def update_schedule(state: State) -> None:
    """Compute the next round: the witnesses with the most votes, then miners, then the next witnesses by virtual time.

    The round is shuffled, and the version reports and hardfork votes of the old round are counted. If there are fewer than 22 witnesses in
    total, a witness without a signing key leaves a gap in the round. The block is then refused, as in the reference.
    """
    schedule = state.schedule
    selected: dict[str, int] = {}
    size = state.spec.round_size
    for witness in state.witnesses.by_vote_name:
        if len(selected) >= min(schedule.max_voted_witnesses, size):
            break
        # Since hardfork 14 a witness without a signing key can't be scheduled.
        if state.hardfork >= 14 and witness.signing_key == NULL_KEY:
            continue
        selected[witness.owner] = ELECTED
    take_miners(state, selected, min(schedule.max_miner_witnesses, size - len(selected)))
    now, processed = take_timeshare(state, selected, size)
    now = new_laps(state, now, processed)
    expected = min(size, len(state.witnesses))
    require(
        len(selected) == expected,
        "number of active witnesses does not equal expected_active_witnesses=${expected_active_witnesses}",
        condition="active_witnesses.size() == expected_active_witnesses",
        expected_active_witnesses=expected,
    )
    for name, kind in selected.items():
        witness = state.witness(name)
        if witness.schedule != kind:
            state.witnesses.modify(witness, schedule=kind)
    majority = schedule.majority_version
    if state.hardfork >= 5:
        # Since hardfork 5 witnesses report versions and vote for hardforks. The old round is counted, because the new one is stored
        # below.
        majority = majority_version(state)
        update_hardfork_votes(state)
    kinds = Counter(selected.values())
    weights = ((ELECTED, schedule.elected_weight), (TIMESHARE, schedule.timeshare_weight), (MINER, schedule.miner_weight))
    names = shuffled(list(selected), state.head_time)
    state.witness_schedules.modify(
        schedule,
        current_shuffled_witnesses=padded(names),
        num_scheduled_witnesses=max(len(names), 1),
        witness_pay_normalization_factor=sum(kinds[kind] * weight for kind, weight in weights),
        current_virtual_time=now,
        next_shuffle_block_num=state.props.head_block_number + max(len(names), 1),
        majority_version=majority,
    )


def take_miners(state: State, selected: dict[str, int], most: int) -> None:
    """Select the first `most` miners of the queue. Every examined miner leaves the queue. Since hardfork 17 none is selected."""
    taken = 0
    for witness in list(state.witnesses.by_pow.starting(1)) if most else ():
        if taken >= most:
            break
        if witness.owner not in selected and (state.hardfork < 14 or witness.signing_key != NULL_KEY):
            selected[witness.owner] = MINER
            taken += 1
        state.witnesses.modify(witness, pow_worker=0)
        state.set_props(num_pow_witnesses=(state.props.num_pow_witnesses - 1) % WORD32)


def take_timeshare(state: State, selected: dict[str, int], size: int) -> tuple[int, list[Witness]]:
    """Fill the round up to `size` in order of virtual time. Return the new virtual time and the witnesses that finished a lap of it
    (state.effects.votes).

    Top witnesses that are due finish a lap as well, without taking a second slot.
    """
    now, processed = state.schedule.current_virtual_time, []
    for witness in state.witnesses.by_schedule_time:
        if len(selected) >= size:
            break
        now = witness.virtual_scheduled_time
        processed.append(witness)
        if state.hardfork >= 14 and witness.signing_key == NULL_KEY:
            continue
        selected.setdefault(witness.owner, TIMESHARE)
    return now, processed


def new_laps(state: State, now: int, processed: list[Witness]) -> int:
    """Start a new lap for the witnesses that finished one. Return the virtual time, 0 after an overflow, which restarts all laps."""
    for witness in processed:
        time = (now + time_for(LAP_LENGTH, witness.votes)) % WORD128
        if time < now:
            reset_virtual_schedule(state)
            return 0
        state.witnesses.modify(witness, virtual_position=0, virtual_last_update=now, virtual_scheduled_time=time)
    return now


def reset_virtual_schedule(state: State) -> None:
    """Set the virtual time to 0, and let every witness start a new lap."""
    state.witness_schedules.modify(state.schedule, current_virtual_time=0)
    for witness in list(state.witnesses):
        state.witnesses.modify(
            witness, virtual_position=0, virtual_last_update=0, virtual_scheduled_time=time_for(LAP_LENGTH, witness.votes)
        )


def update_early_schedule(state: State) -> None:
    """Before hardfork 4: make a round of the top witnesses, one runner-up by virtual time, and miners from the queue.

    In the first month, while miners are queued, the round has only miners.
    """
    schedule, props = state.schedule, state.props
    by_votes = props.num_pow_witnesses == 0 or props.head_block_number > COIN_START_MINER_VOTING_BLOCK
    names: list[str] = []
    now = 0
    if by_votes:
        top = [witness for witness in state.witnesses.by_vote_name if witness.pow_worker == 0][: schedule.max_voted_witnesses]
        for witness in top:
            names.append(witness.owner)
            state.witnesses.modify(witness, virtual_scheduled_time=LAP_LENGTH)
        runner = next((w for w in state.witnesses.by_schedule_time if w.pow_worker == 0), None)
        if runner is not None:
            # If there are no others, the runner-up is a top witness and is in the round twice.
            names.append(runner.owner)
            now = 0 if runner.virtual_scheduled_time == LAP_LENGTH else runner.virtual_scheduled_time
            time = (runner.virtual_scheduled_time + time_for(lap_length(state), runner.votes)) % WORD128
            state.witnesses.modify(runner, virtual_position=0, virtual_scheduled_time=time)
    if props.num_pow_witnesses > COIN_MAX_WITNESSES:
        first = next(iter(state.witnesses.by_pow.starting(1)))
        state.witnesses.modify(first, pow_worker=0)
        state.set_props(num_pow_witnesses=props.num_pow_witnesses - 1)
    for witness in state.witnesses.by_pow.starting(1):
        names.append(witness.owner)
        if props.head_block_number > COIN_START_MINER_VOTING_BLOCK or len(names) >= COIN_MAX_WITNESSES:
            break
    # The reference evaluates `by_votes` again here. The result is the same: before a miner was taken from the queue, it had more than 21
    # miners, so it can't be empty now.
    count = max(len(names), 1)
    names = shuffled(names, state.head_time)
    state.witness_schedules.modify(
        schedule,
        current_shuffled_witnesses=padded(names),
        num_scheduled_witnesses=count,
        next_shuffle_block_num=props.head_block_number + count,
        **({"current_virtual_time": now} if by_votes else {}),
    )


def padded(names: list[str]) -> tuple[str, ...]:
    """Return the 21 positions of a round, padded with empty names."""
    return tuple(names) + ("",) * (COIN_MAX_WITNESSES - len(names))


def shuffled(names: list[str], time: int) -> list[str]:
    """Return the order of a round: a Fisher-Yates shuffle with xorshift* numbers from the head block's time and the position."""
    high, n = time << 32, len(names)
    names = list(names)
    for i in range(n):
        k = (high + i * SHUFFLE_FACTOR) & UINT64_MAX
        k ^= k >> 12
        k ^= (k << 25) & UINT64_MAX
        k ^= k >> 27
        k = (k * SHUFFLE_FACTOR) & UINT64_MAX
        j = i + k % (n - i)
        names[i], names[j] = names[j], names[i]
    return names


def scheduled(state: State) -> list[Witness]:
    """Return the witnesses of the stored round."""
    schedule = state.schedule
    return [state.witness(name) for name in schedule.current_shuffled_witnesses[: schedule.num_scheduled_witnesses]]


def majority_version(state: State) -> int:
    """Return the highest version such that 17 witnesses of the round run it or a later one.

    If there is none, return the previous majority version.
    """
    running = Counter(witness.running_version for witness in scheduled(state))
    total = 0
    for version in sorted(running, reverse=True):
        total += running[version]
        if total >= state.schedule.hardfork_required_witnesses:
            return version
    return state.schedule.majority_version


def update_hardfork_votes(state: State) -> None:
    """Store the next hardfork and its time, if 17 witnesses of the round vote for them. Otherwise, there is no next hardfork."""
    votes = Counter((witness.hardfork_version_vote, witness.hardfork_time_vote) for witness in scheduled(state))
    hardforks = state.hardforks
    for vote in sorted(votes):
        if votes[vote] >= state.schedule.hardfork_required_witnesses:
            if (hardforks.next_hardfork, hardforks.next_hardfork_time) != vote:
                state.hardfork_properties.modify(hardforks, next_hardfork=vote[0], next_hardfork_time=vote[1])
            return
    state.hardfork_properties.modify(hardforks, next_hardfork=hardforks.current_hardfork_version)


def update_median_properties(state: State) -> None:
    """Set each chain property to the median of the values that the new round's witnesses propose."""
    active = scheduled(state)
    middle = len(active) // 2

    def median(values: list[int]) -> int:
        return sorted(values)[middle]

    props = ChainProperties(
        account_creation_fee=median([w.props.account_creation_fee for w in active]),
        maximum_block_size=median([w.props.maximum_block_size for w in active]),
        sbd_interest_rate=median([w.props.sbd_interest_rate for w in active]),
        account_subsidy_budget=median([w.props.account_subsidy_budget for w in active]),
        account_subsidy_decay=median([w.props.account_subsidy_decay for w in active]),
    )
    pool = median([w.available_witness_account_subsidies for w in active])
    budget, decay = props.account_subsidy_budget, props.account_subsidy_decay
    witness_rd = witness_params(budget, decay)
    state.witness_schedules.modify(
        state.schedule,
        median_props=props,
        account_subsidy_rd=subsidy_params(budget, decay, state.schedule.account_subsidy_rd.min_decay),
        account_subsidy_witness_rd=witness_params(budget, decay, backstop_decay(witness_rd, pool)),
    )
    state.set_props(maximum_block_size=props.maximum_block_size, sbd_interest_rate=props.sbd_interest_rate)
