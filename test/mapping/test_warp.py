"""Maps in other frames: moved and joined, against the same scans mapped in one frame."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delama_ros.core.blocks import Model, decode, encode
from delama_ros.geometry.grid import Pose
from delama_ros.geometry.poses import as_pose, compose, inverse
from delama_ros.geometry.score import score
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.scan import Scan
from delama_ros.mapping.tiles import LOOKED
from delama_ros.mapping.warp import merged, warp
from delama_sim.lidar import Lidar
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare

RIDGE = 1e-9
HERE = (0.0, 0.0, 0.0)
SHIFT = (0.37, -1.21, math.radians(31.0))


def solo(name: str, scans: list[tuple[Pose, np.ndarray]], frame: Pose = HERE) -> Mapper:
    """Return the mapper of a robot alone; frame: of the plan in the one that it maps in."""
    mapper, lidar = default_mapper(name), Lidar()
    for number, (pose, ranges) in enumerate(scans):
        scan = Scan(
            ranges.astype(np.float64), lidar.angle_min, lidar.angle_increment, lidar.range_min,
            lidar.range_max,
        )
        at = as_pose(compose(frame, pose))
        mapper.add_keyframe(number, at, at, scan)
    mapper.begin(1, [])
    while not mapper.agent.done:
        mapper.agent.advance()
    return mapper


@pytest.fixture(scope='module')
def run():
    return mapping_run(prepare(load('generated:9'), 0), 0, robots=2, steps=6)


@pytest.fixture(scope='module')
def scans(run) -> list[list[tuple[Pose, np.ndarray]]]:
    return [
        [(as_pose(run.poses[t, robot]), run.ranges[t, robot]) for t in range(6)] for robot in (0, 1)
    ]


def test_a_whole_number_of_tiles_moves_nothing_but_keys(scans) -> None:
    mapper = solo('ann', scans[0])
    model, edge = mapper.known, mapper.model.cells * mapper.model.resolution
    moved = warp(model, mapper.model, (3 * edge, -2 * edge, 0.0))
    assert set(moved.codes) >= set(encode(decode(model.codes) + np.array([3, -2], np.int32)))
    places = np.searchsorted(moved.codes, encode(decode(model.codes) + np.array([3, -2])))
    np.testing.assert_allclose(moved.evidence[places], model.evidence, atol=1e-9)
    others = np.delete(moved.evidence, places, axis=0)
    assert not (others >= LOOKED).any()
    # All cells of a tile with evidence everywhere determine its θ again.
    full = (model.evidence > 0).all(1)
    assert full.sum() > 5
    empty = model.take(np.zeros(len(model.codes), np.bool_))
    again = merged(empty, [moved], mapper.model, RIDGE)
    np.testing.assert_allclose(again.theta[places][full], model.theta[full], atol=1e-5)


def test_a_map_of_another_frame_is_the_map_of_this_one(run, scans) -> None:
    """Turned by 31° and shifted by part of a tile, the map keeps its F1 within two points."""
    exact = solo('ann', scans[0])
    elsewhere = solo('ann', scans[0], SHIFT)
    elsewhere.reframe('ann:1', as_pose(inverse(SHIFT)))
    true = score(exact.occupancy(), run.truth)
    moved = score(elsewhere.occupancy(), run.truth)
    assert moved.f1 > true.f1 - 0.02
    assert abs(moved.coverage - true.coverage) < 0.03


def test_a_guest_is_worth_as_much_as_a_peer_in_the_same_frame(run, scans) -> None:
    ann, both = solo('ann', scans[0]), solo('both', [*scans[0], *scans[1]])
    alone = score(ann.occupancy(), run.truth)
    bob = solo('bob', scans[1], SHIFT)
    ann.add_guest(bob.known, as_pose(inverse(SHIFT)))
    joined, best = score(ann.occupancy(), run.truth), score(both.occupancy(), run.truth)
    assert best.f1 > alone.f1 + 0.1
    assert joined.f1 > best.f1 - 0.02
    # It leaves with the next step, and never enters what is sent.
    sent = ann.agent.local
    ann.begin(2, [])
    while not ann.agent.done:
        ann.agent.advance()
    assert score(ann.occupancy(), run.truth).f1 == pytest.approx(alone.f1, abs=0.02)
    np.testing.assert_array_equal(sent.codes, ann.agent.local.codes)


def test_a_memory_that_is_loaded_has_no_guests(scans) -> None:
    ann, bob = solo('ann', scans[0]), solo('bob', scans[1], SHIFT)
    saved, before = ann.state(), ann.occupancy()
    ann.add_guest(bob.known, as_pose(inverse(SHIFT)))
    assert not np.array_equal(ann.occupancy().cells, before.cells)
    ann.restore(saved)
    np.testing.assert_array_equal(ann.known.codes, ann.agent.local.codes)


def test_a_frame_that_changes_takes_the_map_along_at_once(run, scans) -> None:
    ann = solo('ann', scans[0], SHIFT)
    ann.reframe('bob:1', as_pose(inverse(SHIFT)))
    at_once = score(ann.occupancy(), run.truth)
    ann.begin(2, [])
    while not ann.agent.done:
        ann.agent.advance()
    assert at_once.f1 == pytest.approx(score(ann.occupancy(), run.truth).f1, abs=0.02)


@given(
    x=st.floats(-20, 20), y=st.floats(-20, 20), yaw=st.floats(-math.pi, math.pi),
    seed=st.integers(0, 1000),
)
def test_no_evidence_is_made_up(x: float, y: float, yaw: float, seed: int) -> None:
    """Where a map lies does not change how much is known, nor how firmly."""
    rng = np.random.default_rng(seed)
    mapper = default_mapper('ann')
    keys = np.unique(rng.integers(-3, 4, (12, 2)), axis=0).astype(np.int32)
    theta = rng.normal(size=(len(keys), len(mapper.model.table), 1))
    model = Model.of(encode(keys), theta, rng.random((len(keys), 36)))
    moved = warp(model, mapper.model, (x, y, yaw))
    assert moved.evidence.max() <= model.evidence.max() + 1e-9
    assert 0.8 * model.evidence.sum() < moved.evidence.sum() < 1.02 * model.evidence.sum()
    assert (np.diff(moved.codes) > 0).all()
    assert np.linalg.eigvalsh(moved.H).min() > -1e-6


def test_nothing_known_stays_nothing() -> None:
    mapper = default_mapper('ann')
    assert len(warp(mapper.known, mapper.model, SHIFT).codes) == 0
    mapper.add_guest(mapper.known, SHIFT)
    assert len(mapper.known.codes) == 0

