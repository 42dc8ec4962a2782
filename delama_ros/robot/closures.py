"""Loop closures with peers as priors of the robot's own pose graph.

Only peers with smaller names are followed, so the first robot stays where it is and nobody moves
in circles. Successive models of a peer share their data: what a peer's map says replaces what it
said before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set

import numpy as np

from delama_ros.geometry.grid import Pose
from delama_ros.localization.graph import Prior
from delama_ros.localization.se2 import Floats, inverse_spd, relative
from delama_ros.rendezvous.closures import find_closures
from delama_ros.rendezvous.surface import Surface

BESIDE = 6.0  # m between a window and a keyframe that has seen it
# Priors are renewed if one of them says that the map is off by more than this: m, rad.
OFF = 0.015, math.radians(0.15)


class Closures:
    """Priors by peer; each concerns the keyframe nearest to a window that matched."""

    def __init__(self) -> None:
        """Start without any."""
        self._priors: dict[str, dict[int, Prior]] = {}
        self._changed = False

    def keep(self, peers: Set[str]) -> None:
        """Withdraw the priors of all other peers."""
        for peer in self._priors.keys() - peers:
            del self._priors[peer]
            self._changed = True

    def compare(
        self, peer: str, own: Surface, other: Surface, keyframes: Mapping[int, Pose],
        transform: Floats,
    ) -> None:
        """Match the robot's map with that of a peer in its frame.

        Args:
            peer: its name.
            own: surface of the robot's map.
            other: of the peer's.
            keyframes: poses by id that the robot's map was made with.
            transform: (3,) of the robot's map under which it begins to match that of the peer.
        """
        found: dict[int, Prior] = {}
        far = False
        ids = np.array(list(keyframes), np.int64)
        poses = np.array([keyframes[name] for name in keyframes]).reshape(-1, 3)
        for closure in find_closures(own, other, transform) if len(ids) else ():
            gaps = np.hypot(*(poses[:, :2] - closure.centre).T)
            nearest = int(np.argmin(gaps))
            name = int(ids[nearest])
            if gaps[nearest] > BESIDE or name in found:
                continue
            at = closure.corrected(poses[nearest])
            off = relative(poses[nearest], at)
            far |= math.hypot(off[0], off[1]) > OFF[0] or abs(float(off[2])) > OFF[1]
            found[name] = Prior(name, at, inverse_spd(closure.spread_at(poses[nearest])))
        before = len(self._priors.get(peer, ()))
        if far or abs(len(found) - before) > 0.5 * before:
            self._priors[peer] = found
            self._changed = True

    def take(self) -> dict[str, Prior] | None:
        """Return all priors that hold from now on, by name; None: those of the last call."""
        if not self._changed:
            return None
        self._changed = False
        return {
            f'{peer}/{name}': prior
            for peer, own in sorted(self._priors.items()) for name, prior in own.items()
        }
