"""What a serialised message says of itself, read before anything is unpacked; and its seal.

DualVar and ModelParams begin alike, with the header and the label. In a swarm with a key 16 bytes
follow the serialised message, its seal: the beginning of HMAC-SHA256 of the message under the key.
The message names robot, step, phase and round, and a robot takes each of them once and only in the
step it belongs to: one that is recorded and sent again is refused.
"""

from __future__ import annotations

import hmac
import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

from delama_ros.core.agent.messages import Label

SEAL = 16  # bytes
LEAST_KEY, MOST_KEY = 16, 4096  # bytes of a key file
ORDER = {b'\x00\x00': '>', b'\x00\x01': '<'}  # first bytes of CDR → byte order
NAME, FRAME = 64, 255  # most bytes of a robot's name and of a frame of the header


@dataclass(frozen=True)
class Envelope:
    """The first fields of a message."""

    stamp: float  # s of the sender's clock
    frame: str
    label: Label


def read_envelope(data: bytes) -> Envelope:
    """Read the first fields of a serialised message.

    Raises:
        ValueError: if there are none.
    """
    order = ORDER.get(data[:2])
    if order is None:
        raise ValueError(f'{data[:4].hex()} at the beginning, expected CDR')
    body = data[4:]
    try:
        seconds, nanoseconds = struct.unpack_from(f'{order}iI', body)
        frame, at = _text(body, 8, order, FRAME)
        robot, at = _text(body, at, order, NAME)
        step, phase, number, fingerprint = struct.unpack_from(f'{order}QBxH4xQ', body, at + -at % 8)
    except struct.error:
        raise ValueError(f'{len(data)} bytes, too few for a header and a label') from None
    label = Label(robot, step, phase, number, fingerprint)
    return Envelope(seconds + 1e-9 * nanoseconds, frame, label)


def _text(body: bytes, at: int, order: str, longest: int) -> tuple[str, int]:
    """Return the text at a place, and the place behind it."""
    at += -at % 4
    (size,) = struct.unpack_from(f'{order}I', body, at)
    at += 4
    if not 1 <= size <= longest + 1 or at + size > len(body) or body[at + size - 1]:
        raise ValueError(f'a text of {size} bytes, expected 1 to {longest + 1}, the last one 0')
    return body[at : at + size - 1].decode(), at + size  # UnicodeDecodeError is a ValueError


class SwarmKey:
    """A key that all robots of a swarm share. It shows itself nowhere."""

    def __init__(self, secret: bytes) -> None:
        """Take the key; ValueError if it is too short or too long."""
        if not LEAST_KEY <= len(secret) <= MOST_KEY:
            raise ValueError(
                f'a swarm key of {len(secret)} bytes, expected {LEAST_KEY} to {MOST_KEY}: head -c '
                '32 /dev/urandom makes one'
            )
        self._secret = secret

    @classmethod
    def read(cls, path: Path) -> SwarmKey:
        """Read a key from a file that nobody but its owner can read.

        Raises:
            OSError: if it cannot be read.
            ValueError: if others may read it, or it is no key.
        """
        with path.open('rb') as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise ValueError(f'swarm_key_file {path} is not a file')
            if mode & 0o077:
                raise ValueError(
                    f'swarm_key_file {path} has mode {stat.S_IMODE(mode):03o}: others may read or '
                    f'write it; run chmod 600 {path}'
                )
            return cls(file.read(MOST_KEY + 1))

    def seal(self, data: bytes) -> bytes:
        """Return a serialised message with its seal."""
        return data + self._of(data)

    def sealed(self, data: bytes) -> bool:
        """Tell whether a message carries the seal that belongs to it."""
        return hmac.compare_digest(data[-SEAL:], self._of(data[:-SEAL]))

    def _of(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, 'sha256')[:SEAL]
