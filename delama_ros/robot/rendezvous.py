"""Rendezvous of one robot: in whose frame it maps, decided after every step from models alone.

Each robot begins in a frame of its own. After a step it compares what it knows in its frame with
what it received in each other frame, the models of all robots there together, and looks for a
transform under which the two agree. It moves to the smallest frame that it believes to know: its
keyframes are re-expressed there, and its next model is laid out in it. Robots in one frame go on
comparing what each has seen itself, and correct their poses by it. One whose map is contradicted is
left out of the collaboration, and leaves the frame if most of its users contradict it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from delama_ros.core.blocks import Model, decode, union
from delama_ros.geometry.frame_id import join, split
from delama_ros.geometry.grid import Floats, Pose
from delama_ros.geometry.poses import as_pose
from delama_ros.localization.graph import Prior
from delama_ros.mapping.mapper import Mapper
from delama_ros.rendezvous.attempts import BUDGET, Attempts, Task
from delama_ros.rendezvous.belief import Belief, Rules, State
from delama_ros.rendezvous.frames import EXACT, Bond, FrameChoice, Link, Move, Tag
from delama_ros.rendezvous.outcome import Reason
from delama_ros.rendezvous.se2 import inverse
from delama_ros.rendezvous.surface import Tiles, tiles_of
from delama_ros.rendezvous.window import StartPrior
from delama_ros.robot.closures import Closures
from delama_ros.robot.status import FrameState

FRAMES = 16  # other frames that are looked at
GUEST = 1000  # tiles of a map in another frame that is shown: resampling them takes half a second
NO_TAG = Tag('', 0)
STATES = {
    State.SEARCHING: FrameState.SEARCHING,
    State.CANDIDATE: FrameState.CANDIDATE,
    State.JOINED: FrameState.JOINED,
    State.WITHDRAWN: FrameState.REFUSED,
    State.REFUSED: FrameState.REFUSED,
}
FIRM = 12.0  # m of wall by which maps must match before one is corrected by the other
# A frame that was agreed on: how far two maps in it may lie apart before they are compared, m, rad.
SHARED = np.diag([0.1**2, 0.1**2, 0.01**2])


def frame_id(tag: Tag) -> str:
    """Return the name of a frame as messages carry it."""
    return '' if tag == EXACT else join(*tag)


def tag_of(frame: str) -> Tag | None:
    """Return the tag of a frame id; None if it is not one."""
    if not frame:
        return EXACT
    made = split(frame)
    return None if made is None else Tag(*made)


@dataclass(frozen=True)
class PeerFrame:
    """What a robot knows of the frame that one peer maps in."""

    peer: str
    frame: str  # id; that of this robot if they share one
    state: FrameState
    reason: str  # in words: why there is no transform, or what it rests on
    overlap: float = 0.0  # share of the smaller map that both have, 0 to 1
    matched: float = 0.0  # m of wall that agree
    against: float = 0.0  # m of wall that stand in the other's free space
    transform: Pose | None = None  # peer's frame → own frame, of a candidate or joined frame
    error_m: float = 0.0  # standard deviation of the transform in its worst direction ...
    error_rad: float = 0.0  # ... and of its yaw


class Rendezvous:
    """Finds the transforms between peers' frames and this robot's; not thread-safe."""

    def __init__(
        self, robot: str, mapper: Mapper, *, epoch: int = 0, wall: float = 0.0,
        spread: tuple[float, float] | None = None,
    ) -> None:
        """Begin in a frame of its own.

        Args:
            robot: name in the swarm.
            mapper: of the robot; its models get the frame's id from now on.
            epoch: a number that this robot has not begun with before, larger than all it has used.
            wall: m of wall that one match must have before two frames are joined.
            spread: m and rad, standard deviations of where it starts in the map, if it knows.
        """
        self.choice = FrameChoice(robot, epoch, spread)
        self._rules = Rules(wall=wall)
        self.beliefs: dict[str, Belief] = {}  # about peers in this frame, by name ...
        self.frames: dict[Tag, Belief] = {}  # ... and about other frames
        self.moves = 0
        self._checks, self._searches = Attempts(), Attempts()
        self._tags: dict[str, Tag] = {}
        self._others: dict[Tag, Model] = {}  # what was received in other frames
        self._guests: set[Tag] = set()  # frames whose maps are shown in this one
        self._tried: set[str] = set()  # peers and frames that were looked for in this step
        self._closures = Closures()
        self._mapper = mapper
        mapper.agent.start_epoch(epoch)
        resumed = tag_of(mapper.agent.frame)
        if resumed not in (None, EXACT):  # a memory that was saved in a common frame
            self.choice.tag = resumed
        mapper.agent.frame = frame_id(self.choice.tag)

    def update(self, budget: float = BUDGET) -> Move | None:
        """Compare models after a step and choose the frame for the next one.

        The caller re-expresses its localization by the transform of the move; the map is moved
        here. Then it passes on `priors` to the localization.

        Args:
            budget: s of one core that may be spent on searching.

        Returns:
            The change of frame, or None.
        """
        self._note()
        if not self._tags:
            return None
        here = self.choice.tag
        began = time.perf_counter()
        self._try(self._checks, [*self.beliefs.values()], 0.25 * budget)
        self._try(self._searches, [*self.frames.values()], 0.75 * budget)
        # What one frame adds to the map may be what another one has in common with it.
        while self._welcome() and time.perf_counter() - began < budget:
            self._searches.set_own(self._tiles(self._mapper.known))
            apart = [belief for belief in self.frames.values() if not belief.joined]
            self._try(self._searches, apart, budget - (time.perf_counter() - began))
        opposed = self._opposed()
        links = {
            name: Link(Bond.OPPOSED) if name in opposed
            else self.beliefs[name].link if tag == here else self.frames[tag].link
            for name, tag in self._tags.items()
        }
        move = self.choice.update(self._tags, links)
        if move is not None:
            self._follow(move)
        self._close(opposed)
        self._mapper.agent.excluded = frozenset(opposed & self.beliefs.keys())
        return move

    def _try(self, attempts: Attempts, beliefs: list[Belief], budget: float) -> None:
        """Spend time on attempts."""
        here, known = self.choice.tag.order, {belief.peer: belief for belief in beliefs}
        tags = {name: tag_of(name) if attempts is self._searches else None for name in known}
        # A robot that would not move anyway leaves long searches to the other one.
        tasks = [
            Task(
                name, belief.transform if belief.joined else None,
                None if (tag := tags[name]) is None else self._prior(tag),
                windows=tag is None or tag.order < here, shared=tag is None,
            )
            for name, belief in known.items()
        ]
        before = frozenset(self._tried)
        for result in attempts.run(tasks, budget):
            # A second search in a step may find what the first one missed. What windows of large
            # maps say must not add up twice, and that nothing is found either is no news.
            outcome = result.outcome
            if result.peer not in before or (outcome.accepted and outcome.windows <= 1):
                known[result.peer].update(outcome)
            if result.searched:
                self._tried.add(result.peer)

    def _welcome(self) -> bool:
        """Show the maps of frames that are newly believed beside the robot's own."""
        new = [
            tag for tag, belief in self.frames.items() if belief.joined and tag not in self._guests
        ]
        for tag in new:
            transform = self.frames[tag].transform
            assert transform is not None
            if len(self._others[tag].codes) <= GUEST:
                self._mapper.add_guest(self._others[tag], as_pose(transform))
        self._guests.update(new)
        return bool(new)

    def _opposed(self) -> frozenset[str]:
        """Return the peers in this frame whose maps are somewhere else than this robot's says.

        A belief that was withdrawn may be followed by one in another transform. That tells where
        the peer should be, and does not make its map right until it is there.
        """
        centre = np.array([*self._mapper.centre, 0.0])
        return frozenset(
            name for name, belief in self.beliefs.items()
            if belief.withdrawals and not belief.near(centre)
        )

    def priors(self) -> dict[str, Prior] | None:
        """Return where keyframes belong according to peers' maps; None: as the last call said."""
        return self._closures.take()

    def belief(self, peer: str) -> Belief | None:
        """Return what is believed about a peer, or about the frame that it maps in."""
        tag = self._tags.get(peer)
        return self.beliefs.get(peer) if tag == self.choice.tag else self.frames.get(tag or NO_TAG)

    def peer(self, name: str) -> PeerFrame:
        """Return what is known of the frame of a peer, for status messages and people."""
        frame = frame_id(self._tags.get(name, NO_TAG)) if name in self._tags else ''
        belief = self.belief(name)
        if belief is None:
            return PeerFrame(name, frame, FrameState.SEARCHING, Reason.NOTHING_YET.text)
        transform, covariance = belief.transform, belief.covariance
        return PeerFrame(
            name, frame, STATES[belief.state], belief.reason.text,
            overlap=belief.overlap, matched=belief.matched, against=belief.against,
            transform=None if transform is None else as_pose(transform),
            error_m=math.sqrt(max(float(np.linalg.eigvalsh(covariance[:2, :2])[-1]), 0.0)),
            error_rad=math.sqrt(max(float(covariance[2, 2]), 0.0)),
        )

    def peers(self) -> tuple[PeerFrame, ...]:
        """Return what is known of the frames of all peers received lately, by name."""
        return tuple(self.peer(name) for name in sorted(self._tags))

    def forget(self) -> Move:
        """Leave the common frame and begin a new one."""
        move = self.choice.forget()
        self._follow(move)
        return move

    def _note(self) -> None:
        """Take in the models received in the last step."""
        agent = self._mapper.agent
        self._tags = dict.fromkeys(agent.received, self.choice.tag)
        others: dict[Tag, list[Model]] = {}
        for name, message in sorted(agent.foreign.items()):
            tag = tag_of(message.frame)
            if tag is None or (tag == EXACT and self.choice.tag.spread is None):
                continue  # without knowing its own start, a robot leaves those that do alone
            if tag in others or len(others) < FRAMES:
                self._tags[name] = tag
                others.setdefault(tag, []).append(message.model)
        for tag in self.frames.keys() - others.keys():
            self._searches.drop(frame_id(tag))
        self.frames = {
            tag: self.frames.get(tag) or Belief(frame_id(tag), self._rules)
            for tag in sorted(others)
        }
        # Names of frames only fall, unless a robot leaves one because its map is contradicted.
        here = self.choice.tag.order
        agent.take_back(name for name, tag in self._tags.items() if tag.order > here)
        self.beliefs = {
            name: belief for name, belief in self.beliefs.items() if name in agent.received
        }
        for name, model in sorted(agent.received.items()):
            if name not in self.beliefs:
                self.beliefs[name] = Belief(name)
                self.beliefs[name].give(np.zeros(3), SHARED)
            self._checks.set_peer(name, self._tiles(model))
        self._others = {tag: together(models) for tag, models in others.items()}
        self._guests, self._tried = set(), set()
        for tag, model in self._others.items():
            self._searches.set_peer(frame_id(tag), self._tiles(model))
        self._checks.set_own(self._tiles(agent.local))
        if others:
            self._searches.set_own(self._tiles(self._mapper.known))

    def _prior(self, tag: Tag) -> StartPrior | None:
        """Return how well it is known that another frame coincides with this one, if it is."""
        own, other = self.choice.tag.spread, tag.spread
        if own is None or other is None:
            return None
        return StartPrior(math.hypot(own[0], other[0]), math.hypot(own[1], other[1]))

    def _follow(self, move: Move) -> None:
        self.moves += 1
        x, y, yaw = move.transform.tolist()
        self._mapper.reframe(frame_id(move.new), (x, y, yaw))
        self.beliefs = {}
        self._closures.keep(frozenset())
        self._checks, self._searches = Attempts(), Attempts()  # those were in the old frame
        for belief in self.frames.values():
            belief.move_own(move.transform)
        self._guests = set()
        self._welcome()

    def _close(self, opposed: frozenset[str]) -> None:
        """Compare the map, window by window, with those of peers in the same frame."""
        name = self._mapper.agent.name
        followed = {
            peer for peer, belief in self.beliefs.items()
            if peer < name and peer not in opposed and belief.joined
        }
        self._closures.keep(followed)
        for peer in sorted(followed):
            belief = self.beliefs[peer]
            if belief.reason is Reason.MATCHED and belief.matched >= FIRM:
                own, other = self._checks.surfaces(peer)
                assert belief.transform is not None
                self._closures.compare(
                    peer, own, other, self._mapper.modelled, inverse(belief.transform)
                )

    def _tiles(self, model: Model) -> Tiles:
        tile = self._mapper.model
        table: Floats = tile.table
        return tiles_of(
            decode(model.codes), model.theta, model.evidence, table, tile.bias, tile.resolution
        )


def together(models: Sequence[Model]) -> Model:
    """Return models of one frame as one: θ of a tile is the mean by evidence."""
    if len(models) == 1:
        return models[0]
    codes = union(*(model.codes for model in models))
    parts = [model.on(codes) for model in models]
    evidence = np.sum([e for _, e in parts], axis=0)
    weights = [e.sum(1) for _, e in parts]
    total = np.maximum(np.sum(weights, axis=0), 1e-12)
    theta = np.sum(
        [(w / total)[:, None, None] * t for (t, _), w in zip(parts, weights, strict=True)], axis=0
    )
    return Model(codes, theta, evidence)
