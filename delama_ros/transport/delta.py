"""Delta encoding of models: a block is sent again only when it has changed (event-triggered).

A sender tracks what its receivers hold and sends the blocks that are new or differ from that by
more than a threshold. Each block is sent whole, so a lost message leaves old blocks but never wrong
sums. Messages are numbered: a receiver notices a gap and says which message it lacks first. A
repair closes the gap: what that message and all later ones held is sent again as it is now, over
several messages if need be. A repair from message 0 sends everything; what was not sent again by
its end is dropped.

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

from delama_ros.core.blocks import Codes, Floats, Model, Shape, among, decode, encode, places, union

LEVELS = 127  # steps of a number on each side of 0
# Evidence is sent as 0 or as FAINT times a power of FACTOR: only its order of magnitude matters.
FAINT = 0.001
FACTOR = 2.0
TOP = 30  # largest power
# sequence, flags, blocks sent, blocks dropped, features, outputs, parts, lowest keys
HEADER = struct.Struct('<IBHHHHHii')
RESTART, BEGIN, END = 1, 2, 4  # flags: drop what is held; a repair begins; it ends
FIRST = struct.Struct('<I')  # behind the header of a message with BEGIN: first one that is repaired
GONE = 4096  # dropped blocks that a sender remembers
SPAN = 2**15  # keys of one message lie within this many blocks of each other
MOST = 2048  # blocks that one message may hold: equal ones compress a thousandfold
HELD = 16_384  # blocks that a receiver holds of one sender: 23,600 m² of tiles


@dataclass(frozen=True)
class Received:
    """What a receiver holds after a message."""

    model: Model  # of the sender, as far as it is known
    complete: bool  # False: a message was lost, some blocks may be old until the next repair


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
        self._when: Codes = self._nothing.codes  # number of the message in which each was sent
        self._gone: dict[int, int] = {}  # blocks that were dropped → number of the message
        self._oldest = 0  # first message whose dropped blocks are all remembered
        self._owed: Codes = self._nothing.codes  # still to be sent in a repair, in this order
        self._repairing = False
        self._sequence = 0

    def encode(
        self,
        model: Model,
        *,
        repair: int | None = None,
        restart: bool = False,
        limit: int | None = None,
    ) -> bytes:
        """Return the message for a model.

        Args:
            model: the sender's model now.
            repair: number of the first message whose content is sent again, for receivers that
                missed some; 0: everything.
            restart: let receivers drop all they hold, as for blocks of another frame.
            limit: bytes that the message may take, as far as possible. Blocks that lost evidence
                are sent first, then those that changed most, then those of a repair.
        """
        restart = restart or self._sequence == 0
        held = self._nothing if restart else self._sent
        if restart:
            self._owed, self._repairing, self._when = held.codes, False, held.codes
            self._gone, self._oldest, repair = {}, self._sequence, None
        elif repair is not None and 0 < repair >= self._sequence:
            repair = None
        again: list[int] = []  # dropped in messages that are repaired
        if repair is not None:
            repair = repair if repair >= self._oldest else 0
            lacking = held.codes[self._when >= repair]
            again = [code for code, when in self._gone.items() if when >= repair > 0]
            # What an interrupted repair has not sent yet comes first.
            self._owed = np.concatenate([self._owed, lacking[~np.isin(lacking, self._owed)]])
            self._repairing = True
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
        order = np.concatenate([order, owed[~changed[owed]]])[:MOST]
        flags = RESTART * restart + BEGIN * (repair is not None)
        while True:
            send = np.zeros(len(codes), np.bool_)
            send[order] = True
            rest = self._owed[~send[owed]]
            ends = END * (self._repairing and not len(rest))
            scale, steps = _quantise(theta[send], self._levels)
            dropped = ~present | (lost & ~send)
            gone = union(codes[dropped], np.array(again, np.int64))
            gone = gone[~np.isin(gone, codes[send])]
            message = _pack(
                self._sequence, flags + ends, repair, codes[send], scale, steps, evidence[send],
                gone,
            )
            if limit is None or len(message) <= limit or not len(order):
                break
            # a little less than what would fit if all blocks compressed alike
            order = order[: min(int(0.95 * limit / len(message) * len(order)), len(order) - 1)]
        after, levels = theta_before.copy(), before.copy()
        after[send] = steps * scale[:, None, None].astype(np.float64)
        levels[send] = evidence[send]
        when = np.zeros_like(codes)
        when[places(codes, held.codes)] = self._when
        when[send] = self._sequence
        kept = ~dropped & (known | send)
        self._sent, self._when = Model(codes, after, levels).take(kept), when[kept]
        self._owed = rest[~np.isin(rest, codes[dropped])]
        self._repairing = self._repairing and not ends
        self._remember(codes[send], gone)
        self._sequence += 1
        return message

    def _remember(self, sent: Codes, gone: Codes) -> None:
        for code in sent.tolist() if self._gone else ():
            self._gone.pop(code, None)
        self._gone.update(dict.fromkeys(gone.tolist(), self._sequence))
        if len(self._gone) > GONE:
            self._gone, self._oldest = {}, self._sequence + 1


class DeltaDecoder:
    """The receiving side of one sender's stream."""

    def __init__(self, shape: Shape) -> None:
        """Prepare for blocks of a shape."""
        self._shape = shape
        self._held = Model.empty(shape)  # evidence in levels
        self._next = 0
        self._complete = False
        self._first = 0  # number of the first message that is missing
        # Not sent again yet in a repair of everything, none in another one; None: no repair.
        self._stale: Codes | None = None

    @property
    def held(self) -> int:
        """Number of blocks held."""
        return len(self._held.codes)

    def decode(self, message: bytes, *, late: bool = False, room: int = HELD) -> Received:
        """Apply a message and return the sender's model as far as it is known.

        A message that is older than the last one, or known to be late, is not applied: what is held
        is newer.

        Args:
            message: as received.
            late: whether it is older than the last one.
            room: how many blocks may be held after it.

        Raises:
            ValueError: if the message is damaged, of another shape, or holds too much; what is held
                stays.
        """
        if late:
            return self._known
        sequence, flags, repaired, new, dropped = _unpack(message, self._shape)
        size = len(new.codes) if flags & RESTART else len(union(self._held.codes, new.codes))
        if size > room:
            raise ValueError(f'{size} blocks of one sender, expected at most {room}')
        if sequence < self._next:  # the sender restarted its count
            self._first, self._complete, self._stale = 0, False, None
        if flags & RESTART:
            self._held, self._complete, self._stale = Model.empty(self._shape), True, None
        elif flags & BEGIN and repaired == 0:
            self._complete, self._stale = True, self._held.codes
        elif sequence < self._next:  # and its first message was lost
            return self._known
        elif flags & BEGIN and repaired <= self._first:
            if sequence != self._next or not self._complete:
                self._complete, self._stale = True, self._held.codes[:0]
        elif sequence != self._next:
            self._complete, self._stale = False, None
        self._apply(new, dropped, ends=bool(flags & END))
        self._next = sequence + 1
        if self._complete and self._stale is None:
            self._first = self._next
        return self._known

    @property
    def missing(self) -> int | None:
        """Number of the first message that was missed and is not repaired; None: there is none."""
        return None if self._complete else self._first

    @property
    def _known(self) -> Received:
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
    repair: int | None,
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
    header += b'' if repair is None else FIRST.pack(repair)
    # Ordered by feature rather than by block: similar numbers next to each other compress better.
    body = offsets.T.astype('<u2').tobytes() + scale.astype('<f2').tobytes()
    body += evidence.T.astype(np.uint8).tobytes() + steps.transpose(1, 2, 0).tobytes()
    return header + zlib.compress(body, 9)


def _unpack(message: bytes, shape: Shape) -> tuple[int, int, int, Model, Codes]:
    try:
        sequence, flags, count, dropped, *block, x, y = HEADER.unpack_from(message)
        if tuple(block) != tuple(shape):
            raise ValueError(
                f'blocks of {block[0]} x {block[1]} numbers and {block[2]} parts, '
                f'expected {shape[0]} x {shape[1]} and {shape[2]}'
            )
        if count > MOST:
            raise ValueError(f'{count} blocks in one message, expected at most {MOST}')
        size = 4 * (count + dropped) + count * (2 + block[2] + block[0] * block[1])
        start, repaired = HEADER.size, 0
        if flags & BEGIN:
            (repaired,) = FIRST.unpack_from(message, start)
            start += FIRST.size
        inflater = zlib.decompressobj()
        body = inflater.decompress(message[start:], size + 1)
    except (struct.error, zlib.error) as error:
        raise ValueError(f'message of {len(message)} bytes is damaged: {error}') from None
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
    return sequence, flags, repaired, model, codes[count:]
