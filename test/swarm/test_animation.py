"""The animation of a run: maps of their own colours that become one."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from delama_ros.cli.main import main
from delama_ros.geometry.grid import OccupancyMap
from delama_ros.swarm.animation import (
    COLOURS,
    DARK,
    MOVING,
    OPACITY,
    SIZE,
    STAGE,
    Placing,
    write_gif,
)
from delama_ros.swarm.film import Film, Shot
from delama_ros.swarm.record import Record, Rounds

ROBOTS = ('ann', 'bob')
ROUNDS = Rounds(1, 0, 0.1, 0.1, 0.1)


def room(x: float, width: float) -> OccupancyMap:
    """Return a room with walls, where it is in the building."""
    cells = np.full((40, round(width / 0.1)), 100, np.int8)
    cells[2:-2, 2:-2] = 0
    return OccupancyMap(cells, 0.1, (x, 0.0, 0.0))


def film(frames: list[dict[str, str]]) -> Film:
    """Return a run in which both robots see their half of a flat, or all of it together."""
    found = Film(Record(ROBOTS, len(frames), free=True))
    found.record.set_truth(room(0.0, 10.0))
    for step, of in enumerate(frames, 1):
        shots = []
        for k, robot in enumerate(ROBOTS):
            frame = of[robot]
            place = (0.0, 0.0, 0.0 if frame.startswith('ann') else math.pi / 2)
            alone = len(set(of.values())) == 2
            occupancy = room(5.0 * k, 5.0) if alone else room(0.0, 10.0)
            found.record.add_map(robot, step, occupancy)
            found.record.add_step(robot, step, 1000, ROUNDS)
            shots.append(Shot(robot, frame, place, occupancy, (2.5 + 5.0 * k, 2.0, 0.0)))
        found.add(step, shots)
    return found


def walls(picture: Image.Image, robot: int) -> int:
    """Return how many pixels of the stage have the colour of a robot's walls."""
    pixels = np.asarray(picture.convert('RGB').crop(STAGE), np.int64)
    wall = OPACITY * DARK * np.array(COLOURS[robot]) + (1 - OPACITY) * 255
    return int((np.abs(pixels - wall).sum(-1) < 40).sum())


def test_maps_move_onto_each_other_and_become_one(tmp_path: Path) -> None:
    apart, joined = {'ann': 'ann:0', 'bob': 'bob:0'}, {'ann': 'ann:0', 'bob': 'ann:0'}
    together = film([apart, apart, joined])
    assert together.sent(2) == 2000
    file = write_gif(together, film([apart] * 3), tmp_path / 'run.gif')
    with Image.open(file) as gif:
        assert gif.size == SIZE
        assert gif.n_frames == 3 + MOVING - 1
        pictures = []
        for k in range(gif.n_frames):
            gif.seek(k)
            pictures.append(gif.convert('RGB'))
    assert walls(pictures[0], 0) > 500 < walls(pictures[0], 1)
    assert walls(pictures[-2], 1) > 500  # under way
    assert walls(pictures[-1], 1) < 20
    assert walls(pictures[-1], 0) > 1.3 * walls(pictures[0], 0)


def test_what_is_on_the_way_begins_and_ends_where_it_should() -> None:
    a = Placing((1.0, 2.0), (100.0, 100.0), 0.0, 20.0)
    b = Placing((3.0, 1.0), (300.0, 200.0), 3.0, 40.0)
    for point in ((0.0, 0.0), (4.0, -1.0)):
        assert a.towards(b, 0.0).pixel(point) == pytest.approx(a.pixel(point))
        assert a.towards(b, 1.0).pixel(point) == pytest.approx(b.pixel(point))
        x, y = b.pixel(point)
        assert b.points(np.array(x), np.array(y)) == pytest.approx(point)


def test_an_animation_needs_the_run_in_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['swarm', '--gif', 'a.gif', '--out', str(tmp_path / 'run')]) == 2
    assert '--transport local' in capsys.readouterr().err
