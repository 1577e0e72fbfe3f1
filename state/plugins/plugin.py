"""`Plugin`, the declaration of an optional index, and `bound`, which passes a plugin's data to its listeners."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct

from state.portable import Batch
from state.store.rows import Copying
from state.store.serializers import SnapshotPart
from state.tables import State

Data = TypeVar("Data")
Event = TypeVar("Event")


class Plugin(Struct, Generic[Data], frozen=True):
    """A plugin, generic in the type of its data: `FOLLOW: Plugin[FollowIndex]`.

    `name` is its name in chain specs, `--enable` and `--disable`. `install(state)` creates its tables on a state at genesis, registers its
    listeners and returns its data, an instance of `keeps`. `serves` names the groups of RPC methods that need this plugin. A method of
    condenser_api that reads the plugin declares this individually.

    `uses` are the plugins whose data this plugin reads if they are enabled. They precede it in the registry, so that they are installed
    first. No plugin requires another one.

    `parts(state, data)` returns the snapshot parts by attribute. A name with a slash belongs to another plugin that has the same data when
    enabled. `unsaved` are the attributes that a snapshot omits: values that are computed from other attributes, values that last for one
    operation or block, and values set by the installation. `on_restored(data)` is called after the parts are restored, and after the chain
    has returned to a savepoint in memory.

    `import_rows(state, data, batch)` adds the portable rows of the plugin's sections, and derives what they lack from the accounts and
    comments of the batch. It is called after the state's own rows were added. Rows that are here already don't change. It raises ValueError
    for invalid rows. `export_rows(state, data)` returns the portable rows of the plugin's data.

    `warm_up_reads(state, data)` returns incremental reads, which a node makes after its start so that the first client needn't wait.
    """

    name: str
    keeps: type[Data]
    install: Callable[[State], Data]
    serves: tuple[str, ...] = ()
    uses: tuple["Plugin[Any]", ...] = ()
    parts: Callable[[State, Data], dict[str, SnapshotPart]] = lambda state, kept: {}
    unsaved: tuple[str, ...] = ()
    on_restored: Callable[[Data], None] = lambda kept: None
    warm_up_reads: Callable[[State, Data], Sequence[Callable[[], object]]] = lambda state, kept: ()
    import_rows: Callable[[State, Data, Batch], None] = lambda state, kept, batch: None
    export_rows: Callable[[State, Data], Batch] = lambda state, kept: {}

    def sections(self, state: State) -> dict[str, SnapshotPart]:
        """Return the snapshot parts of the plugin's data, by full name."""
        return {name if "/" in name else f"{self.name}/{name}": part for name, part in self.parts(state, self.of(state)).items()}

    def enable(self, state: State) -> None:
        """Install the plugin on a state at genesis."""
        kept = self.install(state)
        assert isinstance(kept, self.keeps), f"{self.name} must keep a {self.keeps.__name__}"
        state.plugins[self.name] = kept
        parts: list[SnapshotPart] = []

        def keeping() -> Copying:
            # Created once, because that reads declarations, and only on demand, because few chains need them.
            if not parts:
                parts.extend(self.parts(state, kept).values())
            put_back = []
            for part in parts:
                put_back.append((yield from part.copying()))

            def all_back() -> None:
                for each in put_back:
                    each()
                    state.journal.on_undone()

            return all_back

        state.keepers.append(keeping)
        state.on_restored.append(lambda: self.on_restored(kept))
        state.listeners.on_import.append(lambda batch: self.import_rows(state, kept, batch))
        state.listeners.on_export.append(lambda: self.export_rows(state, kept))

    def is_on(self, state: State) -> bool:
        """Whether the plugin is enabled on this state."""
        return self.name in state.plugins

    def of(self, state: State) -> Data:
        """Return the plugin's data on this state. The plugin must be enabled."""
        # `enable` has checked the type, so reads need no check.
        kept: Data = state.plugins[self.name]
        return kept

    def find(self, state: State) -> Data | None:
        """Return the plugin's data on this state, or None if the plugin isn't enabled."""
        kept: Data | None = state.plugins.get(self.name)
        return kept


def ranged(values: Iterable[int], least: int, most: int) -> None:
    """Raise ValueError unless all of these numbers of portable rows are between `least` and `most`."""
    for value in values:
        if not least <= value <= most:
            raise ValueError(f"the number {value} is not between {least} and {most}")


def bound(listener: Callable[[State, Data, Event], None], kept: Data) -> Callable[[State, Event], None]:
    """Return a listener of (state, event) that calls `listener(state, kept, event)`.

    If listeners called `Plugin.of` instead, the modules with the rules would import the plugin's declaration, which imports them.
    """

    def call(state: State, event: Event) -> None:
        listener(state, kept, event)

    return call
