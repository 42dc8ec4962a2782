"""Places: descriptions of walls by their surroundings, which propose where a window lies."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from delama_ros.rendezvous import places
from delama_ros.rendezvous.patches import patches_of
from delama_ros.rendezvous.places import Places, propose
from delama_ros.rendezvous.se2 import compose, difference
from delama_ros.rendezvous.surface import Surface

spec = importlib.util.spec_from_file_location('worlds', Path(__file__).parent / 'worlds.py')
assert spec is not None
assert spec.loader is not None
worlds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worlds)
pose, rows_of_rooms, surface = worlds.pose, worlds.rows_of_rooms, worlds.surface


def described(walls: Surface, spacing: float) -> Places:
    found = Places(walls, spacing)
    while not found.describe():
        pass
    return found


def test_windows_are_proposed_where_they_lie() -> None:
    rooms = rows_of_rooms(3, 3, 99.0)
    mine, theirs = pose(3.0, -2.0, 12.0), pose(-4.0, 5.0, 70.0)
    own = surface(rooms, mine, (-1.0, -1.0, 28.0, 24.0))
    peer = surface(rooms, theirs, (2.0, 2.0, 28.0, 28.0))
    truth = difference(mine, theirs)
    frames = described(own, 0.5), described(peer, 1.0)
    found = []
    windows = patches_of(peer)
    for window in windows:
        centre = np.array([*window.centre, 0.0])
        proposals = propose(window, frames[1], frames[0], 8)
        assert len(proposals) <= 8
        gaps = [
            difference(compose(truth, centre), compose(np.array(c.transform), centre))
            for c in proposals
        ]
        found.append(any(np.hypot(x, y) < 0.4 and abs(turn) < 0.1 for x, y, turn in gaps))
    assert np.mean(found) > 0.7  # those at the rim of the other map show little of it


def test_places_are_bounded_and_described_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    walls = surface(rows_of_rooms(3, 3, 99.0), pose(0, 0, 0), (-1.0, -1.0, 28.0, 28.0))
    monkeypatch.setattr(places, 'MOST', 150)
    monkeypatch.setattr(places, 'CHUNK', 60)
    found = Places(walls, 0.5)
    assert 75 < len(found.poses) <= 150
    calls = 1
    while not found.describe():
        calls += 1
    assert calls == -(-len(found.poses) // 60)
    far = Surface(  # tiles may be anywhere: what is far apart costs no memory
        walls.points + np.array([5e8, -5e8]), walls.normals, walls.lengths, walls.keys, walls.open,
        walls.resolution,
    )
    assert len(described(far, 0.5).poses) <= 150


def test_a_map_without_wall_proposes_nothing() -> None:
    walls = surface(rows_of_rooms(3, 3, 99.0), pose(0, 0, 0))
    none = Surface(
        np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), walls.keys[:0], walls.open[:0], 0.05
    )
    window = patches_of(walls)[0]
    assert propose(window, described(walls, 1.0), described(none, 0.5), 8) == []
    assert propose(window, described(none, 1.0), described(walls, 0.5), 8) == []
