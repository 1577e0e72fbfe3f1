"""Publishes changes of this process's chain to the readers, in one message after each job of the processor.

The code is synchronous. Some changes, for example a restored dev snapshot or a loaded dump, can't be expressed as blocks, state edits and
pending transactions. After such a change all readers load a dump.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from node.devchain.devchain import DevChain
from node.devchain.savepoints import DevSettings
from node.ipc.channel import Channel, framed
from node.replicas.readers.messages import Changes, PendingTransaction, Sync
from node.runtime.forked_child import ChildFailed, ForkedChild
from rpc.log import Log
from rpc.push.events import BlocksRemoved, encode_line, new_block
from state.chain.chain import Chain
from state.chain.head_change import HeadChange
from state.chain.state_edits import StateEdit
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction

_log = Log("readers")


class Publisher:
    """Sends changes of a chain over the readers' channels. `number` counts the messages.

    Dumps are written in forked children, made by `fork`, and readers wait for the files. `_loading` contains, for each channel, the folders
    of the dumps that its reader has not loaded yet.
    """

    def __init__(self, chain: Chain, devchain: DevChain, fork: Callable[[Callable[[], object]], ForkedChild]) -> None:
        self.number = 0
        self._chain, self._devchain, self._fork = chain, devchain, fork
        self._children: list[tuple[ForkedChild, list[Channel]]] = []
        self._channels: dict[Channel, None] = {}
        self._loading: dict[Channel, list[Path]] = {}
        self._lines: list[bytes] = []
        self._refused: list[bytes] = []
        self._needs_sync = False
        self._pending: Sequence[SignedTransaction] = ()
        self._count = 0
        self._known: set[bytes] = set()
        self._settings: DevSettings | None = None
        chain.on_head_change.append(self._on_head_change)
        chain.sidecars.on_added.append(self._on_edit)
        devchain.before_restore.append(self._before_restore)

    def add(self, channel: Channel) -> None:
        """Send a reader the current chain, and from now on every change. The caller must be in a job of the processor. Raises OSError and
        NodeError.
        """
        self.flush()
        self._channels[channel] = None
        self._sync([channel])

    def remove(self, channel: Channel) -> None:
        """Stop sending changes to a reader."""
        self._channels.pop(channel, None)
        # A killed reader hasn't removed its folders.
        for folder in self._loading.pop(channel, ()):
            shutil.rmtree(folder, ignore_errors=True)

    def loaded(self, channel: Channel) -> None:
        """Record that a reader has loaded a dump."""
        if self._loading.get(channel):
            self._loading[channel].pop(0)

    def check_dumps(self) -> None:
        """Close the channels whose dump could not be written. Call this periodically."""
        for each in self._children.copy():
            child, channels = each
            if (status := child.status()) is None:
                continue
            self._children.remove(each)
            if status:
                self._failed(channels, child.message())
            child.close()

    def is_loading(self, channel: Channel | None) -> bool:
        """Whether a reader is loading a dump, during which it sends nothing."""
        return channel is not None and bool(self._loading.get(channel))

    def refuse(self, notice: bytes) -> None:
        """Queue the notice of a refusal, which the next flush sends to the readers."""
        if self._channels:
            self._refused.append(notice)

    def flush(self) -> None:
        """Send the readers the changes since the last flush."""
        if not self._channels:
            self._lines.clear()
            self._refused.clear()
            self._needs_sync = False
            return
        if self._needs_sync:
            self._lines.clear()
            self._sync(list(self._channels))
            return
        replaced, added = self._pending_changes()
        settings = self._devchain.portable_settings()
        if not (self._lines or added or self._refused) and replaced is None and settings == self._settings:
            return
        self.number += 1
        changed = None if settings == self._settings else settings
        changes = Changes(self.number, tuple(self._lines), replaced, added, changed, tuple(self._refused))
        self._lines.clear()
        self._refused.clear()
        self._settings = settings
        data = framed(changes)
        for channel in self._channels:
            channel.send_framed(data)

    # -------------------------------------------------------------- changes

    def _on_head_change(self, change: HeadChange) -> None:
        if not self._channels or self._needs_sync:
            return
        if change.popped:
            self._lines.append(encode_line(BlocksRemoved(change.popped[-1].number, change.popped[0].number)))
        for block in change.applied:
            self._lines.append(encode_line(new_block(self._chain, block)))

    def _on_edit(self, block_id: bytes, edit: StateEdit) -> None:
        head = self._chain.head
        if self._channels and not self._needs_sync and head is not None and head.id == block_id:
            self._lines.append(encode_line(new_block(self._chain, head)))

    def _before_restore(self) -> None:
        self._needs_sync = True

    def _pending_changes(self) -> tuple[tuple[PendingTransaction, ...] | None, tuple[bytes, ...]]:
        """Return the changes of the list of pending transactions: the new list or, if it was only extended, None and the added
        transactions.
        """
        pending, pack = self._chain.pending, self._chain.state.wire.pack_transaction
        replaced: tuple[PendingTransaction, ...] | None = None
        added: tuple[bytes, ...] = ()
        # After blocks were undone, the list can be the same while its transactions are no longer applied.
        if pending is self._pending and len(pending) >= self._count and not self._lines:
            new = pending[self._count :]
            added = tuple(map(pack, new))
            self._known.update(trx.id for trx in new)
        elif pending or self._known or self._lines:
            replaced = self._describe_pending(pending, self._known)
            self._known = {trx.id for trx in pending}
        self._pending, self._count = pending, len(pending)
        return replaced, added

    def _describe_pending(self, pending: Sequence[SignedTransaction], known: set[bytes]) -> tuple[PendingTransaction, ...]:
        applied, pack = self._chain.state.transactions.by_trx_id, self._chain.state.wire.pack_transaction
        return tuple(PendingTransaction(trx.id, b"" if trx.id in known else pack(trx), applied.get(trx.id) is not None) for trx in pending)

    # -------------------------------------------------------------- the whole chain

    def _sync(self, channels: list[Channel]) -> None:
        """Make the readers of these channels load a dump of the current chain."""
        self.number += 1
        try:
            paths = []
            for channel in channels:
                paths.append(Path(tempfile.mkdtemp(prefix="coind-reader-")) / "dump")  # private to this user
                self._loading.setdefault(channel, []).append(paths[-1].parent)
            # Loading a dump applies all pending transactions. This list marks the ones that must not be applied.
            pending = self._describe_pending(self._chain.pending, set())
            sidecars = self._chain.sidecars.encode()
            self._children.append((self._fork(partial(self._write, paths)), channels))
            for channel, path in zip(channels, paths, strict=True):
                channel.send(Sync(self.number, str(path), sidecars, self._devchain.portable_settings(), pending))
        except (ChildFailed, ChainError, OSError) as error:
            self._failed(channels, str(error))
        self._needs_sync = False
        self._pending, self._count = self._chain.pending, len(self._chain.pending)
        self._known = {trx.id for trx in self._chain.pending}
        self._settings = self._devchain.portable_settings()

    def _write(self, paths: list[Path]) -> None:
        """Write a dump, in a forked child. Each of the paths exists only when its file is complete."""
        first, *others = paths
        written = first.with_name("written")
        self._devchain.dump(str(written))
        for path in others:
            os.link(written, path)
        written.replace(first)

    def _failed(self, channels: list[Channel], reason: str) -> None:
        _log.warning("can't send the chain to readers", reason=reason)
        for channel in channels:
            channel.close()
            self.remove(channel)
