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

from delama_ros.core.blocks import (
    Blocks,
    Codes,
    Floats,
    Model,
    Shape,
    among,
    decode,
    encode,
    union,
)

LEVELS = 127  # steps of a number on each side of 0
# Evidence is told as 0 or FACTOR to some power times FAINT: how much it is matters by orders only.
FAINT = 0.001
FACTOR = 2.0
TOP = 30  # largest power
# sequence, flags (bit 0: full), blocks sent, blocks dropped, features, outputs, parts, lowest keys
HEADER = struct.Struct('<IBHHHHHii')
FULL = 1
SPAN = 2**15  # keys of one message lie within this many blocks of each other


@dataclass(frozen=True)
class Received:
    """What a message left the receiver with."""

    model: Model  # all that is known of the sender
    complete: bool  # False: a message was lost since the last full one, some blocks may be old


class DeltaEncoder:
    """The sending side of one stream; all receivers hear the same messages."""

    def __init__(self, shape: Shape, threshold: float, *, levels: int = LEVELS) -> None:
        """Prepare for blocks of a shape.

        threshold: root mean square by which a block must have moved; levels: fewer steps make
        smaller messages.
        """
        if not threshold >= 0:
            raise ValueError(f'threshold is {threshold}, expected 0 or more')
        if not 1 <= levels <= LEVELS:
            raise ValueError(f'levels are {levels}, expected 1 to {LEVELS}')
        self._threshold = threshold
        self._levels = levels
        self._nothing = _Held.empty(shape)
        self._sent = self._nothing  # what receivers hold
        self._sequence = 0

    def encode(self, model: Model, *, full: bool = False) -> bytes:
        """Return the message for a model; full: all blocks, for somebody who knows none."""
        full = full or self._sequence == 0
        held = self._nothing if full else self._sent
        codes = union(model.codes, held.theta.codes)
        present = among(codes, model.codes)
        theta, evidence = model.theta.on(codes), evidence_levels(model.evidence.on(codes))
        before = held.evidence.on(codes)
        moved = np.sqrt(np.mean((theta - held.theta.on(codes)) ** 2, axis=(1, 2)))
        news = (np.abs(evidence - before) > 1).any(1) | ((evidence > 0) != (before > 0)).any(1)
        send = present & ((moved > self._threshold) | news | ~among(codes, held.theta.codes))
        scale, steps = _quantise(theta[send], self._levels)
        after, levels = held.theta.on(codes).copy(), before.copy()
        after[send] = steps * scale[:, None, None].astype(np.float64)
        levels[send] = evidence[send]
        self._sent = _Held(
            Blocks(codes[present], after[present]), Blocks(codes[present], levels[present])
        )
        message = _pack(
            self._sequence, full, codes[send], scale, steps, evidence[send], codes[~present]
        )
        self._sequence += 1
        return message


class DeltaDecoder:
    """The receiving side of one sender's stream."""

    def __init__(self, shape: Shape) -> None:
        """Prepare for blocks of a shape."""
        self._shape = shape
        self._held = _Held.empty(shape)
        self._next = 0
        self._complete = False

    def decode(self, message: bytes, *, late: bool = False) -> Received:
        """Take a message in; ValueError if it is damaged or of another model, and nothing changes.

        A message that is older than the last one, or known to come late, is not applied: what is
        held is newer.
        """
        sequence, full, new, dropped = _unpack(message, self._shape)
        if not late and (full or sequence >= self._next):
            self._complete = full or (self._complete and sequence == self._next)
            held = _Held.empty(self._shape) if full else self._held
            codes = union(held.theta.codes, new.theta.codes)
            at = np.searchsorted(codes, new.theta.codes)
            stay = ~np.isin(codes, dropped)
            theta, evidence = held.theta.on(codes).copy(), held.evidence.on(codes).copy()
            theta[at], evidence[at] = new.theta.values, new.evidence.values
            self._held = _Held(
                Blocks(codes[stay], theta[stay]), Blocks(codes[stay], evidence[stay])
            )
            self._next = sequence + 1
        elif not late:  # the sender counts anew, and its first message was not heard
            self._complete = False
        return Received(self._held.model, self._complete)


@dataclass(frozen=True)
class _Held:
    """A model as it is told: θ in quantised numbers, evidence in levels."""

    theta: Blocks
    evidence: Blocks

    @classmethod
    def empty(cls, shape: Shape) -> _Held:
        return cls(Blocks.empty(*shape[:2]), Blocks.empty(shape.parts))

    @property
    def model(self) -> Model:
        levels = self.evidence.values
        weights = np.where(levels > 0, FAINT * FACTOR ** (levels - 1), 0.0)
        return Model(self.theta, Blocks(self.evidence.codes, weights))


def evidence_levels(evidence: Floats) -> Floats:
    """Return 0 for next to nothing, and 1 + the nearest power for the rest."""
    powers = np.log(np.maximum(evidence, 1e-9) / FAINT) / np.log(FACTOR)
    levels: Floats = np.clip(np.rint(powers) + 1, 0, TOP + 1)
    return levels


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
    codes: Codes,
    scale: npt.NDArray[np.float16],
    steps: npt.NDArray[np.int8],
    evidence: Floats,
    dropped: Codes,
) -> bytes:
    everything = decode(np.concatenate([codes, dropped]))
    corner = everything.min(0) if len(everything) else np.zeros(2, np.int32)
    offsets = everything.astype(np.int64) - corner
    if len(everything) and offsets.max() >= SPAN:
        raise ValueError(f'blocks are {offsets.max()} apart, expected less than {SPAN}')
    counts = len(codes), len(dropped)
    shape = (*steps.shape[1:], evidence.shape[1])
    header = HEADER.pack(sequence, FULL * full, *counts, *shape, *map(int, corner))
    # by feature rather than by block: neighbours in the stream are alike and compress better
    body = offsets.T.astype('<u2').tobytes() + scale.astype('<f2').tobytes()
    body += evidence.T.astype(np.uint8).tobytes() + steps.transpose(1, 2, 0).tobytes()
    return header + zlib.compress(body, 9)


def _unpack(message: bytes, shape: Shape) -> tuple[int, bool, _Held, Codes]:
    try:
        sequence, flags, count, dropped, *block, x, y = HEADER.unpack_from(message)
        size = 4 * (count + dropped) + count * (2 + block[2] + block[0] * block[1])
        inflater = zlib.decompressobj()
        body = inflater.decompress(message[HEADER.size :], size + 1)
    except (struct.error, zlib.error) as error:
        raise ValueError(f'message of {len(message)} bytes is damaged: {error}') from None
    if tuple(block) != tuple(shape):
        raise ValueError(
            f'blocks of {block[0]} x {block[1]} numbers and {block[2]} parts, '
            f'expected {shape[0]} x {shape[1]} and {shape[2]}'
        )
    if len(body) != size or not inflater.eof:
        raise ValueError(f'message does not hold the {count} blocks it announces')
    total = count + dropped
    offsets = np.frombuffer(body, '<u2', 2 * total).reshape(2, total).T
    scale = np.frombuffer(body, '<f2', count, 4 * total).astype(np.float64)
    if not (np.isfinite(scale) & (scale > 0)).all():
        raise ValueError('a scale is not a finite number above 0')
    rest = np.frombuffer(body, np.uint8, offset=4 * total + 2 * count)
    levels = rest[: shape.parts * count].reshape(shape.parts, count).T
    if levels.max(initial=0) > TOP + 1:
        raise ValueError(f'evidence is of level {levels.max()}, expected at most {TOP + 1}')
    steps = rest[shape.parts * count :].view(np.int8).reshape(*shape[:2], count)
    codes = encode((offsets.astype(np.int64) + np.array([x, y])).astype(np.int32))
    if len(np.unique(codes)) != total:
        raise ValueError('a block is in the message twice')
    values = steps.transpose(2, 0, 1) * scale[:, None, None]
    held = _Held(
        Blocks.sorted(codes[:count], values), Blocks.sorted(codes[:count], levels.astype(float))
    )
    return sequence, bool(flags & FULL), held, codes[count:]
