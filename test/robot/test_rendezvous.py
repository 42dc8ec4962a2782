"""One robot's frame: robots that share one correct their poses by each other's maps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

from delama_ros.experiments.mapping.dataset import scan_of
from delama_ros.geometry.grid import Floats, OccupancyMap
from delama_ros.geometry.poses import as_pose, compose, inverse, relative
from delama_ros.localization.graph import PoseGraph, Prior
from delama_ros.localization.offline import trajectory_error
from delama_ros.mapping.default import make_mapper, packaged
from delama_ros.mapping.scan import Scan
from delama_ros.rendezvous.frames import STAND
from delama_ros.rendezvous.outcome import Reason
from delama_ros.robot.rendezvous import Rendezvous
from delama_ros.transport.local import LocalTransport
from delama_sim.lidar import Lidar
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare
from delama_sim.rays import RayCaster

OFF = np.array([0.05, -0.04, math.radians(0.6)])  # where the second robot believes the frame is
EDGE = np.diag([0.02, 0.02, math.radians(0.8)]) ** 2  # covariance of a step between keyframes


class Drive(NamedTuple):
    """Where two robots take scans at the same time."""

    poses: Floats  # (T, 2, 3)
    scans: list[list[Scan]]  # T of 2


def in_a_flat() -> Drive:
    run = mapping_run(prepare(load('generated:902'), 3), 3, robots=2, steps=10)
    return Drive(run.poses, [[scan_of(run, t, i) for i in range(2)] for t in range(10)])


def along_a_corridor() -> Drive:
    """Return how two robots drive 26 m along a corridor with rooms on both sides."""
    rng = np.random.default_rng(5)
    cells = np.full((200, 600), 100, np.int8)  # 0.05 m
    cells[80:120, 10:590] = 0
    for side in (0, 1):
        x = 10
        while x < 540:
            wide, deep = rng.integers(50, 90), rng.integers(45, 68)
            rows = slice(78 - deep, 78) if side else slice(122, 122 + deep)
            cells[rows, x : min(x + wide, 590)] = 0
            door = x + int(rng.integers(8, 28))
            cells[slice(76, 82) if side else slice(118, 124), door : door + 18] = 0
            x += wide + 4
    occupancy = OccupancyMap(cells, 0.05, (0.0, 0.0, 0.0))
    lidar, t = Lidar(), np.arange(22)
    poses = np.stack(
        [np.column_stack([1.5 + 1.2 * t + d, 5.0 + 0.2 * d + 0 * t, 0 * t]) for d in (0.0, 0.5)], 1
    )
    scans = []
    for k in t.tolist():
        ranges, _ = lidar.scan(RayCaster(occupancy), poses[k], np.random.default_rng(k))
        scans.append([
            Scan(own.astype(np.float64), lidar.angle_min, lidar.angle_increment, 0.05, 12.0)
            for own in ranges
        ])
    return Drive(poses, scans)


class Pair:
    """Two robots in one frame; the second has poses of its own and a pose graph over them."""

    def __init__(self, drive: Drive, bend: Floats, off: Floats) -> None:
        """Drift by `bend` (3,) with every step, and begin `off` (3,) from where it believes."""
        self.drive = drive
        self.mappers = [make_mapper(name, packaged()) for name in ('ann', 'bob')]
        for mapper in self.mappers:
            mapper.agent.frame = 'ann:0'
        self.robots = [Rendezvous(mapper.agent.name, mapper) for mapper in self.mappers]
        self._transport = LocalTransport(mapper.agent for mapper in self.mappers)
        self.true = drive.poses[:, 1]
        drifted = [np.asarray(compose(off, self.true[0]))]
        for a, b in pairwise(self.true):
            drifted.append(np.asarray(compose(drifted[-1], relative(a, b) + bend)))
        self.drifted = np.array(drifted)
        self.graph, self.poses = PoseGraph(3.0), self.drifted[:1]

    def steps(self) -> Iterator[dict[str, Prior] | None]:
        """Run all steps; yields the priors that the second robot gets for its keyframes."""
        for t, scans in enumerate(self.drive.scans):
            if t:
                z = relative(self.drifted[t - 1], self.drifted[t])
                self.graph.add(t - 1, t, z, np.linalg.inv(EDGE), robust=False)
                self.poses = np.concatenate([self.poses, compose(self.poses[-1], z)[None]])
            for mapper, pose, scan in zip(
                self.mappers, (self.drive.poses[t, 0], self.poses[t]), scans, strict=True
            ):
                mapper.add_keyframe(t, as_pose(pose), as_pose(pose), scan)
            yield self.exchange()

    def exchange(self) -> dict[str, Prior] | None:
        """Exchange models, compare them, and follow what the comparison says."""
        for mapper in self.mappers:
            mapper.prepare()
        step = self.mappers[0].agent.learned + 1
        self._transport.run_step(step, {'ann': ['bob'], 'bob': ['ann']})
        for robot in self.robots:
            assert robot.update(math.inf) is None  # nobody changes the frame
        assert self.robots[0].priors() is None  # nobody has a smaller name
        priors = self.robots[1].priors()
        if priors is not None:
            self.graph.priors = priors
            self.poses = self.graph.optimize(np.arange(len(self.poses)), self.poses)
            self.mappers[1].move_keyframes(dict(enumerate(map(as_pose, self.poses))))
        return priors

    def error(self, poses: Floats) -> float:
        """Return the root mean square distance from the true positions, m."""
        return float(np.sqrt(((poses - self.true[: len(poses)])[:, :2] ** 2).sum(1).mean()))


def test_a_map_that_is_a_little_off_is_laid_onto_that_of_the_first_robot() -> None:
    pair = Pair(in_a_flat(), np.zeros(3), OFF)
    told = [priors for priors in pair.steps() if priors is not None]
    assert told
    assert pair.error(pair.poses) < 0.4 * pair.error(pair.drifted)
    assert pair.mappers[1].agent.frame == 'ann:0'


def test_a_bent_map_ends_closer_to_the_truth_than_any_rigid_alignment_takes_it() -> None:
    pair = Pair(along_a_corridor(), np.array([0.012, 0.0, math.radians(0.35)]), np.zeros(3))
    for _ in pair.steps():
        pass
    for _ in range(3):  # the robots stand still
        pair.exchange()
    rigid = float(np.sqrt((trajectory_error(pair.drifted, pair.true) ** 2).mean()))
    assert pair.error(pair.poses) < 0.5 * rigid


def test_priors_go_when_the_belief_goes() -> None:
    pair = Pair(in_a_flat(), np.zeros(3), OFF)
    told = next(priors for priors in pair.steps() if priors)
    assert all(key.startswith('ann/') for key in told)
    bob = pair.robots[1]
    bob.beliefs['ann'].refuse(Reason.FORGOTTEN)
    bob.update(math.inf)
    assert bob.priors() == {}
    pair = Pair(in_a_flat(), np.zeros(3), OFF)
    assert next(priors for priors in pair.steps() if priors)
    pair.robots[1].forget()  # the frame
    assert pair.robots[1].priors() == {}


def test_a_wrong_prior_is_outvoted() -> None:
    rng = np.random.default_rng(4)
    graph, true = PoseGraph(3.0), np.column_stack([np.arange(20) * 0.4, np.zeros((20, 2))])
    for k in range(19):
        z = relative(true[k], true[k + 1]) + rng.normal(0, 0.01, 3)
        graph.add(k, k + 1, z, np.diag([1e4, 1e4, 1e4]), robust=False)
    sure = np.diag([1e4, 1e4, 1e5])
    for k in (1, 6, 14, 18):
        graph.priors[f'ann/{k}'] = Prior(k, true[k], sure)
    graph.priors['ann/10'] = Prior(10, true[10] + [0.2, 0.5, 0.05], sure)
    poses = graph.optimize(np.arange(20), true + np.array([0.05, -0.05, 0.01]))
    assert np.abs(poses - true)[:, :2].max() < 0.06
    graph.priors = {'ann/10': graph.priors['ann/10']}  # alone it moves everything
    assert graph.optimize(np.arange(20), true)[10] == pytest.approx(true[10] + [0.2, 0.5, 0.05],
                                                                    abs=0.01)


def test_a_search_that_a_move_overtakes_begins_anew() -> None:
    """With little time, the search for a second frame waits while the robot joins the first."""
    run = mapping_run(prepare(load('generated:902'), 3), 3, robots=3, steps=10)
    names = ['ann', 'bob', 'cid']
    # where the axes of each robot's frame are in the building, as long as it does not move
    frames = [np.zeros(3), np.array([3.0, -1.0, 2.0]), np.array([-2.0, 4.0, -1.0])]
    mappers = [make_mapper(name, packaged()) for name in names]
    robots = [Rendezvous(name, mapper) for name, mapper in zip(names, mappers, strict=True)]
    transport = LocalTransport(mapper.agent for mapper in mappers)
    links = {name: [peer for peer in names if peer != name] for name in names}
    cid, compared = robots[2], 0
    for t in range(10):
        for i, mapper in enumerate(mappers):
            pose = as_pose(compose(inverse(frames[i]), run.poses[t, i]))
            mapper.add_keyframe(t, pose, pose, scan_of(run, t, i))
            mapper.prepare()
        transport.run_step(t + 1, links)
        move = cid.update(0.0)
        if move is not None:
            frames[2] = compose(frames[2], inverse(move.transform))
        for peer, frame in zip(names[:2], frames[:2], strict=True):
            found = cid.peer(peer).transform
            if found is not None:
                off = relative(relative(frames[2], frame), np.array(found))
                assert math.hypot(off[0], off[1]) < 0.3, (t, peer)
                compared += cid.moves > 0 and peer == 'bob'
    assert cid.choice.tag.maker == 'ann'
    assert compared


def test_a_peer_in_a_wrong_place_is_not_used_although_that_place_becomes_known() -> None:
    run = mapping_run(prepare(load('generated:902'), 3), 3, robots=2, steps=12)
    mappers = [make_mapper(name, packaged()) for name in ('ann', 'bob')]
    for mapper in mappers:
        mapper.agent.frame = 'ann:0'
    agent, robot = mappers[0].agent, Rendezvous('ann', mappers[0])
    transport = LocalTransport(mapper.agent for mapper in mappers)
    wrong, excluded = np.array([1.5, 0.5, 0.4]), 0
    for t in range(12):
        for i, mapper in enumerate(mappers):
            pose = as_pose(compose(wrong if i else np.zeros(3), run.poses[t, i]))
            mapper.add_keyframe(t, pose, pose, scan_of(run, t, i))
            mapper.prepare()
        transport.run_step(t + 1, {'ann': ['bob'], 'bob': ['ann']})
        robot.update(math.inf)
        if robot.moves:
            break
        if 'bob' in agent.excluded:
            excluded += 1
            robot.beliefs['bob'].give(inverse(wrong), np.eye(3))
        assert bool(excluded) == ('bob' in agent.excluded)
    assert excluded == STAND  # ann made the frame, and waits for bob to leave
    assert robot.moves == 1


def test_a_robot_with_a_rough_start_joins_those_whose_start_is_exact() -> None:
    run = mapping_run(prepare(load('generated:902'), 3), 3, robots=2, steps=6)
    mappers = [make_mapper(name, packaged()) for name in ('ann', 'bob')]
    bob = Rendezvous('bob', mappers[1], spread=(0.2, 0.05))  # ann knows, and looks for nobody
    assert mappers[1].agent.frame == 'bob:0~0.2,0.05'
    transport = LocalTransport(mapper.agent for mapper in mappers)
    # The error of a start turns the frame about the start, not about the origin of the map.
    off = compose(run.poses[0, 1] + np.array([0.15, -0.2, 0.04]), inverse(run.poses[0, 1]))
    for t in range(6):
        for i, mapper in enumerate(mappers):
            pose = as_pose(compose(off if i else np.zeros(3), run.poses[t, i]))
            mapper.add_keyframe(t, pose, pose, scan_of(run, t, i))
            mapper.prepare()
        transport.run_step(t + 1, {'ann': ['bob'], 'bob': ['ann']})
        move = bob.update(math.inf)
        if move is not None:
            off = compose(move.transform, off)
    assert mappers[1].agent.frame == mappers[0].agent.frame == ''
    centre = np.array([*mappers[1].centre, 0.0])
    # The join itself; loop closures with ann's map, which nobody applies here, do the rest.
    assert math.hypot(*(compose(off, centre) - centre)[:2]) < 0.1
    assert mappers[0].agent.weights['bob'] > 0
