"""Candidates for the transform between two patches: correlation over turns and shifts.

Walls are a field of normals; the correlation of two such fields counts metres of wall that lie on
each other and face the same way. Wall of one patch in open space of the other counts against it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import fft

from delama_ros.geometry.compiled import compiled
from delama_ros.rendezvous.patches import COARSE, Patch
from delama_ros.rendezvous.se2 import Floats
from delama_ros.rendezvous.window import Window

Singles = npt.NDArray[np.float32]
Spectra = npt.NDArray[np.complex64]

TURN = math.radians(3.0)  # between two turns that are tried
AGAINST = 0.5  # metres of agreement that a metre of contradiction outweighs
PEAKS = 4  # of each turn that are kept
KEPT = 48  # of all that are refined
APART = 0.5, math.radians(7.0)  # m and rad between two candidates
LIKELY = 32  # turns that directions of walls suggest
ANYWHERE = np.array([0.0, 0.0, np.inf])  # middle and radius of shifts that count, m
BATCH = 8  # turns transformed at once: bounds the memory


@dataclass(frozen=True)
class Candidate:
    """A transform (x, y, yaw) of the second patch into the first, from centre to centre."""

    transform: tuple[float, float, float]
    score: float  # m of wall that agree less what contradicts


def candidates(
    first: Patch, second: Patch, *, kept: int = KEPT, window: Window | None = None,
    likely: bool = False,
) -> list[Candidate]:
    """Return the best transforms of `second` into `first`, best first.

    Args:
        first: patch that stays.
        second: patch that is moved.
        kept: how many at most.
        window: where the transform may lie, if that is known.
        likely: try only turns at which directions of walls agree.

    """
    size = grid_size(side_of(first, second))
    spectrum = fixed_spectrum(first, size)
    turns = likely_turns(first, second) if likely else all_turns()
    limit = ANYWHERE
    if window is not None:
        turned = np.abs(np.remainder(turns + np.pi, 2 * np.pi) - np.pi)
        turns = turns[turned <= window.turn + TURN / 2]
        limit = np.array([*window.middle, window.shift + COARSE])
    peaks = [
        highest(spectrum, turned_spectra(second, turns[begin : begin + BATCH], size), limit)
        for begin in range(0, len(turns), BATCH)
    ]
    return distinct(np.concatenate([np.empty((0, PEAKS, 3)), *peaks]), turns, kept)


def all_turns() -> Floats:
    """Return the turns that are tried, rad."""
    count = round(2 * math.pi / TURN)
    turns: Floats = np.arange(count, dtype=np.float64) * (2 * math.pi / count)
    return turns


def likely_turns(first: Patch, second: Patch) -> Floats:
    """Return the turns of `second` at which its walls find walls of that direction in `first`.

    A turn is judged by how well metres of wall by direction correlate, wherever the walls are.
    """
    turns = all_turns()
    one, two = _directions(first, len(turns)), _directions(second, len(turns))
    shared = np.array([one @ np.roll(two, k) for k in range(len(turns))])
    chosen: Floats = turns[np.sort(np.argsort(-shared, kind='stable')[:LIKELY])]
    return chosen


def _directions(patch: Patch, count: int) -> Floats:
    """Return metres of wall by direction, (count,), smoothed over three steps."""
    angle = np.arctan2(patch.normals[:, 1], patch.normals[:, 0])
    at = np.round(angle / (2 * np.pi) * count).astype(np.int64) % count
    found = np.bincount(at, patch.lengths, count)
    smooth: Floats = (np.roll(found, 1) + found + np.roll(found, -1)) / 3.0
    return smooth


def grid_size(width: float) -> int:
    """Return the cells along a grid of `width` metres whose transform is fast."""
    return int(fft.next_fast_len(2 + math.ceil(width / COARSE), real=True))


def fixed_spectrum(patch: Patch, size: int) -> Spectra:
    """Return the transform (4, size, ...) of a patch that stays."""
    fixed = np.zeros((4, size, size), np.float32)
    half = 0.5 * size * COARSE
    _splat(patch.points, patch.normals, patch.lengths, 0.0, half, fixed)
    _splat_open(patch.open_points, 0.0, half, fixed)
    _saturate(fixed, COARSE)
    spectrum: Spectra = np.conj(fft.rfft2(fixed, workers=1))
    return spectrum


def turned_spectra(patch: Patch, turns: Floats, size: int) -> Spectra:
    """Return the transforms (T, 4, size, ...) of a patch turned by T angles."""
    moved = np.zeros((len(turns), 4, size, size), np.float32)
    half = 0.5 * size * COARSE
    for grid, turn in zip(moved, turns.tolist(), strict=True):
        _splat(patch.points, patch.normals, patch.lengths, turn, half, grid)
        _splat_open(patch.open_points, turn, half, grid)
    spectra: Spectra = fft.rfft2(moved, workers=1)
    return spectra


def highest(spectrum: Spectra, spectra: Spectra, limit: Floats = ANYWHERE) -> Floats:
    """Return the highest peaks (T, PEAKS, 3) of every turn: score, shift x, shift y.

    limit: (3,), middle and radius of the shifts that count, m.
    """
    size = spectrum.shape[1]
    # normals · normals - AGAINST (wall · open + open · wall); shift = first - second
    total = spectra[:, 0] * spectrum[0] + spectra[:, 1] * spectrum[1]
    total -= AGAINST * (spectra[:, 2] * spectrum[3] + spectra[:, 3] * spectrum[2])
    scores = fft.irfft2(np.conj(total), s=(size, size), workers=1)
    peaks = np.empty((len(spectra), PEAKS, 3))
    for k in range(len(spectra)):
        _peaks(scores[k], limit, peaks[k])
    return peaks


def side_of(first: Patch, second: Patch) -> float:
    """Return the side in m of the square of shifts at which two patches may touch."""
    return 2 * _half(first) + 2 * second.reach


def _half(patch: Patch) -> float:
    """Half the longer side of a patch in m."""
    rows, cols = patch.open.shape
    return 0.5 * float(max(rows, cols)) * patch.resolution


def distinct(peaks: Floats, turns: Floats, kept: int) -> list[Candidate]:
    """Return the best candidates (T, PEAKS, 3) of T turns that differ, best first."""
    yaw = np.repeat(turns, PEAKS)
    score, x, y = peaks.reshape(-1, 3).T
    order = np.argsort(-score, kind='stable')
    found: list[Candidate] = []
    for k in order.tolist():
        if len(found) >= kept or score[k] <= 0.0:
            break
        if not any(
            math.hypot(x[k] - c.transform[0], y[k] - c.transform[1]) < APART[0]
            and abs(math.remainder(yaw[k] - c.transform[2], 2 * math.pi)) < APART[1]
            for c in found
        ):
            found.append(Candidate((float(x[k]), float(y[k]), float(yaw[k])), float(score[k])))
    return found


@compiled
def _splat(
    points: Floats, normals: Floats, lengths: Floats, turn: float, half: float, out: Singles
) -> None:
    """Add wall to channels 0, 1 (normal times metres) and 2 (metres), bilinearly."""
    c, s = math.cos(turn), math.sin(turn)
    size = out.shape[1]
    for i in range(points.shape[0]):
        x = (c * points[i, 0] - s * points[i, 1] + half) / COARSE - 0.5
        y = (s * points[i, 0] + c * points[i, 1] + half) / COARSE - 0.5
        nx = (c * normals[i, 0] - s * normals[i, 1]) * lengths[i]
        ny = (s * normals[i, 0] + c * normals[i, 1]) * lengths[i]
        col, row = math.floor(x), math.floor(y)
        if col < 0 or row < 0 or col + 1 >= size or row + 1 >= size:
            continue
        fx, fy = x - col, y - row
        for k in range(4):
            w = (fx if k & 1 else 1.0 - fx) * (fy if k & 2 else 1.0 - fy)
            r, q = row + (k >> 1), col + (k & 1)
            out[0, r, q] += w * nx
            out[1, r, q] += w * ny
            out[2, r, q] += w * lengths[i]


@compiled
def _splat_open(points: Floats, turn: float, half: float, out: Singles) -> None:
    """Mark open cells in channel 3."""
    c, s = math.cos(turn), math.sin(turn)
    size = out.shape[1]
    for i in range(points.shape[0]):
        col = int((c * points[i, 0] - s * points[i, 1] + half) / COARSE)
        row = int((s * points[i, 0] + c * points[i, 1] + half) / COARSE)
        if 0 <= col < size and 0 <= row < size:
            out[3, row, col] = 1.0


@compiled
def _saturate(grid: Singles, most: float) -> None:
    """Turn metres of wall in a cell into a share: at most one wall runs through it each way."""
    for row in range(grid.shape[1]):
        for col in range(grid.shape[2]):
            norm = math.hypot(grid[0, row, col], grid[1, row, col])
            scale = 1.0 / max(norm, most)
            grid[0, row, col] *= scale
            grid[1, row, col] *= scale


@compiled
def _peaks(scores: Singles, limit: Floats, out: Floats) -> None:
    """Write the highest local maxima (score, shift x, shift y in m) of a circular correlation.

    limit: (3,), middle and radius in m of the shifts that count.
    """
    size = scores.shape[0]
    count = out.shape[0]
    for k in range(count):
        out[k, 0] = -1.0
    for row in range(size):
        for col in range(size):
            value = scores[row, col]
            if value <= out[count - 1, 0]:
                continue
            top = True
            for dr in range(-1, 2):
                for dc in range(-1, 2):
                    if scores[(row + dr) % size, (col + dc) % size] > value:
                        top = False
            x = COARSE * (col if col <= size // 2 else col - size)
            y = COARSE * (row if row <= size // 2 else row - size)
            if not top or math.hypot(x - limit[0], y - limit[1]) > limit[2]:
                continue
            place = count - 1
            while place > 0 and out[place - 1, 0] < value:
                out[place] = out[place - 1]
                place -= 1
            out[place, 0] = value
            out[place, 1] = x
            out[place, 2] = y
