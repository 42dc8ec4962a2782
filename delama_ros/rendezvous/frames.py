"""A common frame without a leader: who uses which frame, and when a robot changes it.

A frame is known by the robot that made it and a number that this robot never uses twice (epoch).
Every model a robot sends is in the frame it uses and carries this tag; the frame outlives its
maker. A robot that believes a transform to a peer in a smaller frame moves there. Tags only ever
fall, so robots that can reach each other end in the same frame whatever the order of messages;
the one way up is to leave a frame that most of its users contradict.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from delama_ros.rendezvous.se2 import (
    IDENTITY,
    Floats,
    compose,
    compose_covariance,
    inverse,
    inverse_covariance,
)

PATIENCE = 2  # updates that a robot stays out of a frame it has left; doubles every time
STAND = 3  # updates that the smaller of two equal sides by name waits for the other to leave
LONGEST = 256  # updates that it stays out at most
MAX_EPOCH = 2**32 - 1


class Tag(NamedTuple):
    """Name of a frame; the one that comes first in order wins."""

    maker: str
    epoch: int
    # m and rad, standard deviations of where the maker started in the map; None: it did not know
    spread: tuple[float, float] | None = None

    @property
    def order(self) -> tuple[bool, str, int]:
        """Return what frames are sorted by: those that are about where the map is come first."""
        return self.spread is None, self.maker, self.epoch


EXACT = Tag('', 0, (0.0, 0.0))  # the map frame itself, of robots that know where they started


class Bond(IntEnum):
    """What a robot holds of a peer's transform."""

    NONE = 0  # nothing: they may share a frame through others
    HELD = 1  # believed
    OPPOSED = 2  # contradicted by what both have mapped


class Why(IntEnum):
    """Why a robot changed its frame."""

    JOINED = 1  # a peer's frame is smaller
    FOLLOWED = 2  # a peer of the same frame moved on and reported where
    LEFT = 3  # more peers in the frame contradict this robot than agree with it


@dataclass(frozen=True, eq=False)
class Link:
    """A peer's frame as seen from this robot's."""

    bond: Bond
    transform: Floats = field(default_factory=IDENTITY.copy)  # peer's frame → own frame
    covariance: Floats = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(frozen=True, eq=False)
class Move:
    """A change of frame: all that is known is to be moved by `transform`."""

    old: Tag
    new: Tag
    transform: Floats  # (3,), old frame → new frame
    covariance: Floats  # (3, 3)
    why: Why


class FrameChoice:
    """Which frame one robot uses; a pure state machine, updated once per step."""

    def __init__(
        self, robot: str, epoch: int = 0, spread: tuple[float, float] | None = None
    ) -> None:
        """Begin in a frame of its own.

        Args:
            robot: name, unique in the swarm.
            epoch: a number this robot has never begun with: 0 if it keeps its memory for ever,
                otherwise for instance the seconds of the clock when it started.
            spread: m and rad, standard deviations of where it starts in the map, if it knows.

        """
        if not robot:
            raise ValueError('robot name is empty, expected a name')
        if not 0 <= epoch <= MAX_EPOCH:
            raise ValueError(f'epoch is {epoch}, expected 0 to {MAX_EPOCH}')
        self.robot = robot
        self.tag = Tag(robot, epoch, spread)
        self._next = epoch + 1
        self._left: dict[Tag, int] = {}  # how often
        self._banned: dict[Tag, int] = {}  # updates to stay out
        self._stood = 0  # updates in a row in which it stayed although as many contradict it

    def update(
        self,
        tags: Mapping[str, Tag],
        links: Mapping[str, Link],
        moves: Mapping[str, Move] | None = None,
    ) -> Move | None:
        """Decide on the frame for the next step.

        Args:
            tags: frame of each peer received lately, from its messages.
            links: what is held of peers' transforms, each for the frame that `tags` names; a peer
                that is not in here counts as Bond.NONE.
            moves: the last change of frame that peers reported, if they do.

        Returns:
            The move to make, or None. The caller re-expresses its map and beliefs.

        """
        self._banned = {tag: left - 1 for tag, left in self._banned.items() if left > 1}
        leave = self._leave(tags, links)
        if leave is not None:
            return leave
        best: Move | None = None
        for peer in sorted(tags):
            link = links.get(peer, Link(Bond.NONE))
            offer = self._offer(tags[peer], link, (moves or {}).get(peer))
            if offer is not None and (best is None or _rank(offer) < _rank(best)):
                best = offer
        if best is not None:
            self.tag = best.new
        return best

    def forget(self) -> Move:
        """Leave the frame at once and begin a new one, as an operator may ask."""
        return self._new_frame()

    def _offer(self, tag: Tag, link: Link, move: Move | None) -> Move | None:
        if tag in self._banned or tag.order >= self.tag.order:
            return None
        if link.bond is Bond.HELD:
            transform = inverse(link.transform)
            covariance = inverse_covariance(link.transform, link.covariance)
            return Move(self.tag, tag, transform, covariance, Why.JOINED)
        if link.bond is Bond.NONE and move is not None and (move.old, move.new) == (self.tag, tag):
            return Move(self.tag, tag, move.transform, move.covariance, Why.FOLLOWED)
        return None

    def _leave(self, tags: Mapping[str, Tag], links: Mapping[str, Link]) -> Move | None:
        here = [peer for peer, tag in tags.items() if tag == self.tag and peer in links]
        opposed = {peer for peer in here if links[peer].bond is Bond.OPPOSED}
        held = {peer for peer in here if links[peer].bond is Bond.HELD}
        mine = {self.robot, *held}
        if len(opposed) < len(mine):
            self._stood = 0
            return None
        # Between sides of equal size, that of the frame's maker or smallest name stays. It waits
        # for the other, which may see less of the contradiction, but not for ever.
        first = _anchor(mine, self.tag) < _anchor(opposed, self.tag)
        if len(opposed) == len(mine) and first and self._stood < STAND:
            self._stood += 1
            return None
        return self._new_frame()

    def _new_frame(self) -> Move:
        self._stood = 0
        times = self._left.get(self.tag, 0)
        self._left[self.tag] = times + 1
        self._banned[self.tag] = min(PATIENCE * 2 ** min(times, 30), LONGEST)
        old, self.tag = self.tag, Tag(self.robot, self._next % (MAX_EPOCH + 1))
        self._next += 1
        return Move(old, self.tag, IDENTITY.copy(), np.zeros((3, 3)), Why.LEFT)


def _anchor(robots: Iterable[str], tag: Tag) -> tuple[bool, str]:
    return min((name != tag.maker, name) for name in robots)


def _rank(move: Move) -> tuple[tuple[bool, str, int], float]:
    return move.new.order, float(np.trace(move.covariance))


@dataclass(frozen=True, eq=False)
class Edge:
    """A believed transform between the frames of two robots."""

    first: str
    second: str
    transform: Floats  # second's frame → first's frame
    covariance: Floats  # (3, 3)


@dataclass(frozen=True, eq=False)
class Group:
    """Robots that believed transforms connect, and where their frames lie."""

    root: str  # smallest name: its frame is the common one
    transforms: dict[str, Floats]  # robot's frame → root's frame
    covariances: dict[str, Floats]


def groups(robots: Iterable[str], edges: Iterable[Edge]) -> list[Group]:
    """Return the connected groups, by their smallest names; the order of edges does not matter.

    Transforms follow the path of least uncertainty: Dijkstra over traces of covariances, edges
    by name where these are equal.
    """
    around: dict[str, list[tuple[float, str, Floats, Floats]]] = {name: [] for name in robots}
    for e in edges:
        if e.first == e.second or e.first not in around or e.second not in around:
            continue
        cost = float(np.trace(e.covariance))
        around[e.first].append((cost, e.second, e.transform, e.covariance))
        back = inverse_covariance(e.transform, e.covariance)
        around[e.second].append((cost, e.first, inverse(e.transform), back))
    found: list[Group] = []
    settled: set[str] = set()
    for root in sorted(around):
        if root in settled:
            continue
        group = Group(root, {}, {})
        heap: list[tuple[float, str, int]] = [(0.0, root, 0)]
        ways: list[tuple[Floats, Floats]] = [(IDENTITY.copy(), np.zeros((3, 3)))]
        while heap:
            spent, name, way = heapq.heappop(heap)
            if name in group.transforms:
                continue
            at, covariance = ways[way]
            group.transforms[name], group.covariances[name] = at, covariance
            settled.add(name)
            for cost, other, step, spread in sorted(
                around[name], key=lambda w: (w[0], w[1], *w[2].tolist())
            ):
                if other not in group.transforms:
                    ways.append((
                        compose(at, step), compose_covariance(at, covariance, step, spread)
                    ))
                    heapq.heappush(heap, (spent + cost, other, len(ways) - 1))
        found.append(group)
    return found
