"""Writes a rosbag2 while messages arrive: a crash or a full disk costs the last seconds only."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rosbags.rosbag2 import Writer

from delama_ros.errors import UserError

VERSION = 9  # of rosbag2's metadata


class _Committed:
    """A storage that stays open: when the writer closes it, what was written is committed."""

    def __init__(self, storage: Any) -> None:
        self.path = storage.path
        self._storage = storage

    def close(self, version: int, metadata: str) -> None:
        """Make durable what was written."""
        self._storage.conn.commit()


class Recording(Writer):
    """A bag in sqlite3 that is complete after every `flush`; a UserError names what is wrong."""

    storage: Any

    def __init__(self, path: Path) -> None:
        """Create the bag; its folder must not exist yet."""
        super().__init__(path, version=VERSION)
        try:
            with self._reported():
                self.open()
                # Pages reach the file in commits alone, so that it is never half-written.
                self.storage.conn.execute('PRAGMA cache_spill = OFF')
        except UserError:
            shutil.rmtree(path, ignore_errors=True)
            raise

    def write(self, connection: Any, timestamp: int, data: bytes | memoryview) -> None:
        """Write a message; it is safe after the next `flush`."""
        with self._reported():
            super().write(connection, timestamp, data)

    def flush(self) -> None:
        """Commit all messages, and write the metadata that readers need."""
        storage = self.storage
        with self._reported():
            self.storage = _Committed(storage)
            try:
                super().close()
            finally:
                self.storage = storage

    def close(self) -> None:
        """Complete the bag; messages that do not fit on the disk any more are lost."""
        with self._reported():
            try:
                super().close()
            finally:
                if self.storage is not None:
                    self.abort()

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            with suppress(OSError):
                self.metapath.with_suffix('.yaml.tmp').unlink(missing_ok=True)
            reason = getattr(error, 'strerror', None) or error
            raise UserError(f'bag {self.path} cannot be written: {reason}') from error
