"""`Authority`: keys and accounts with weights. authorization/signatures_check.py checks signatures against an authority."""

from typing import Annotated

from msgspec import Struct

from state.protocol.codec.kinds import Bounded, Int, Key, Pairs, UInt32
from state.protocol.errors import require
from state.protocol.values.text import is_valid_account_name


class Authority(Struct, frozen=True, gc=False):
    """Weights of accounts and keys, both in ascending order of members, and the threshold that the approving members must reach."""

    weight_threshold: UInt32 = 0
    account_auths: Annotated[tuple[tuple[str, int], ...], Pairs(Bounded(16), Int(16))] = ()
    key_auths: Annotated[tuple[tuple[bytes, int], ...], Pairs(Key(), Int(16))] = ()

    @property
    def is_impossible(self) -> bool:
        """Whether the sum of all weights is below the threshold."""
        return sum(w for _, w in self.account_auths) + sum(w for _, w in self.key_auths) < self.weight_threshold

    @property
    def members(self) -> int:
        """The number of accounts and keys."""
        return len(self.account_auths) + len(self.key_auths)

    def validate(self) -> None:
        """Refuse an authority with an invalid account name."""
        for name, _ in self.account_auths:
            require(is_valid_account_name(name), condition="is_valid_account_name( item.first )")


def key_authority(key: bytes) -> Authority:
    """Return the authority of a single key."""
    return Authority(1, (), ((key, 1),))
