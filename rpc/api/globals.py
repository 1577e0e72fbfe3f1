"""What is told of the chain as a whole, and of the node. Source: rpc-api.md §3.2.2, §3.7, §3.12, §2.4."""

from functools import lru_cache
from typing import Annotated, TypedDict

from rpc.records.chain import (
    DynamicGlobalProperties,
    FeedHistory,
    HardforkProperties,
    MedianProperties,
    NodeVersion,
    ReserveRatio,
    RewardFund,
    ScheduledHardfork,
)
from rpc.service.arguments import Text
from rpc.service.method import method
from rpc.service.show import Json, Of, Show
from state.protocol.config import config_object
from state.protocol.errors import require
from state.protocol.spec import ChainSpec
from state.protocol.values.asset import Price
from state.protocol.values.text import version_text
from state.tables import State

REVISION = "unknown"
CONFIGS_KEPT_MAX = 8

PropertiesJson = Annotated[Json, Of(DynamicGlobalProperties)]
MedianJson = Annotated[Json, Of(MedianProperties)]
FeedJson = Annotated[Json, Of(FeedHistory)]
HardforkJson = Annotated[Json, Of(HardforkProperties)]
ScheduledJson = Annotated[Json, Of(ScheduledHardfork)]
VersionJson = Annotated[Json, Of(NodeVersion)]
PriceJson = Annotated[Json, Of(Price)]
FundJson = Annotated[Json, Of(RewardFund)]
ReserveJson = Annotated[Json, Of(ReserveRatio)]


class RewardFunds(TypedDict):
    """Reward funds under their name."""

    funds: list[FundJson]


@method("database_api.get_config")
@method("condenser_api.get_config")
def get_config(state: State) -> Json:
    """All constants of the chain."""
    return config_of(state.spec)


@lru_cache(CONFIGS_KEPT_MAX)
def config_of(spec: ChainSpec) -> Json:
    """The constants of a chain, made once; nobody may change the object."""
    return config_object(spec)


@method("database_api.get_version")
@method("condenser_api.get_version")
def get_version(state: State, show: Show, /) -> VersionJson:
    """The version of the reference that this node is equal to; it has no source revisions to tell."""
    spec = state.spec
    version: Json = show(NodeVersion, NodeVersion(spec.constants.COIN_BLOCKCHAIN_VERSION, REVISION, REVISION, spec.chain_id))
    return version


@method("database_api.get_dynamic_global_properties")
@method("condenser_api.get_dynamic_global_properties")
def get_dynamic_global_properties(state: State, show: Show, /) -> PropertiesJson:
    """Head block, supplies and the other numbers that change with every block."""
    shown: Json = show(DynamicGlobalProperties, state.props)
    if not state.spec.smt:
        shown.pop("smt_creation_fee", None)
    return shown


@method("witness_api.get_reserve_ratio")
def get_reserve_ratio(state: State, show: Show, /) -> ReserveJson:
    """How large blocks are, and the bandwidth that this left to accounts by the rules of release 0.20.2."""
    ratio: Json = show(ReserveRatio, state.props)
    return ratio


@method("condenser_api.get_chain_properties")
def get_chain_properties(state: State, show: Show, /) -> MedianJson:
    """The medians of what the witnesses vote for."""
    shown: Json = show(MedianProperties, state.schedule.median_props)
    return shown


@method("database_api.get_current_price_feed")
@method("condenser_api.get_current_median_history_price")
def get_current_price_feed(state: State, show: Show, /) -> PriceJson:
    """The median price, SBD / COIN; zero while there is none."""
    price: Json = show(Price, state.feed.current_median_history)
    return price


@method("database_api.get_feed_history")
@method("condenser_api.get_feed_history")
def get_feed_history(state: State, show: Show, /) -> FeedJson:
    """The median price and those before it, oldest first."""
    history: Json = show(FeedHistory, state.feed)
    return history


@method("database_api.get_hardfork_properties")
@method("debug_node_api.debug_get_hardfork_property_object", loopback_only=True)
def get_hardfork_properties(state: State, show: Show, /) -> HardforkJson:
    """The hardforks that have been applied, and what the witnesses want next."""
    hardforks: Json = show(HardforkProperties, state.hardforks)
    return hardforks


@method("condenser_api.get_hardfork_version")
def get_hardfork_version(state: State) -> str:
    """The version of the last hardfork that has been applied."""
    return version_text(state.hardforks.current_hardfork_version)


@method("condenser_api.get_next_scheduled_hardfork")
def get_next_scheduled_hardfork(state: State, show: Show, /) -> ScheduledJson:
    """The next hardfork and its time; the current one when nothing is scheduled."""
    scheduled: Json = show(ScheduledHardfork, state.hardforks)
    return scheduled


@method("database_api.get_reward_funds")
def get_reward_funds(state: State, show: Show, /) -> RewardFunds:
    """The funds that pay content."""
    return {"funds": show.each(RewardFund, state.reward_funds)}


@method("condenser_api.get_reward_fund")
def get_reward_fund(state: State, show: Show, /, name: Text) -> FundJson:
    """A fund that pays content, by its name; an unknown one is refused."""
    fund = state.reward_funds.by_name.get(name)
    require(fund is not None, "Invalid reward fund name", condition="fund != nullptr")
    shown: Json = show(RewardFund, fund)
    return shown
