"""Implicit maps completed by the decoder of tile maps, for a fair comparison.

The decoder needs to know where somebody has looked. A network of this kind does not know: it calls
free what nobody has seen. A robot has looked where its own beams went, and somebody must have
looked wherever the network claims a wall.
"""

from __future__ import annotations

import math

import numpy as np

from delama_ros.experiments.baselines.implicit_map import Learned
from delama_ros.experiments.mapping.dataset import scan_of
from delama_ros.geometry.grid import Floats, OccupancyMap
from delama_ros.mapping.completion import Decoder, view_of
from delama_ros.mapping.scan import Keys, count_marks, scan_marks
from delama_ros.mapping.tiles import FIRM, TileModel, part_means
from delama_sim.protocol import MappingRun


class CompletedMaps:
    """Draws networks as completed maps, on the tiles that the plan lies on."""

    def __init__(
        self, run: MappingRun, poses: Floats, model: TileModel, decoder: Decoder
    ) -> None:
        self._run, self._poses, self._model, self._decoder = run, poses, model, decoder
        tile = model.cells * model.resolution
        low = np.array(run.truth.origin[:2])
        size = run.truth.resolution * np.array(run.truth.occupied.shape[::-1])
        first = np.floor(low / tile).astype(int)
        columns, rows = (math.ceil(n) for n in (low + size) / tile - first)
        iy, ix = np.indices((rows, columns))
        self._keys: Keys = (np.stack([ix, iy], -1).reshape(-1, 2) + first).astype(np.int32)
        self._where = {tuple(key): n for n, key in enumerate(self._keys.tolist())}
        inside = (np.arange(model.cells) + 0.5) * model.resolution
        grid = np.stack(np.meshgrid(inside, inside), -1)  # (S, S, 2), [y, x]
        self._places = (self._keys[:, None, None] * tile + grid).reshape(-1, 2)
        # weight of own evidence in the parts of each tile, (N, n, P)
        parts = model.part_table.shape[0]
        self._evidence = np.zeros((poses.shape[1], len(self._keys), parts))

    def __call__(self, step: Learned) -> list[OccupancyMap]:
        """Return every robot's map after a step; steps come in order."""
        S = self._model.cells
        logits = step.logits_at(self._places).numpy().reshape(len(step.theta), -1, S, S)
        maps = []
        for robot, own in enumerate(logits):
            self._look(step.number, robot)
            walls = part_means((own > 0).astype(np.float64)) > 0
            evidence = np.maximum(self._evidence[robot], FIRM * walls)
            seen = view_of(self._keys, own - self._model.bias, evidence, self._model.bias)
            maps.append(self._decoder.complete(seen, self._model.resolution))
        return maps

    def _look(self, step: int, robot: int) -> None:
        x, y, yaw = self._poses[step, robot].tolist()
        part = scan_marks(
            scan_of(self._run, step, robot), (x, y, yaw), resolution=self._model.resolution,
            tile_cells=self._model.cells,
        )
        keys, counts = count_marks([part])
        inside = [n for n, key in enumerate(keys.tolist()) if tuple(key) in self._where]
        weight = self._model.statistics(counts[inside])[2]
        at = [self._where[tuple(key)] for key in keys[inside].tolist()]
        self._evidence[robot, at] += weight
