"""How well keyframes know each other: covariances along the most certain paths of the graph."""

from __future__ import annotations

import heapq
import math

import numpy as np

from delama_ros.localization.graph import PoseGraph
from delama_ros.localization.se2 import Floats, Ints, compiled

LEVER = 3.0  # m, at which a radian counts as metres when paths are compared


def relative_covariances(graph: PoseGraph, ids: Ints, poses: Floats, source: int) -> Floats:
    """Covariances of all keyframes relative to one.

    Each is summed up along the path with the least total variance, which ignores all other paths
    and is therefore on the safe side.

    Args:
        graph: the pose graph.
        ids: (K,) sorted ids.
        poses: (K, 3).
        source: id of the keyframe to start from.

    Returns:
        (K, 3, 3), each in the frame of its keyframe; infinite variances where no path leads.

    """
    a, b = np.searchsorted(ids, graph.first), np.searchsorted(ids, graph.second)
    return _propagate(a, b, graph.covariance, poses, int(np.searchsorted(ids, source)))


@compiled
def _adjoint(dx: float, dy: float, yaw: float) -> Floats:
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, dy], [s, c, -dx], [0.0, 0.0, 1.0]])


@compiled
def _relative(poses: Floats, i: int, j: int) -> tuple[float, float, float]:
    c, s = math.cos(poses[i, 2]), math.sin(poses[i, 2])
    dx, dy = poses[j, 0] - poses[i, 0], poses[j, 1] - poses[i, 1]
    return c * dx + s * dy, c * dy - s * dx, poses[j, 2] - poses[i, 2]


@compiled
def _propagate(a: Ints, b: Ints, covariances: Floats, poses: Floats, source: int) -> Floats:
    n, edges = len(poses), len(a)
    starts = np.zeros(n + 1, np.int64)
    for e in range(edges):
        starts[a[e] + 1] += 1
        starts[b[e] + 1] += 1
    starts = np.cumsum(starts)
    filled = starts[:-1].copy()
    adjacent = np.empty(2 * edges, np.int64)
    for e in range(edges):
        adjacent[filled[a[e]]] = e
        filled[a[e]] += 1
        adjacent[filled[b[e]]] = e
        filled[b[e]] += 1
    out = np.zeros((n, 3, 3))
    for k in range(n):
        for axis in range(3):
            out[k, axis, axis] = np.inf
    cost = np.full(n, np.inf)
    done = np.zeros(n, np.bool_)
    cost[source] = 0.0
    out[source] = 0.0
    heap = [(0.0, source)]
    while len(heap) > 0:
        _, i = heapq.heappop(heap)
        if done[i]:
            continue
        done[i] = True
        for slot in range(starts[i], starts[i + 1]):
            e = adjacent[slot]
            j = b[e] if a[e] == i else a[e]
            if done[j]:
                continue
            own = covariances[e]
            length = own[0, 0] + own[1, 1] + LEVER * LEVER * own[2, 2]
            if cost[i] + length >= cost[j]:
                continue
            cost[j] = cost[i] + length
            x, y, yaw = _relative(poses, i, j)
            if b[e] == i:  # read backwards: the covariance is given at i's end
                x2, y2, yaw2 = _relative(poses, j, i)
                own = _adjoint(x2, y2, yaw2) @ own @ _adjoint(x2, y2, yaw2).T
            back = np.linalg.solve(_adjoint(x, y, yaw), np.eye(3))
            out[j] = back @ out[i] @ back.T + own
            heapq.heappush(heap, (cost[j], j))
    return out
