"""Places: what the surroundings of a piece of wall look like, as seen from that wall.

A piece of wall has a position and a direction, so the walls around it can be described in a frame
of its own, in which two maps agree wherever their frames lie. Pieces of two maps with similar
surroundings propose a transform, and those of one window that propose the same one add up. This
takes milliseconds where correlation over all turns and shifts takes seconds; nothing is sent.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.compiled import compiled
from delama_ros.rendezvous.candidates import Candidate
from delama_ros.rendezvous.patches import Indices, Patch
from delama_ros.rendezvous.se2 import Floats, compose
from delama_ros.rendezvous.surface import DIRECTIONS, Surface

RADIUS = 4.0  # m of surroundings; what is near counts more ...
FADE = 2.4  # m, standard deviation of its weight
CELL = 0.8  # m
SIDE = 2 + int(2 * RADIUS / CELL)  # cells along the edge of a description
FACINGS = 4  # directions that wall in a cell faces
BUCKET = 0.5  # m, cells that surfels are looked up in
CHUNK = 1000  # places described at once
MOST = 30_000  # places of one map: bounds memory (60 MB) and time
NEAREST = 4  # places of the other map that one place may be
UNLIKE = 0.5  # cosine between descriptions below which two places have nothing in common
TOGETHER = 1.0, math.radians(8.0)  # m and rad within which proposals add up

Singles = npt.NDArray[np.float32]


class Places:
    """Descriptions of places of one map, computed bit by bit."""

    def __init__(self, surface: Surface, spacing: float) -> None:
        """Choose places; spacing: m between them, for walls of one direction."""
        self._surface = surface
        chosen = _thinned(surface, spacing)
        self._chosen = chosen[:: 1 + len(chosen) // MOST]
        normals = surface.normals[self._chosen]
        turns = np.arctan2(normals[:, 1], normals[:, 0])
        self.poses: Floats = np.column_stack([surface.points[self._chosen], turns])  # (n, 3)
        self._vectors = np.zeros((len(self._chosen), SIDE * SIDE * FACINGS), np.float32)
        self._described = 0
        codes = _codes(surface.points, BUCKET)
        self._order = np.argsort(codes, kind='stable')
        self._codes = codes[self._order]

    def describe(self) -> bool:
        """Describe the next places; returns whether all are described."""
        if self._described < len(self._chosen):
            part = slice(self._described, self._described + CHUNK)
            s, vectors = self._surface, self._vectors[part]
            _describe(
                s.points, s.normals, s.lengths, self._codes, self._order, self._chosen[part],
                vectors,
            )
            # Roots: a long wall is not worth more than many short ones.
            np.sqrt(vectors, out=vectors)
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
            self._described += CHUNK
        return self._described >= len(self._chosen)

    def within(self, patch: Patch) -> Indices:
        """Return which places lie in a patch."""
        rows, cols = patch.open.shape
        low = patch.centre + patch.corner
        high = low + np.array([cols, rows]) * patch.resolution
        at = self.poses[:, :2]
        return np.flatnonzero(((at >= low) & (at < high)).all(1))

    def like(self, other: Places, which: Indices) -> tuple[Indices, Floats]:
        """Return the places most like some of another map, (n, k), and how much, 0 to 1."""
        alike = other._vectors[which] @ self._vectors.T
        count = min(NEAREST, alike.shape[1])
        top = np.argpartition(-alike, count - 1, axis=1)[:, :count]
        return top, np.take_along_axis(alike, top, 1).astype(np.float64)


def propose(window: Patch, theirs: Places, own: Places, kept: int) -> list[Candidate]:
    """Return transforms of the peer's frame under which places in a window look alike.

    Args:
        window: of the peer's map.
        theirs: places of the peer's map.
        own: places of the map that stays.
        kept: how many at most, the best first.

    """
    which = theirs.within(window)
    if not len(which) or not len(own.poses):
        return []
    top, alike = own.like(theirs, which)
    weights = np.maximum(alike - UNLIKE, 0.0).ravel() ** 2
    # Each pair says where the centre of the window lies.
    mine = own.poses[top]  # (n, k, 3)
    turns = mine[..., 2] - theirs.poses[which, 2][:, None]
    x, y = (window.centre - theirs.poses[which, :2]).T[..., None]
    c, s = np.cos(turns), np.sin(turns)
    spots = np.stack([mine[..., 0] + c * x - s * y, mine[..., 1] + s * x + c * y], -1)
    spots, turns = spots.reshape(-1, 2), turns.ravel()
    near = np.linalg.norm(spots[:, None] - spots[None], axis=-1) < TOGETHER[0]
    off = np.remainder(turns[None] - turns[:, None] + np.pi, 2 * np.pi) - np.pi
    near &= np.abs(off) < TOGETHER[1]
    votes = near @ weights
    free = votes > 0.0
    found: list[Candidate] = []
    back = np.array([*(-window.centre).tolist(), 0.0])
    for leader in np.argsort(-votes, kind='stable').tolist():
        if len(found) >= kept:
            break
        if free[leader]:
            share = np.where(near[leader], weights, 0.0) / votes[leader]
            at = np.array([*(share @ spots).tolist(), turns[leader] + share @ off[leader]])
            x, y, yaw = compose(at, back).tolist()
            found.append(Candidate((x, y, yaw), float(votes[leader])))
            free &= ~near[leader]
    return found


def _codes(points: Floats, cell: float) -> Indices:
    """Return a number per cell, row by row: cells of one row that are neighbours are so, too."""
    at = np.floor(points / cell).astype(np.int64)
    codes: Indices = (at[:, 1] << 32) + at[:, 0]
    return codes


def _thinned(surface: Surface, spacing: float) -> Indices:
    """Return one surfel per square of `spacing` metres and direction that walls face there."""
    angles = np.arctan2(surface.normals[:, 1], surface.normals[:, 0])
    facing = np.floor((angles + np.pi) / (2 * np.pi) * DIRECTIONS).astype(np.int64) % DIRECTIONS
    both = np.column_stack([_codes(surface.points, spacing), facing])
    _, first = np.unique(both, axis=0, return_index=True)
    return np.sort(first)


@compiled
def _describe(
    points: Floats, normals: Floats, lengths: Floats, codes: Indices, order: Indices,
    chosen: Indices, out: Singles,
) -> None:
    """Add up metres of wall around surfels by cell and facing, bilinearly, in their frames."""
    reach = int(RADIUS / BUCKET) + 1
    for place in range(chosen.shape[0]):
        i = chosen[place]
        px, py, c, s = points[i, 0], points[i, 1], normals[i, 0], normals[i, 1]
        col, row = math.floor(px / BUCKET), math.floor(py / BUCKET)
        for r in range(row - reach, row + reach + 1):
            first = np.searchsorted(codes, (r << 32) + col - reach)
            last = np.searchsorted(codes, (r << 32) + col + reach + 1)
            for j in order[first:last]:
                dx, dy = points[j, 0] - px, points[j, 1] - py
                far = dx * dx + dy * dy
                if far > RADIUS * RADIUS:
                    continue
                u, v = (c * dx + s * dy + RADIUS) / CELL, (c * dy - s * dx + RADIUS) / CELL
                nx = c * normals[j, 0] + s * normals[j, 1]
                ny = c * normals[j, 1] - s * normals[j, 0]
                weight = lengths[j] * math.exp(-0.5 * far / (FADE * FADE))
                fu, fv = u - math.floor(u), v - math.floor(v)
                for k in range(4):
                    part = weight * (fu if k & 1 else 1.0 - fu) * (fv if k & 2 else 1.0 - fv)
                    cell = (math.floor(u) + (k & 1)) * SIDE + math.floor(v) + (k >> 1)
                    out[place, cell * FACINGS + (0 if nx > 0.0 else 1)] += part * nx * nx
                    out[place, cell * FACINGS + (2 if ny > 0.0 else 3)] += part * ny * ny
