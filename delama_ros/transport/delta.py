"""Delta encoding of models: a block is sent again only when it has changed (event-triggered).

A sender tracks what its receivers hold and sends the blocks that are new or differ from that by
more than a threshold. Each block is sent whole, so a lost message leaves old blocks but never wrong
sums. Messages are numbered: a receiver notices a gap, and a refresh closes it: every block is sent
again, over several messages if need be, and what was not sent again by its end is dropped.

A message may be limited in size. Blocks that do not fit follow later; until then receivers hold the
old ones, except blocks that lost evidence, which are dropped: evidence that was taken back must not
stay with receivers, who would pass it on.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from delama_ros.core.blocks import Codes, Floats, Model, Shape, among, decode, encode, union

LEVELS = 127  # steps of a number on each side of 0
# Evidence is sent as 0 or as FAINT times a power of FACTOR: only its order of magnitude matters.
FAINT = 0.001
FACTOR = 2.0
TOP = 30  # largest power
# sequence, flags, blocks sent, blocks dropped, features, outputs, parts, lowest keys
HEADER = struct.Struct('<IBHHHHHii')
RESTART, BEGIN, END = 1, 2, 4  # flags: drop what is held; a refresh begins; it ends
SPAN = 2**15  # keys of one message lie within this many blocks of each other


@dataclass(frozen=True)
class Received:
    """What a receiver holds after a message."""

    model: Model  # of the sender, as far as it is known
    complete: bool  # False: a message was lost, some blocks may be old until the next refresh


class DeltaEncoder:
    """The sending side of one stream; all receivers get the same messages."""

    def __init__(self, shape: Shape, threshold: float, *, levels: int = LEVELS) -> None:
        """Prepare for blocks of a shape.

        Args:
            shape: of a block.
            threshold: root mean square change of θ from which a block is sent again.
            levels: steps of a number on each side of 0; fewer make smaller messages.

        Raises:
            ValueError: if the threshold is negative or the levels are not 1 to 127.

        """
        if not threshold >= 0:
            raise ValueError(f'threshold is {threshold}, expected 0 or more')
        if not 1 <= levels <= LEVELS:
            raise ValueError(f'levels are {levels}, expected 1 to {LEVELS}')
        self._threshold = threshold
        self._levels = levels
        self._nothing = Model.empty(shape)
        self._sent = self._nothing  # what receivers hold; evidence in levels
        self._owed: Codes = self._nothing.codes  # still to be sent in a refresh, in this order
        self._refreshing = False
        self._sequence = 0

    def encode(
        self,
        model: Model,
        *,
        refresh: bool = False,
        restart: bool = False,
        limit: int | None = None,
    ) -> bytes:
        """Return the message for a model.

        Args:
            model: the sender's model now.
            refresh: begin to send every block again, for a receiver that missed some.
            restart: let receivers drop all they hold, as for blocks of another frame.
            limit: bytes that the message may take, as far as possible. Blocks that lost evidence
                are sent first, then those that changed most, then those of a refresh.
        """
        restart = restart or self._sequence == 0
        held = self._nothing if restart else self._sent
        if restart:
            self._owed, self._refreshing = held.codes, False
        elif refresh:
            # What an interrupted refresh has not sent yet comes first.
            self._owed = np.concatenate([self._owed, held.codes[~np.isin(held.codes, self._owed)]])
            self._refreshing = True
        codes = union(model.codes, held.codes)
        present, known = among(codes, model.codes), among(codes, held.codes)
        theta, evidence = model.on(codes)
        evidence = evidence_levels(evidence)
        theta_before, before = held.on(codes)
        moved = np.sqrt(np.mean((theta - theta_before) ** 2, axis=(1, 2)))
        lost = present & ((before - evidence > 1) | ((before > 0) & (evidence == 0))).any(1)
        grown = ((evidence - before > 1) | ((evidence > 0) & (before == 0))).any(1)
        changed = present & ((moved > self._threshold) | lost | grown | ~known)
        self._owed = self._owed[np.isin(self._owed, model.codes)]
        order = np.flatnonzero(changed)
        order = order[np.lexsort((-moved[order], ~lost[order]))]
        owed = np.searchsorted(codes, self._owed)
        order = np.concatenate([order, owed[~changed[owed]]])
        flags = RESTART * restart + BEGIN * (refresh and not restart)
        while True:
            send = np.zeros(len(codes), np.bool_)
            send[order] = True
            rest = self._owed[~send[owed]]
            ends = END * (self._refreshing and not len(rest))
            scale, steps = _quantise(theta[send], self._levels)
            dropped = ~present | (lost & ~send)
            message = _pack(
                self._sequence, flags + ends, codes[send], scale, steps, evidence[send],
                codes[dropped],
            )
            if limit is None or len(message) <= limit or not len(order):
                break
            # a little less than what would fit if all blocks compressed alike
            order = order[: min(int(0.95 * limit / len(message) * len(order)), len(order) - 1)]
        after, levels = theta_before.copy(), before.copy()
        after[send] = steps * scale[:, None, None].astype(np.float64)
        levels[send] = evidence[send]
        self._sent = Model(codes, after, levels).take(~dropped & (known | send))
        self._owed = rest[~np.isin(rest, codes[dropped])]
        self._refreshing = self._refreshing and not ends
        self._sequence += 1
        return message


class DeltaDecoder:
    """The receiving side of one sender's stream."""

    def __init__(self, shape: Shape) -> None:
        """Prepare for blocks of a shape."""
        self._shape = shape
        self._held = Model.empty(shape)  # evidence in levels
        self._next = 0
        self._complete = False
        self._stale: Codes | None = None  # not sent again yet in a refresh; None: no refresh

    def decode(self, message: bytes, *, late: bool = False) -> Received:
        """Apply a message and return the sender's model as far as it is known.

        A message that is older than the last one, or known to be late, is not applied: what is held
        is newer.

        Raises:
            ValueError: if the message is damaged or of another shape; what is held stays.

        """
        sequence, flags, new, dropped = _unpack(message, self._shape)
        if not late and (flags & (RESTART | BEGIN) or sequence >= self._next):
            if flags & (RESTART | BEGIN):  # from here on nothing is missing
                self._held = Model.empty(self._shape) if flags & RESTART else self._held
                self._complete, self._stale = True, self._held.codes if flags & BEGIN else None
            elif sequence != self._next:
                self._complete, self._stale = False, None
            self._apply(new, dropped, ends=bool(flags & END))
            self._next = sequence + 1
        elif not late:  # the sender restarted its count, and its first message was lost
            self._complete, self._stale = False, None
        held = self._held
        return Received(Model(held.codes, held.theta, weights(held.evidence)), self._complete)

    def _apply(self, new: Model, dropped: Codes, *, ends: bool) -> None:
        if self._stale is not None:
            self._stale = self._stale[~np.isin(self._stale, new.codes)]
            if ends:  # the sender does not have what it has not sent again
                dropped, self._stale = np.concatenate([dropped, self._stale]), None
        codes = union(self._held.codes, new.codes)
        at = np.searchsorted(codes, new.codes)
        theta, evidence = (part.copy() for part in self._held.on(codes))
        theta[at], evidence[at] = new.theta, new.evidence
        self._held = Model(codes, theta, evidence).take(~np.isin(codes, dropped))


def weights(levels: Floats) -> Floats:
    """Return the evidence that levels stand for."""
    return np.where(levels > 0, FAINT * FACTOR ** (levels - 1), 0.0)


def evidence_levels(evidence: Floats) -> Floats:
    """Return the level of evidence: 0 for next to nothing, otherwise 1 + the nearest power."""
    powers = np.log(np.maximum(evidence, 1e-9) / FAINT) / np.log(FACTOR)
    levels: Floats = np.clip(np.rint(powers) + 1, 0, TOP + 1)
    return levels


def _quantise(
    values: Floats, levels: int
) -> tuple[npt.NDArray[np.float16], npt.NDArray[np.int8]]:
    peak = np.abs(values).max((1, 2), initial=0.0)
    # float16 holds scales of 6e-8 to 65504; no sensible block is beyond that
    scale = np.clip(peak / levels, 6e-8, 65504.0).astype(np.float16)
    steps = np.rint(values / scale[:, None, None].astype(np.float64))
    return scale, steps.clip(-LEVELS, LEVELS).astype(np.int8)


def _pack(
    sequence: int,
    flags: int,
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
    header = HEADER.pack(sequence, flags, *counts, *shape, *map(int, corner))
    # Ordered by feature rather than by block: similar numbers next to each other compress better.
    body = offsets.T.astype('<u2').tobytes() + scale.astype('<f2').tobytes()
    body += evidence.T.astype(np.uint8).tobytes() + steps.transpose(1, 2, 0).tobytes()
    return header + zlib.compress(body, 9)


def _unpack(message: bytes, shape: Shape) -> tuple[int, int, Model, Codes]:
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
        raise ValueError(f'the message does not hold the {count} blocks that it announces')
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
        raise ValueError('the message holds a block twice')
    values = steps.transpose(2, 0, 1) * scale[:, None, None]
    model = Model.of(codes[:count], values, levels.astype(np.float64))
    return sequence, flags, model, codes[count:]
