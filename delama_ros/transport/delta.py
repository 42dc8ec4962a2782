"""Models on the air by what changed: a block is sent again only when it moved (event-triggered).

A sender keeps what its receivers hold and sends the blocks that are new or differ from it by more
than a threshold, each whole, so that a lost message leaves old blocks but never wrong sums.
Messages are numbered: a receiver that misses one knows it, and a `full` message puts it right.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from delama_ros.core.blocks import Blocks, Floats, Keys, among, decode, encode, union

LEVELS = 127  # steps of a number on each side of 0
# sequence, flags (bit 0: full), blocks sent, blocks dropped, features, outputs, lowest keys
HEADER = struct.Struct('<IBHHHHii')
FULL = 1
SPAN = 2**15  # keys of one message lie within this many blocks of each other


@dataclass(frozen=True)
class Received:
    """What a message left the receiver with."""

    keys: Keys  # (n, 2), all blocks known of the sender
    values: Floats  # (n, K, C)
    complete: bool  # False: a message was lost since the last full one, some blocks may be old


class DeltaEncoder:
    """The sending side of one stream; all receivers hear the same messages."""

    def __init__(
        self, shape: tuple[int, int], threshold: float, *, levels: int = LEVELS
    ) -> None:
        """Prepare for blocks (K, C).

        threshold: root mean square by which a block must have moved; levels: fewer steps make
        smaller messages.
        """
        if not threshold >= 0:
            raise ValueError(f'threshold is {threshold}, expected 0 or more')
        if not 1 <= levels <= LEVELS:
            raise ValueError(f'levels are {levels}, expected 1 to {LEVELS}')
        self._threshold = threshold
        self._levels = levels
        self._sent = Blocks.empty(*shape)  # what receivers hold
        self._sequence = 0

    def encode(self, keys: Keys, values: Floats, *, full: bool = False) -> bytes:
        """Return the message for a model; full: all blocks, for somebody who knows none."""
        full = full or self._sequence == 0
        now = Blocks.of(keys, values)
        held = Blocks.empty(*self._sent.values.shape[1:]) if full else self._sent
        codes = union(now.codes, held.codes)
        present = among(codes, now.codes)
        change = now.on(codes) - held.on(codes)
        moved = np.sqrt(np.mean(change**2, axis=(1, 2))) > self._threshold
        send = present & (moved | ~among(codes, held.codes))
        scale, steps = _quantise(now.on(codes)[send], self._levels)
        after = held.on(codes).copy()
        after[send] = steps * scale[:, None, None].astype(np.float64)
        self._sent = Blocks(codes[present], after[present])
        message = _pack(
            self._sequence, full, decode(codes[send]), scale, steps, decode(codes[~present])
        )
        self._sequence += 1
        return message


class DeltaDecoder:
    """The receiving side of one sender's stream."""

    def __init__(self, shape: tuple[int, int]) -> None:
        """Prepare for blocks (K, C)."""
        self._shape = shape
        self._held = Blocks.empty(*shape)
        self._next = 0
        self._complete = False

    def decode(self, message: bytes, *, late: bool = False) -> Received:
        """Take a message in; ValueError if it is damaged or of another model, and nothing changes.

        A message that is older than the last one, or known to come late, is not applied: what is
        held is newer.
        """
        sequence, full, keys, values, dropped = _unpack(message, self._shape)
        if not late and (full or sequence >= self._next):
            self._complete = full or (self._complete and sequence == self._next)
            new = Blocks.of(keys, values)
            held = Blocks.empty(*self._shape) if full else self._held
            codes = union(held.codes, new.codes)
            joined = held.on(codes).copy()
            joined[np.searchsorted(codes, new.codes)] = new.values
            stay = ~np.isin(codes, encode(dropped))
            self._held = Blocks(codes[stay], joined[stay])
            self._next = sequence + 1
        elif not late:  # the sender counts anew, and its first message was not heard
            self._complete = False
        return Received(decode(self._held.codes), self._held.values, self._complete)


def _quantise(
    values: Floats, levels: int
) -> tuple[npt.NDArray[np.float16], npt.NDArray[np.int8]]:
    peak = np.abs(values).max((1, 2), initial=0.0)
    # float16 holds scales of 6e-8 to 65504; beyond that a block is not a model any more
    scale = np.clip(peak / levels, 6e-8, 65504.0).astype(np.float16)
    steps = np.rint(values / scale[:, None, None].astype(np.float64))
    return scale, steps.clip(-LEVELS, LEVELS).astype(np.int8)


def _pack(
    sequence: int,
    full: bool,
    keys: Keys,
    scale: npt.NDArray[np.float16],
    steps: npt.NDArray[np.int8],
    dropped: Keys,
) -> bytes:
    everything = np.concatenate([keys, dropped])
    corner = everything.min(0) if len(everything) else np.zeros(2, np.int32)
    offsets = everything.astype(np.int64) - corner
    if len(everything) and offsets.max() >= SPAN:
        raise ValueError(f'blocks are {offsets.max()} apart, expected less than {SPAN}')
    counts = len(keys), len(dropped)
    header = HEADER.pack(sequence, FULL * full, *counts, *steps.shape[1:], *map(int, corner))
    # by feature rather than by block: neighbours in the stream are alike and compress better
    body = offsets.T.astype('<u2').tobytes() + scale.astype('<f2').tobytes()
    return header + zlib.compress(body + steps.transpose(1, 2, 0).tobytes(), 9)


def _unpack(message: bytes, shape: tuple[int, int]) -> tuple[int, bool, Keys, Floats, Keys]:
    try:
        sequence, flags, count, dropped, *block, x, y = HEADER.unpack_from(message)
        size = 4 * (count + dropped) + count * (2 + block[0] * block[1])
        inflater = zlib.decompressobj()
        body = inflater.decompress(message[HEADER.size :], size + 1)
    except (struct.error, zlib.error) as error:
        raise ValueError(f'message of {len(message)} bytes is damaged: {error}') from None
    if tuple(block) != shape:
        raise ValueError(f'blocks of {block[0]} x {block[1]} numbers, expected {shape}')
    if len(body) != size or not inflater.eof:
        raise ValueError(f'message does not hold the {count} blocks it announces')
    total = count + dropped
    offsets = np.frombuffer(body, '<u2', 2 * total).reshape(2, total).T
    scale = np.frombuffer(body, '<f2', count, 4 * total).astype(np.float64)
    if not (np.isfinite(scale) & (scale > 0)).all():
        raise ValueError('a scale is not a finite number above 0')
    steps = np.frombuffer(body, np.int8, offset=4 * total + 2 * count).reshape(*shape, count)
    keys = (offsets.astype(np.int64) + np.array([x, y])).astype(np.int32)
    if len(np.unique(encode(keys))) != total:
        raise ValueError('a block is in the message twice')
    values = steps.transpose(2, 0, 1) * scale[:, None, None]
    return sequence, bool(flags & FULL), keys[:count], values, keys[count:]
