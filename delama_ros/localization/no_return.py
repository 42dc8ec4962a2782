"""Beams without return: whether they looked into open space or lost the surface they met."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.compiled import compiled

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
NoReturn = Literal['auto', 'free', 'unknown']

CELL = 0.1  # m, of the memory of surfaces around the robot
SIDE = 256  # cells a side; a power of two, so that a cell's place is found by its low bits
HIT, PASS, FULL = 12, 1, 24  # what a return adds to its cell, a beam takes off, and the most of it
SOLID = 4  # from here on a cell holds a surface
SKIP, STOP = 2, 2  # cells at the begin of a beam that are not judged, and before its end
CLASSES = 8  # widths of gaps: below 1.5°, 3°, 6°, … and 96° and more
NARROW = math.radians(1.5)
LIMIT = 0.3  # share of beams that met a known surface from which on gaps of a width are dropouts
FEW = 10.0  # beams of a width that must have been checked before any is believed
KEEP = 0.95  # share of these counts that is kept at each check
CHECK_WAY, CHECK_TURN = 0.1, math.radians(5.0)  # m and rad between two checks
FADE_WAY, FADE_TURN = 0.25, math.radians(15.0)  # m and rad in which the memory loses 1


@compiled
def _crossed(
    memory: npt.NDArray[np.uint8], starts: Floats, bearings: Floats, gone: Bools, reach: float
) -> Bools:
    """Beams (B,) without return that pass a known surface within `reach`; lengths in cells."""
    found = np.zeros(gone.size, np.bool_)
    low = memory.shape[0] - 1
    for b in range(gone.size):
        if not gone[b]:
            continue
        dx, dy = math.cos(bearings[b]), math.sin(bearings[b])
        for k in range(SKIP, int(reach)):
            column = math.floor(starts[b, 0] + k * dx) & low
            row = math.floor(starts[b, 1] + k * dy) & low
            if memory[row, column] >= SOLID:
                found[b] = True
                break
    return found


@compiled
def _remember(
    memory: npt.NDArray[np.uint8], starts: Floats, bearings: Floats, ranges: Floats, reach: float
) -> None:
    """Enter returns (B,), NaN for none, and clear what their beams passed; lengths in cells."""
    low = memory.shape[0] - 1
    for b in range(ranges.size):
        if not ranges[b] > 0.0:
            continue
        dx, dy = math.cos(bearings[b]), math.sin(bearings[b])
        for k in range(int(min(ranges[b] - STOP, reach)) + 1):
            column = math.floor(starts[b, 0] + k * dx) & low
            row = math.floor(starts[b, 1] + k * dy) & low
            if memory[row, column] > 0:
                memory[row, column] -= PASS
    for b in range(ranges.size):
        if 0.0 < ranges[b] < reach:
            column = math.floor(starts[b, 0] + ranges[b] * math.cos(bearings[b])) & low
            row = math.floor(starts[b, 1] + ranges[b] * math.sin(bearings[b])) & low
            memory[row, column] = min(memory[row, column] + HIT, FULL)


@compiled
def _gaps(gone: Bools, step: float) -> tuple[npt.NDArray[np.int64], Bools]:
    """Class of width (B,) of the gap each beam without return is in; whether in its middle half.

    The middle says best what a gap is: at its edges a beam may touch what stands beside it.
    """
    count = gone.size
    widths, middle = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    closed = step * count > 2.0 * math.pi - 1.5 * step
    first = 0  # where to begin: on a full circle after a return, so that no gap is cut
    if closed:
        while first < count and gone[first]:
            first += 1
        first %= count
    i = 0
    while i < count:
        j = i
        while j < count and gone[(first + j) % count]:
            j += 1
        width = (j - i) * step
        kind = 0
        while kind < CLASSES - 1 and width >= NARROW * 2.0**kind:
            kind += 1
        for k in range(i, j):
            b = (first + k) % count
            widths[b] = kind
            middle[b] = abs((k - i + 0.5) / (j - i) - 0.5) <= 0.25
        i = j + 1
    return widths, middle


class NoReturnFilter:
    """Decides for each beam without return whether it says "free" or nothing at all.

    A beam into open space meets nothing. A dropout has lost a surface, and sooner or later other
    beams see that surface: the robot moves, or the same beam returns a scan later. So the filter
    remembers the surfaces within 12.8 m for the last few metres of way, and checks every beam
    without return against them. A beam that passes a known surface is a dropout. How many do so
    among all gaps of about the same angular width tells how far the other gaps of that width can
    be trusted: a sensor that loses whole panels is not believed where it sees nothing, one whose
    wide gaps never pass a surface is.

    The state is bounded (64 kB and a few counts) and depends on the scans alone. With modes
    'free' (REP-117) and 'unknown' nothing is checked.
    """

    def __init__(self, mode: NoReturn = 'auto') -> None:
        if mode not in get_args(NoReturn):
            raise ValueError(f'no_return is {mode!r}, expected one of: auto, free, unknown')
        self.mode: NoReturn = mode
        self._memory = np.zeros((SIDE, SIDE), np.uint8)
        self._centre: tuple[int, int] | None = None  # column, row
        self._met = np.zeros(CLASSES)  # beams that passed a known surface, by width of their gap
        self._clear = np.zeros(CLASSES)  # and those that passed none
        self._last: Floats | None = None  # pose at the last scan
        self._checked = np.zeros(2)  # m and rad since the last check
        self._faded = np.zeros(2)  # and since the memory last faded

    @property
    def nbytes(self) -> int:
        """Memory the state takes."""
        return self._memory.nbytes + self._met.nbytes + self._clear.nbytes

    def free(
        self, ranges: Floats, gone: Bools, starts: Floats, bearings: Floats, reach: float
    ) -> Bools:
        """Take one scan and tell which of its beams without return looked into open space.

        Args:
            ranges: (B,) m, NaN where there is no return.
            gone: (B,) beams that returned nothing.
            starts: (B, 2) m, where the laser was at each beam, in a frame that does not jump.
            bearings: (B,) rad, of the beams in that frame.
            reach: Range of the sensor in metres.

        Returns:
            Beams (B,) that are free up to `reach`.

        """
        if self.mode != 'auto':
            return gone if self.mode == 'free' else np.zeros_like(gone)
        self._follow(starts[0], float(bearings[0]))
        cells = starts / CELL
        most = SIDE / 2 - 2.0
        crossed = _crossed(self._memory, cells, bearings, gone, min(reach / CELL, most))
        step = abs(float(bearings[-1] - bearings[0])) / max(gone.size - 1, 1)
        widths, middle = _gaps(gone, step)
        if self._checked[0] >= CHECK_WAY or self._checked[1] >= CHECK_TURN:
            self._checked[:] = 0.0
            self._met = KEEP * self._met + np.bincount(widths[crossed & middle], minlength=CLASSES)
            clear = gone & ~crossed & middle
            self._clear = KEEP * self._clear + np.bincount(widths[clear], minlength=CLASSES)
        _remember(self._memory, cells, bearings, ranges / CELL, most)
        total = self._met + self._clear
        trusted = (total >= FEW) & (self._met <= LIMIT * total)
        return gone & ~crossed & trusted[widths]

    def _follow(self, at: Floats, yaw: float) -> None:
        """Move the window with the robot, and let the memory fade on the way."""
        pose = np.array([at[0], at[1], yaw])
        if self._last is not None:
            way = math.hypot(*(pose[:2] - self._last[:2]))
            turn = abs(math.remainder(yaw - self._last[2], 2 * math.pi))
            self._checked += (way, turn)
            self._faded += (way, turn)
        self._last = pose
        share = max(self._faded[0] / FADE_WAY, self._faded[1] / FADE_TURN)
        if share >= 1.0:
            self._faded[:] = 0.0
            loss = np.uint8(min(share, FULL))
            self._memory -= np.minimum(self._memory, loss)
        centre = int(at[0] // CELL), int(at[1] // CELL)
        old = self._centre or centre
        self._centre = centre
        for axis, (now, before) in enumerate(zip(centre, old, strict=True)):
            shift = now - before
            if shift:  # what enters the window on this side was left behind on the other
                first = before + SIDE // 2 if shift > 0 else before - SIDE // 2 + shift
                entered = (first + np.arange(min(abs(shift), SIDE))) % SIDE
                self._memory[(slice(None), entered) if axis == 0 else entered] = 0
