"""Lasers that are not the one of the figures: many beams, lost beams, ranges that are too long."""

from dataclasses import replace
from typing import Any

import pytest

from delama_ros.resources import resource
from delama_ros.swarm.description import read
from delama_ros.swarm.local import run_local
from delama_ros.swarm.record import Record

STEPS = 8


def last_f1(**simulator: Any) -> float:
    """Return the mean F1 of two robots' maps, %, after the last step."""
    changes = {'plan': 'generated:9002', 'seed': 3, 'steps': STEPS, 'robots': 2}
    swarm = read(resource('config/swarm.yaml'), changes)
    swarm = replace(swarm, simulator={**swarm.simulator, **simulator})
    record = Record(swarm.robots, swarm.steps)
    run_local(swarm, lambda *_: None, record, None)
    scores = record.f1[STEPS].values()
    return 100 * sum(scores) / len(scores)


@pytest.fixture(scope='module')
def usual() -> float:
    return last_f1()


@pytest.mark.parametrize(
    ('laser', 'loss'),
    [
        ({'beams': 4000}, 0.5),
        ({'dropout': 0.1}, 0.5),
        ({'dropout': 0.1, 'dropout_streak': 5.0}, 1.0),
        ({'range_bias': 0.03}, 1.0),  # before it is known, all walls are too thick
    ],
    ids=str,
)
def test_maps_of_other_lasers_are_as_good(
    laser: dict[str, Any], loss: float, usual: float
) -> None:
    found = last_f1(**laser)
    print(f'{laser}: F1 {found:.1f}, usual {usual:.1f}')
    assert found > usual - loss
