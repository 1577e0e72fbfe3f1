"""rewards_api: simulates payouts with another reward curve, for experiments. Source: rpc-api.md §3.13."""

from rpc.declare.method import method
from rpc.declare.plugin_switches import REWARDS_API
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.plugins import PayoutRecord, SimulationRecord
from state.effects.curves import curve_value
from state.protocol.codec.kinds import Curve, UInt128
from state.protocol.errors import existing, require
from state.protocol.values.integers import INT64_MAX
from state.tables import State

FUND = "post"
CLAIMS_MAX = 2**127


@method("rewards_api.simulate_curve_payouts", plugin=REWARDS_API, record=SimulationRecord)
def simulate_curve_payouts(state: State, show: RecordEncoder, /, curve: Curve, var1: UInt128) -> Json:
    """Return the payouts of all pending comments if the reward fund used `curve` with the constant `var1`."""
    return show(SimulationRecord, simulate(state, curve, var1))


def simulate(state: State, curve: int, constant: int) -> SimulationRecord:
    """Simulate how another curve would divide the reward fund. The fund's recent claims are scaled by the same factor as the pending
    claims.
    """
    comments = [comment for comment in state.comments.by_due_payout if comment.net_rshares > 0]
    if not comments:
        return SimulationRecord(0, ())
    fund = existing(state.reward_funds.by_name.get(FUND), "Invalid reward fund name", condition="fund != nullptr")
    simulated = [curve_value(curve, comment.net_rshares, constant) for comment in comments]
    current = sum(curve_value(fund.author_reward_curve, comment.net_rshares, fund.content_constant) for comment in comments)
    require(current > 0, "The pending comments have no claims on the fund", condition="sum_current_curve_vshares > 0")
    claims = (fund.recent_claims + current) * sum(simulated) // current
    require(claims > 0, "The pending comments would have no claims on the fund", condition="simulated_recent_claims > 0")
    fits = "( simulated_recent_claims_u256 >> 64 ) <= u256( uint64_t( std::numeric_limits<int64_t>::max() ) )"
    require(claims < CLAIMS_MAX, condition=fits)
    amounts = [fund.reward_balance * value // claims for value in simulated]
    require(max(amounts) <= INT64_MAX, condition="payout_u256 <= u256( uint64_t( std::numeric_limits<int64_t>::max() ) )")
    payouts = [PayoutRecord(comment.author, comment.permlink, amount) for comment, amount in zip(comments, amounts, strict=True)]
    return SimulationRecord(claims - sum(simulated), tuple(payouts))
