"""Global data of the chain and the node: constants, version, global properties, price, hardforks, reward funds. Source: rpc-api.md §3.2.2,
§3.7, §3.12, §2.4.
"""

from functools import lru_cache
from typing import Annotated

from rpc.declare.arguments import Example, Text
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.chain import (
    DynamicGlobalPropertiesRecord,
    FeedHistoryRecord,
    HardforkPropertiesRecord,
    MedianPropertiesRecord,
    NodeVersionRecord,
    ReserveRatioRecord,
    RewardFundRecord,
    ScheduledHardforkRecord,
)
from state.protocol.config import config_object
from state.protocol.errors import require
from state.protocol.spec import ChainSpec
from state.protocol.values.asset import Price
from state.protocol.values.text import version_text
from state.tables import State

REVISION = "unknown"
CONFIGS_KEPT_MAX = 8

PropertiesJson = Annotated[Json, ShowsRecord(DynamicGlobalPropertiesRecord)]
PriceJson = Annotated[Json, ShowsRecord(Price)]


@method("database_api.get_config")
@method("condenser_api.get_config")
def get_config(state: State) -> Json:
    """Return all constants of the chain."""
    return config_of(state.spec)


@lru_cache(CONFIGS_KEPT_MAX)
def config_of(spec: ChainSpec) -> Json:
    """Return the constants of a chain. The object is cached and must not be changed."""
    return config_object(spec)


@method("database_api.get_version", record=NodeVersionRecord)
@method("condenser_api.get_version", record=NodeVersionRecord)
def get_version(state: State, show: RecordEncoder, /) -> Json:
    """Return the version of the reference whose rules this node follows. The members for source revisions are empty."""
    spec = state.spec
    return show(NodeVersionRecord, NodeVersionRecord(spec.constants.COIN_BLOCKCHAIN_VERSION, REVISION, REVISION, spec.chain_id))


@method("database_api.get_dynamic_global_properties")
@method("condenser_api.get_dynamic_global_properties")
def get_dynamic_global_properties(state: State, show: RecordEncoder, /) -> PropertiesJson:
    """Return the head block, supplies and other values that change with every block."""
    shown: Json = show(DynamicGlobalPropertiesRecord, state.props)
    if not state.spec.smt:
        shown.pop("smt_creation_fee", None)
    return shown


@method("witness_api.get_reserve_ratio", record=ReserveRatioRecord)
def get_reserve_ratio(state: State, show: RecordEncoder, /) -> Json:
    """Return the average block size, and the bandwidth that the rules of release 0.20.2 would give to accounts at that size."""
    return show(ReserveRatioRecord, state.props)


@method("condenser_api.get_chain_properties", record=MedianPropertiesRecord)
def get_chain_properties(state: State, show: RecordEncoder, /) -> Json:
    """Return the chain properties in force: the medians of the values that the witnesses of this round vote for."""
    return show(MedianPropertiesRecord, state.schedule.median_props)


@method("database_api.get_current_price_feed")
@method("condenser_api.get_current_median_history_price")
def get_current_price_feed(state: State, show: RecordEncoder, /) -> PriceJson:
    """Return the median price in SBD per COIN. If there is none, both amounts of the price are 0."""
    return show(Price, state.feed.current_median_history)


@method("database_api.get_feed_history", record=FeedHistoryRecord)
@method("condenser_api.get_feed_history", record=FeedHistoryRecord)
def get_feed_history(state: State, show: RecordEncoder, /) -> Json:
    """Return the median price, and the earlier prices from which it is computed, oldest first."""
    return show(FeedHistoryRecord, state.feed)


@method("database_api.get_hardfork_properties", record=HardforkPropertiesRecord)
@method("debug_node_api.debug_get_hardfork_property_object", loopback_only=True, record=HardforkPropertiesRecord)
def get_hardfork_properties(state: State, show: RecordEncoder, /) -> Json:
    """Return the applied hardforks, and the next one that the witnesses vote for."""
    return show(HardforkPropertiesRecord, state.hardforks)


@method("condenser_api.get_hardfork_version")
def get_hardfork_version(state: State) -> str:
    """Return the version of the last applied hardfork."""
    return version_text(state.hardforks.current_hardfork_version)


@method("condenser_api.get_next_scheduled_hardfork", record=ScheduledHardforkRecord)
def get_next_scheduled_hardfork(state: State, show: RecordEncoder, /) -> Json:
    """Return the next hardfork and its time, or the current one if none is scheduled."""
    return show(ScheduledHardforkRecord, state.hardforks)


@method("database_api.get_reward_funds", key="funds", record=RewardFundRecord)
def get_reward_funds(state: State, show: RecordEncoder, /) -> list[Json]:
    """Return the funds that pay authors and curators."""
    return show.each(RewardFundRecord, state.reward_funds)


@method("condenser_api.get_reward_fund", record=RewardFundRecord)
def get_reward_fund(state: State, show: RecordEncoder, /, name: Annotated[Text, Example("post")]) -> Json:
    """Return the reward fund with this name. An unknown name is refused."""
    fund = state.reward_funds.by_name.get(name)
    require(fund is not None, "Invalid reward fund name", condition="fund != nullptr")
    return show(RewardFundRecord, fund)
