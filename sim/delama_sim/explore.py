"""Exploration: each robot drives to the nearest place it has not seen, by its own taste."""

from __future__ import annotations

import math

import numpy as np

from delama_ros.geometry.compiled import compiled
from delama_ros.geometry.grid import Bools, Floats
from delama_sim.planner import SPACING, Planner

VIEW = 2.2  # m a robot looks around; short of its LiDAR, so that it enters rooms
LEAST_LEG = 0.9  # m, shorter legs would be dithering
RAYS = 280  # so close that no planning cell falls between two of them


@compiled
def _see(opaque: Bools, unseen: Bools, x: float, y: float, reach: float, rays: int) -> None:
    """Clear `unseen` along rays from (x, y) up to `reach`, in planning cells."""
    rows, cols = opaque.shape
    for k in range(rays):
        angle = 2.0 * math.pi * k / rays
        dx, dy = math.cos(angle), math.sin(angle)
        px, py = x, y
        for _ in range(int(reach)):  # a step of one cell cannot leap over a wall
            col, row = int(px), int(py)
            if not (0 <= row < rows and 0 <= col < cols) or opaque[row, col]:
                break
            unseen[row, col] = False
            px += dx
            py += dy


class Explorer:
    """An endless exploration path for one robot, leg by leg."""

    def __init__(self, planner: Planner, start: Floats, rng: np.random.Generator) -> None:
        self._planner = planner
        self._at = np.asarray(start, np.float64)
        rows, cols = planner.drivable.shape
        # Taste: patches of about a metre that this robot likes or dislikes, so that two robots
        # in the same place still go different ways.
        patch = max(1, round(1.0 / planner.pitch))
        taste = rng.uniform(0.6, 1.7, (rows // patch + 1, cols // patch + 1))
        spread = np.repeat(np.repeat(taste, patch, 0), patch, 1)[:rows, :cols]
        self._cost: Floats = planner.cost * spread
        self._unseen: Bools = planner.drivable.copy()
        self._look(self._at[None])

    def next_leg(self) -> Floats:
        """Way (n, 2) in world metres from where the last leg ended; n = 1 if there is no other."""
        leg = self._planner.route(self._at, self._unseen, cost=self._cost, least=LEAST_LEG)
        if len(leg) < 2:  # all seen: forget, and patrol
            self._unseen = self._planner.drivable.copy()
            self._look(self._at[None])
            self._unseen[self._planner.cell_of(self._at)] = False
            if not self._unseen.any():  # a place so small that all of it is in view
                self._unseen = self._planner.drivable.copy()
            leg = self._planner.route(self._at, self._unseen, cost=self._cost, least=LEAST_LEG)
        self._look(leg)
        self._at = leg[-1]
        return leg

    def path(self, length: float) -> Floats:
        """Way (n, 2) of at least `length` metres, or as far as there is anywhere to go."""
        points = [self._at[None]]
        so_far = 0.0
        while so_far < length:
            leg = self.next_leg()
            if len(leg) < 2:
                break
            points.append(leg[1:])
            so_far += float(np.hypot(*np.diff(leg, axis=0).T).sum())
        return np.concatenate(points)

    def _look(self, points: Floats) -> None:
        every = round(0.4 / SPACING)
        stride = self._planner.pitch / self._planner.map.resolution
        for x, y in self._planner.map.to_grid(np.concatenate([points[::every], points[-1:]])):
            _see(
                self._planner.opaque,
                self._unseen,
                x / stride,
                y / stride,
                VIEW / self._planner.pitch,
                RAYS,
            )
