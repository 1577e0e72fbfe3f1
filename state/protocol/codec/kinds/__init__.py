"""Field kinds and their annotation names, for declarations of operations and records."""

from typing import Annotated

from state.protocol.codec.kinds.base import Codecs, Dump, Kind, Pack, Parse, Unpack, as_it_is, pack_length, unpack_count, unpack_length
from state.protocol.codec.kinds.containers import Many, Maybe, Pairs
from state.protocol.codec.kinds.money import AssetKind, CoinFee, CoinFeeKind, PriceKind, SymbolKind, asset_from_nai
from state.protocol.codec.kinds.scalars import Choice, Fixed, Flag, Hash, Int, Key, Release, Seconds, ShareAmount, Wide
from state.protocol.codec.kinds.texts import Blob, Bounded, String
from state.protocol.codec.kinds.variants import NO_SUCH_TYPE, ChainVariant, Tagged, Variant, Void, split_tag, type_and_value, variant_tag
from state.protocol.errors import NotCanonical
from state.protocol.values.asset import Asset

Int8 = Annotated[int, Int(8, signed=True)]
Int16 = Annotated[int, Int(16, signed=True)]
Int32 = Annotated[int, Int(32, signed=True)]
Int64 = Annotated[int, Int(64, signed=True)]
UInt8 = Annotated[int, Int(8)]
UInt16 = Annotated[int, Int(16)]
UInt32 = Annotated[int, Int(32)]
UInt64 = Annotated[int, Int(64)]
UInt128 = Annotated[int, Wide()]
Share = Annotated[int, ShareAmount()]
Bool = Annotated[bool, Flag()]
Time = Annotated[int, Seconds()]
Text = Annotated[str, String()]
AccountName = Annotated[str, Bounded(16)]
CustomId = Annotated[str, Bounded(32)]
Data = Annotated[bytes, Blob()]
Hash160 = Annotated[bytes, Hash(20)]
Hash256 = Annotated[bytes, Hash(32)]
Signature = Annotated[bytes, Hash(65)]
PublicKey = Annotated[bytes, Key()]
Symbol = Annotated[int, SymbolKind()]
Version = Annotated[int, Release()]
HardforkVersion = Annotated[int, Release(0xFFFF0000)]
Names = Annotated[tuple[str, ...], Many(Bounded(16), ascending=True)]
NaiAsset = Annotated[Asset, AssetKind(nai_only=True)]
Extensions = Annotated[tuple[Void, ...], Many(Variant(("void_t", Void), legacy_pairs=True), ascending=True)]
Curve = Annotated[
    int,
    Choice(
        "coin::protocol::curve_id", "quadratic", "bounded_curation", "linear", "square_root", "convergent_linear", "convergent_square_root"
    ),
]

__all__ = [
    "NO_SUCH_TYPE",
    "AccountName",
    "AssetKind",
    "Blob",
    "Bool",
    "Bounded",
    "ChainVariant",
    "Choice",
    "Codecs",
    "CoinFee",
    "CoinFeeKind",
    "Curve",
    "CustomId",
    "Data",
    "Dump",
    "Extensions",
    "Fixed",
    "Flag",
    "HardforkVersion",
    "Hash",
    "Hash160",
    "Hash256",
    "Int",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Key",
    "Kind",
    "Many",
    "Maybe",
    "NaiAsset",
    "Names",
    "NotCanonical",
    "Pack",
    "Pairs",
    "Parse",
    "PriceKind",
    "PublicKey",
    "Release",
    "Seconds",
    "Share",
    "ShareAmount",
    "Signature",
    "String",
    "Symbol",
    "SymbolKind",
    "Tagged",
    "Text",
    "Time",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt128",
    "Unpack",
    "Variant",
    "Version",
    "Void",
    "Wide",
    "as_it_is",
    "asset_from_nai",
    "pack_length",
    "split_tag",
    "type_and_value",
    "unpack_count",
    "unpack_length",
    "variant_tag",
]
