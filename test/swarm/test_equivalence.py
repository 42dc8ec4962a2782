"""A swarm over DDS in separate processes gives the numbers of the swarm in one process."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from delama_ros.cli.main import main
from delama_ros.geometry.map_file import read_map

FULL: dict[str, object] = {}
LINE: dict[str, object] = {'radio_chain': True}  # robots hear those before and after them
SPARSE: dict[str, object] = {'radio_range': 4.0}  # not everybody hears everybody, and it changes


def run(folder: Path, transport: str, description: dict[str, object]) -> dict[str, object]:
    file = folder / 'swarm.yaml'
    file.write_text(yaml.safe_dump(description))
    out = folder / transport
    arguments = ['swarm', '--config', str(file), '--transport', transport, '--out', str(out)]
    assert main(arguments) == 0
    figures: dict[str, object] = json.loads((out / 'figures.json').read_text())
    return figures


# Peers are masked where their last pose on TF says, which depends on the timing of messages.
SLAM: dict[str, object] = {'localization': 'slam', 'peer_frame': ''}
TRUE_POSES: dict[str, object] = {'localization': 'tf'}


@pytest.mark.parametrize(
    ('radio', 'encoding', 'poses'),
    [
        (FULL, 'float64', TRUE_POSES),
        (LINE, 'float64', TRUE_POSES),
        (SPARSE, 'delta', TRUE_POSES),
        (FULL, 'delta', SLAM),
    ],
)
def test_same_maps_weights_and_bytes(
    tmp_path: Path, radio: dict[str, object], encoding: str, poses: dict[str, object]
) -> None:
    description = {
        'robots': 5,
        'steps': 3,
        'seed': 5,
        'period': 2.0,
        'deadline': 20.0,  # a busy machine must not change the numbers
        'encoding': encoding,
        **poses,
        'simulator': {
            'thicken_walls': 0.05, 'scan_rate': 5.0, 'odometry_preset': 'turtlebot', **radio
        },
    }
    ros, local = (run(tmp_path, transport, description) for transport in ('ros', 'local'))
    assert ros['steps'] == local['steps'] == [1, 2, 3]
    edges = 0
    for robot, expected in local['robots'].items():
        given = ros['robots'][robot]
        assert all(late == 0 for _, late in given['rounds'] + expected['rounds'])
        assert given['f1'] == pytest.approx(expected['f1'], abs=1e-4)
        for ours, theirs in zip(given['weights'], expected['weights'], strict=True):
            assert ours == pytest.approx(theirs, abs=1e-4)
            edges += len(ours)
        assert given['bytes'] == pytest.approx(expected['bytes'], rel=0.01)
        maps = [read_map(tmp_path / t / 'maps' / f'{robot}.yaml') for t in ('ros', 'local')]
        assert maps[0].origin == pytest.approx(maps[1].origin)
        assert maps[0].shape == maps[1].shape
        difference = np.abs(maps[0].cells.astype(int) - maps[1].cells)
        assert (difference > 1).mean() < 1e-4
    most = {id(FULL): 5 * 4 * 3, id(LINE): 2 * 4 * 3}.get(id(radio))
    assert edges == most if most else 0 < edges < 5 * 4 * 3
