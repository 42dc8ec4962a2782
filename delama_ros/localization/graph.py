"""A robust pose graph: relative-pose edges, unary priors, sparse Levenberg-Marquardt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from delama_ros.localization.se2 import Floats, Ints, inverse_spd, relative, relatives, wraps

Bools = npt.NDArray[np.bool_]
ANCHOR = 1e8  # information that holds the first keyframe in place ...
LOOSE = 1e-2  # ... and what is left of it when priors say where the map is
MOST = np.array([1e6, 1e6, 4e6])  # largest information of a fused edge: 1 mm, 0.03°


@dataclass(frozen=True)
class Prior:
    """A unary edge: where a keyframe is in the map frame according to somebody else."""

    keyframe: int
    pose: Floats  # (3,)
    information: Floats  # (3, 3), in the frame of the keyframe


class PoseGraph:
    """Edges between keyframes, by id; poses are kept by the caller.

    The error of edge (a, b) with measurement z is e = (z⁻¹ ∘ (a⁻¹ ∘ b)) as (x, y, yaw), so its
    information refers to the frame of b. Robust edges cost k²/2 · log(1 + eᵀΩe / k²).
    """

    def __init__(self, kernel: float) -> None:
        self.kernel = kernel  # k, in standard deviations
        self.first: Ints = np.empty(0, np.int64)  # (E,) ids a
        self.second: Ints = np.empty(0, np.int64)  # (E,) ids b, b > a
        self.measured: Floats = np.empty((0, 3))  # (E, 3) z
        self.information: Floats = np.empty((0, 3, 3))  # (E, 3, 3)
        self.covariance: Floats = np.empty((0, 3, 3))  # (E, 3, 3)
        self.robust: Bools = np.empty(0, bool)  # (E,)
        self.priors: dict[str, Prior] = {}

    def __len__(self) -> int:
        return len(self.first)

    def add(self, a: int, b: int, measured: Floats, information: Floats, robust: bool) -> None:
        """Add an edge from the older keyframe a to b; a second one is fused with the first."""
        if a >= b:
            raise ValueError(f'edge from keyframe {a} to {b}: expected the older one first')
        known = np.flatnonzero((self.first == a) & (self.second == b))
        if len(known):
            self._fuse(int(known[0]), measured, information, robust)
            return
        self.first = np.append(self.first, a)
        self.second = np.append(self.second, b)
        self.measured = np.concatenate([self.measured, measured[None]])
        self.information = np.concatenate([self.information, information[None]])
        self.covariance = np.concatenate([self.covariance, inverse_spd(information)[None]])
        self.robust = np.append(self.robust, robust)

    def _fuse(self, row: int, measured: Floats, information: Floats, robust: bool) -> None:
        old = self.information[row]
        total = old + information
        off = relative(self.measured[row], measured)
        mean = np.linalg.solve(total, information @ off)
        z = self.measured[row]
        c, s = np.cos(z[2]), np.sin(z[2])
        self.measured[row] = wrapped(
            z + np.array([c * mean[0] - s * mean[1], s * mean[0] + c * mean[1], mean[2]])
        )
        shrink = np.sqrt(np.minimum(1.0, MOST / np.diag(total)))
        self.information[row] = total * np.outer(shrink, shrink)
        self.covariance[row] = inverse_spd(self.information[row])
        self.robust[row] &= robust

    def neighbours(self, keyframe: int) -> Ints:
        """Ids of keyframes joined to one by an edge."""
        return np.concatenate(
            [self.second[self.first == keyframe], self.first[self.second == keyframe]]
        )

    def errors(self, ids: Ints, poses: Floats) -> tuple[Floats, Floats]:
        """Errors (E, 3) and their Mahalanobis squares (E,) at poses (K, 3) of sorted ids (K,)."""
        a, b = np.searchsorted(ids, self.first), np.searchsorted(ids, self.second)
        e = relatives(self.measured, relatives(poses[a], poses[b]))
        return e, np.einsum('ei,eij,ej->e', e, self.information, e)

    def weights(self, squares: Floats) -> Floats:
        """Weights (E,) of the edges under the Cauchy kernel."""
        return np.where(self.robust, 1.0 / (1.0 + squares / self.kernel**2), 1.0)

    def cost(self, ids: Ints, poses: Floats) -> float:
        """Robust cost at poses (K, 3)."""
        k2 = self.kernel**2
        _, squares = self.errors(ids, poses)
        total = np.where(self.robust, k2 * np.log1p(squares / k2), squares).sum()
        for prior in self.priors.values():
            e = relative(prior.pose, poses[np.searchsorted(ids, prior.keyframe)])
            total += k2 * np.log1p(e @ prior.information @ e / k2)
        return 0.5 * float(total)

    def optimize(self, ids: Ints, poses: Floats, iterations: int = 20) -> Floats:
        """Find the poses of least cost.

        Args:
            ids: (K,) sorted ids of all keyframes.
            poses: (K, 3) to start from; the first keyframe stays unless there are priors.
            iterations: at most.

        Returns:
            Poses (K, 3).

        """
        if len(ids) < 2 or not (len(self) or self.priors):
            return poses.copy()
        poses, damping = poses.copy(), 1e-6
        cost = self.cost(ids, poses)
        for _ in range(iterations):
            matrix, gradient = self._normal_equations(ids, poses)
            while True:
                diagonal = matrix.diagonal()
                damped = matrix.copy()
                damped.setdiag(diagonal * (1.0 + damping))
                factor = splu(
                    damped,
                    permc_spec='MMD_AT_PLUS_A',
                    diag_pivot_thresh=0.0,
                    options={'SymmetricMode': True},
                )
                step = factor.solve(-gradient).reshape(-1, 3)
                moved = wrapped(poses + step)
                new = self.cost(ids, moved)
                if new <= cost * (1.0 + 1e-12) or damping > 1e6:
                    break
                damping = max(damping * 10.0, 1e-4)
            if new > cost:
                break
            gain, poses, cost = cost - new, moved, new
            damping = max(damping * 0.1, 1e-9)
            if gain < 1e-4 * (1e-3 + new) or np.abs(step).max() < 1e-5:
                break
        return poses

    def _normal_equations(self, ids: Ints, poses: Floats) -> tuple[csc_matrix, Floats]:
        a, b = np.searchsorted(ids, self.first), np.searchsorted(ids, self.second)
        e, squares = self.errors(ids, poses)
        omega = self.information * self.weights(squares)[:, None, None]
        # e depends on b by A = Rzᵀ Raᵀ, on a by -A and on a's yaw by A (dy, -dx).
        turn = poses[a, 2] + self.measured[:, 2]
        c, s = np.cos(turn), np.sin(turn)
        dx, dy = (poses[b, :2] - poses[a, :2]).T
        jb = np.zeros((len(a), 3, 3))
        jb[:, 0, 0], jb[:, 0, 1], jb[:, 1, 0], jb[:, 1, 1], jb[:, 2, 2] = c, s, -s, c, 1.0
        ja = -jb
        ja[:, 0, 2], ja[:, 1, 2] = c * dy - s * dx, -s * dy - c * dx
        ta, tb = np.swapaxes(ja, 1, 2) @ omega, np.swapaxes(jb, 1, 2) @ omega
        haa, hab, hbb = ta @ ja, ta @ jb, tb @ jb
        n = len(ids)
        gradient = np.zeros((n, 3))
        np.add.at(gradient, a, np.einsum('eij,ej->ei', ta, e))
        np.add.at(gradient, b, np.einsum('eij,ej->ei', tb, e))
        blocks = [haa, hab, np.swapaxes(hab, 1, 2), hbb]
        rows, columns = [a, a, b, b], [a, b, a, b]
        hold = np.zeros((1, 3, 3))
        hold[0] = np.eye(3) * (LOOSE if self.priors else ANCHOR)
        blocks.append(hold)
        rows.append(np.zeros(1, np.int64))
        columns.append(np.zeros(1, np.int64))
        for prior in self.priors.values():
            k = int(np.searchsorted(ids, prior.keyframe))
            off = relative(prior.pose, poses[k])
            weight = 1.0 / (1.0 + float(off @ prior.information @ off) / self.kernel**2)
            c0, s0 = np.cos(prior.pose[2]), np.sin(prior.pose[2])
            j = np.array([[c0, s0, 0.0], [-s0, c0, 0.0], [0.0, 0.0, 1.0]])
            left = weight * j.T @ prior.information
            gradient[k] += left @ off
            blocks.append((left @ j)[None])
            rows.append(np.array([k]))
            columns.append(np.array([k]))
        r, q = np.concatenate(rows), np.concatenate(columns)
        data = np.concatenate(blocks)
        axis = np.arange(3)
        row = np.broadcast_to(3 * r[:, None, None] + axis[:, None], data.shape)
        column = np.broadcast_to(3 * q[:, None, None] + axis, data.shape)
        matrix = csc_matrix((data.ravel(), (row.ravel(), column.ravel())), shape=(3 * n, 3 * n))
        return matrix, gradient.ravel()

    def remove(self, keyframe: int, ids: Ints, poses: Floats) -> None:
        """Marginalise a keyframe: its edges become edges between its neighbours.

        A node with m edges is the centre of a star. The tree of m - 1 edges from the neighbour
        with the strongest edge (the hub) to the others keeps the pairwise marginal of hub and
        neighbour exactly and those of other pairs on the safe side (their covariance grows by
        twice that of the hub's edge).

        Args:
            keyframe: id to remove; must not carry a prior.
            ids: (K,) sorted ids, before the removal.
            poses: (K, 3).

        """
        mine = (self.first == keyframe) | (self.second == keyframe)
        _, squares = self.errors(ids, poses)
        weights = self.weights(squares)
        star: list[tuple[int, Floats, Floats, bool]] = []  # neighbour, pose and cov from k, robust
        for row in np.flatnonzero(mine):
            covariance = self.covariance[row] / max(float(weights[row]), 1e-3)
            if self.first[row] == keyframe:
                z, other = self.measured[row], int(self.second[row])
            else:
                z, other = turned(self.measured[row], covariance)[0], int(self.first[row])
                covariance = turned(self.measured[row], covariance)[1]
            star.append((other, z, covariance, bool(self.robust[row])))
        keep = ~mine
        self.first, self.second = self.first[keep], self.second[keep]
        self.measured, self.information = self.measured[keep], self.information[keep]
        self.covariance, self.robust = self.covariance[keep], self.robust[keep]
        if len(star) < 2:
            return
        star.sort(key=lambda arm: (float(np.trace(arm[2])), arm[0]))
        hub, hub_z, hub_covariance, hub_robust = star[0]
        back, back_covariance = turned(hub_z, hub_covariance)
        for other, z, covariance, robust in star[1:]:
            joined = composed(back, back_covariance, z, covariance)
            a, b = hub, other
            if a > b:
                joined, (a, b) = turned(*joined), (other, hub)
            self.add(a, b, joined[0], inverse_spd(joined[1]), robust or hub_robust)


def wrapped(poses: Floats) -> Floats:
    """Poses with yaw brought to [-π, π)."""
    out = poses.copy()
    out[..., 2] = wraps(out[..., 2])
    return out


def adjoint(pose: Floats) -> Floats:
    """Adjoint (3, 3): what a perturbation in the frame of a pose is in the parent frame."""
    c, s = np.cos(pose[2]), np.sin(pose[2])
    return np.array([[c, -s, pose[1]], [s, c, -pose[0]], [0.0, 0.0, 1.0]])


def turned(z: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Measurement and covariance of an edge, read the other way round."""
    c, s = np.cos(z[2]), np.sin(z[2])
    back = np.array([-c * z[0] - s * z[1], s * z[0] - c * z[1], -z[2]])
    a = adjoint(z)
    return back, a @ covariance @ a.T


def composed(
    first: Floats, first_covariance: Floats, second: Floats, second_covariance: Floats
) -> tuple[Floats, Floats]:
    """Two measurements, one after the other, with their covariance in the last frame."""
    c, s = np.cos(first[2]), np.sin(first[2])
    pose = np.array(
        [
            first[0] + c * second[0] - s * second[1],
            first[1] + s * second[0] + c * second[1],
            wraps(np.array(first[2] + second[2])),
        ]
    )
    a = np.linalg.solve(adjoint(second), np.eye(3))
    return pose, cast(Floats, a @ first_covariance @ a.T + second_covariance)
