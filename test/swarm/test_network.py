"""Robots on hosts of their own, over a network that loses packets and falls apart."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import Hosts, NoHostsError
from network_case import DESK, ROBOTS

CASE = Path(__file__).with_name('network_case.py')


def test_loss_partition_and_healing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', '0')  # nobody else is on these hosts
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    try:
        with Hosts([*ROBOTS, DESK]) as hosts:
            done = subprocess.run(
                [*hosts.prefix(DESK), sys.executable, str(CASE), hosts.mark, str(tmp_path)],
                capture_output=True,
                text=True,
                timeout=900,
            )
    except NoHostsError as error:
        pytest.skip(f'no network namespaces here: {error}')
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    print(told)
    assert told['lost_packets'] > 50
    assert told['cut_packets'] > 100
    assert told['failures'] == []
    assert min(told['loss']) > max(told['loss'] + told['sound']) - 0.02
    assert told['loss_s'] < 3 * told['sound_s']
    # Maps only grow: each side on its own, and all together after healing.
    assert min(told['apart']) > min(told['sound']) - 0.02
    assert min(told['healed']) > max(told['sound']) - 0.02
