"""Exact distances on grids from every cell to the nearest marked one."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.compiled import compiled
from delama_ros.geometry.grid import Bools, Floats

FAR = 1 << 20  # cells; farther than any map is wide


@compiled
def euclidean(marked: Bools) -> Floats:
    """Distances (rows, cols) in cells between centres; FAR and more if nothing is marked.

    Columns first, then in each row the lower envelope of the parabolas the columns send up
    (Felzenszwalb and Huttenlocher 2012).
    """
    rows, cols = marked.shape
    down = np.empty((rows, cols), np.float64)
    for c in range(cols):
        near = FAR
        for r in range(rows):
            near = 0 if marked[r, c] else near + 1
            down[r, c] = near
        near = FAR
        for r in range(rows - 1, -1, -1):
            near = 0 if marked[r, c] else near + 1
            down[r, c] = min(down[r, c], near)
    result = np.empty((rows, cols), np.float64)
    apex = np.empty(cols, np.int64)  # columns whose parabola is part of the envelope
    begins = np.empty(cols + 1, np.float64)
    for r in range(rows):
        last = 0
        apex[0] = 0
        begins[0], begins[1] = -math.inf, math.inf
        for c in range(1, cols):
            height = down[r, c] ** 2 + c * c
            while True:
                a = apex[last]
                meet = (height - (down[r, a] ** 2 + a * a)) / (2.0 * (c - a))
                if meet > begins[last]:
                    break
                last -= 1
            last += 1
            apex[last] = c
            begins[last], begins[last + 1] = meet, math.inf
        k = 0
        for c in range(cols):
            while begins[k + 1] < c:
                k += 1
            a = apex[k]
            result[r, c] = math.sqrt((c - a) ** 2 + down[r, a] ** 2)
    return result


@compiled
def chessboard(marked: Bools) -> npt.NDArray[np.int32]:
    """Count a king's moves (rows, cols) to the nearest marked cell; FAR and more if none is."""
    rows, cols = marked.shape
    away = np.empty((rows, cols), np.int32)
    for r in range(rows):
        for c in range(cols):
            near = 0 if marked[r, c] else FAR
            if r > 0:
                for k in range(max(c - 1, 0), min(c + 2, cols)):
                    near = min(near, away[r - 1, k] + 1)
            if c > 0:
                near = min(near, away[r, c - 1] + 1)
            away[r, c] = near
    for r in range(rows - 1, -1, -1):
        for c in range(cols - 1, -1, -1):
            near = away[r, c]
            if r < rows - 1:
                for k in range(max(c - 1, 0), min(c + 2, cols)):
                    near = min(near, away[r + 1, k] + 1)
            if c < cols - 1:
                near = min(near, away[r, c + 1] + 1)
            away[r, c] = near
    return away
