"""`Plugin`, the declaration of an index that a node can switch on, and the tie between its listeners and its data.

Nothing here knows which plugins there are: state/plugins/registry.py does.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct

from state.store.parts import Part
from state.store.rows import Keeping
from state.tables import State

Kept = TypeVar("Kept")
Event = TypeVar("Event")


def no_parts(state: State, kept: Any) -> dict[str, Part]:
    """Return the parts of a plugin without any."""
    return {}


def no_reads(state: State, kept: Any) -> Sequence[Callable[[], object]]:
    """Return the reads of a plugin whose data is always ready."""
    return ()


def nothing_to_do(kept: Any) -> None:
    """Leave a plugin's data as its parts have left it."""


class Plugin(Struct, Generic[Kept], frozen=True):
    """A plugin, generic in the type of its data: `FOLLOW: Plugin[FollowIndex]`.

    `name` is what chain specs, `--enable` and `--disable` call it. `install(state)` makes its tables on a state at genesis,
    registers its listeners and returns its data, an instance of `keeps`. `serves` names the groups of RPC methods that
    exist for this plugin; methods of condenser_api that read it say so one by one.

    `uses` are plugins whose data it reads where they are on. It works without them, and then lacks only what they know;
    no plugin requires another. They stand before it in the registry, so that they are installed when it looks for them.

    `parts(state, data)` are what a snapshot holds of the data, by attribute; a name with a slash in it is one of another plugin, which
    holds the same thing when it is on. `passing` are the attributes that a snapshot leaves out: what is computed from the others,
    what lasts for one operation or block, and what the installation has set. `restored(data)` is called when the parts are in place,
    also when the chain has returned to a checkpoint.

    `ahead(state, data)` returns the reads that a node makes after its start, in slices: else the first client would wait long for them.
    """

    name: str
    keeps: type[Kept]
    install: Callable[[State], Kept]
    serves: tuple[str, ...] = ()
    uses: tuple["Plugin[Any]", ...] = ()
    parts: Callable[[State, Kept], dict[str, Part]] = no_parts
    passing: tuple[str, ...] = ()
    restored: Callable[[Kept], None] = nothing_to_do
    ahead: Callable[[State, Kept], Sequence[Callable[[], object]]] = no_reads

    def sections(self, state: State) -> dict[str, Part]:
        """Return the parts of the plugin's data on this state, by their full names."""
        return {name if "/" in name else f"{self.name}/{name}": part for name, part in self.parts(state, self.of(state)).items()}

    def enable(self, state: State) -> None:
        """Install the plugin on a state at genesis."""
        kept = self.install(state)
        assert isinstance(kept, self.keeps), f"{self.name} must keep a {self.keeps.__name__}"
        state.plugins[self.name] = kept
        parts: list[Part] = []

        def keeping() -> Keeping:
            # Made once, as they read declarations; not at once, since few chains need them.
            if not parts:
                parts.extend(self.parts(state, kept).values())
            put_back = []
            for part in parts:
                put_back.append((yield from part.keeping()))

            def all_back() -> None:
                for each in put_back:
                    each()

            return all_back

        state.keepers.append(keeping)
        state.on_put_back.append(lambda: self.restored(kept))

    def is_on(self, state: State) -> bool:
        """Whether the plugin is enabled on this state."""
        return self.name in state.plugins

    def of(self, state: State) -> Kept:
        """Return the plugin's data on this state; the plugin must be enabled."""
        # `enable` has checked the type once, so that readers need no cast and pay for no check.
        kept: Kept = state.plugins[self.name]
        return kept

    def find(self, state: State) -> Kept | None:
        """Return the plugin's data on this state, None when it isn't enabled."""
        kept: Kept | None = state.plugins.get(self.name)
        return kept


def bound(listener: Callable[[State, Kept, Event], None], kept: Kept) -> Callable[[State, Event], None]:
    """Return a listener of (state, event) that calls `listener` with the plugin's data in between.

    Listeners get their data this way rather than by `Plugin.of`: the modules with the rules then don't import the
    declaration, which imports them.
    """

    def call(state: State, event: Event) -> None:
        listener(state, kept, event)

    return call
