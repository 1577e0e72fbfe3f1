"""Kinds of fields that only replies have, on their way out of the codec."""

from state.protocol.codec.shown import Always as Always
from state.protocol.codec.shown import Amount as Amount
from state.protocol.codec.shown import At as At
from state.protocol.codec.shown import Big as Big
from state.protocol.codec.shown import BigText as BigText
from state.protocol.codec.shown import CoinAmount as CoinAmount
from state.protocol.codec.shown import DebtAmount as DebtAmount
from state.protocol.codec.shown import MaybeAt as MaybeAt
from state.protocol.codec.shown import Real as Real
from state.protocol.codec.shown import RealNumber as RealNumber
from state.protocol.codec.shown import VestsAmount as VestsAmount
from state.protocol.codec.shown import Whole as Whole
