"""A swarm over DDS in separate processes gives the numbers of the swarm in one process."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from delama_sim.map_file import read_map

FULL: dict[str, object] = {}
SPARSE: dict[str, object] = {'radio_range': 4.0}  # not everybody hears everybody, and it changes


def run(folder: Path, transport: str, description: dict[str, object]) -> dict[str, object]:
    file = folder / 'swarm.yaml'
    file.write_text(yaml.safe_dump(description))
    out = folder / transport
    subprocess.run(
        [
            *(sys.executable, '-m', 'delama_ros.cli.main', 'swarm', '--config', str(file)),
            *('--transport', transport, '--out', str(out)),
        ],
        check=True,
        timeout=300,
        stdout=subprocess.DEVNULL,
    )
    figures: dict[str, object] = json.loads((out / 'figures.json').read_text())
    return figures


@pytest.mark.parametrize(('radio', 'encoding'), [(FULL, 'float64'), (SPARSE, 'delta')])
def test_same_maps_weights_and_bytes(
    tmp_path: Path, radio: dict[str, object], encoding: str
) -> None:
    description = {
        'robots': 4,
        'steps': 3,
        'seed': 5,
        'encoding': encoding,
        'simulator': {'thicken_walls': 0.05, 'scan_rate': 2.0, **radio},
    }
    ros, local = (run(tmp_path, transport, description) for transport in ('ros', 'local'))
    assert ros['steps'] == local['steps'] == [1, 2, 3]
    edges = 0
    for robot, expected in local['robots'].items():
        given = ros['robots'][robot]
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
    everybody = 4 * 3 * 3
    assert edges == everybody if radio is FULL else 0 < edges < everybody
