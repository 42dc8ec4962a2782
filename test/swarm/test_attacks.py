"""A hostile program in the domain stops no swarm, fills no memory and takes nobody's place."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from live import LiveSwarm

from delama_ros.swarm.description import from_mapping

ATTACKER = Path(__file__).parent / 'attacker.py'
ROBOTS = ['ann', 'bob', 'cid']
SECONDS = float(os.environ.get('DELAMA_ATTACK_SECONDS', '4'))  # docs/security.md: 60
DEADLINE = 0.7
MOST = 20.0  # MB that a robot may grow by in an attack
# Attack → reason with which its messages are refused, or None where nobody listens.
ATTACKS = {
    'impersonate': 'name of another robot',
    'links': None,
    'resync': 'too many robots',
    'heavy': 'unreadable',
    'bomb': 'malformed',
    'names': 'too many robots',
    'flood': 'too large',
    'rubbish': 'malformed',
    'stall': None,
}


@pytest.fixture
def swarm(tmp_path: Path, ros_environment: dict[str, str]) -> Iterator[LiveSwarm]:
    description = from_mapping(
        {
            'robots': [*ROBOTS, 'eve'], 'steps': 1000, 'seed': 5, 'period': 2.0,
            'deadline': DEADLINE, 'localization': 'tf', 'simulated_radio': False,
            'simulator': {'thicken_walls': 0.05, 'scan_rate': 2.0},
        }
    )
    with LiveSwarm(description, tmp_path, ros_environment) as running:
        for name in ROBOTS:
            running.start_robot(name)
        running.start_simulator()
        running.until(lambda: all(running.peers(name) == others(name) for name in ROBOTS))
        first = running.step_of('ann')
        running.until(lambda: running.step_of('ann') >= first + 3)
        yield running


def others(name: str, *more: str) -> set[str]:
    return {*ROBOTS, *more} - {name}


def attack(swarm: LiveSwarm, kind: str) -> None:
    """Let the attacker run for some seconds."""
    process = subprocess.Popen(
        [sys.executable, str(ATTACKER), kind, str(SECONDS), 'ann'], env=swarm.environment,
    )
    swarm.until(lambda: process.poll() is not None)
    assert process.returncode == 0


def refused(swarm: LiveSwarm, robot: str, reason: str) -> int:
    return int(swarm.diagnostics.get(robot, {}).get(f'refused, {reason}', 0))


def test_attacks_do_little_and_end_with_the_attacker(swarm: LiveSwarm) -> None:
    before = 0.0
    for kind, reason in ATTACKS.items():
        memory = {name: swarm.processes.memory(name) for name in ROBOTS}
        counts = {name: refused(swarm, name, reason) for name in ROBOTS} if reason else {}
        first = swarm.step_of('ann') + 1
        attack(swarm, kind)
        last = swarm.step_of('ann')
        # within two steps everything is as it was
        swarm.until(lambda end=last: min(swarm.step_of(name) for name in ROBOTS) >= end + 2)
        for name in ROBOTS:
            assert others(name) <= swarm.peers(name), kind
            grown = (swarm.processes.memory(name) - memory[name]) / 1e6
            assert grown < MOST, f'{kind}: {name} grew by {grown:.0f} MB'
            log = swarm.log(name)
            assert 'Traceback' not in log, kind
            assert 'worker failed' not in log, kind
        if reason:
            assert any(refused(swarm, name, reason) > counts[name] for name in ROBOTS), kind
        rounds = [swarm.record.rounds.get(t, {}).get('ann') for t in range(first, last + 1)]
        slow = sum(row is not None and row.seconds > DEADLINE for row in rounds)
        most = max((swarm.processes.memory(n) - memory[n]) / 1e6 for n in ROBOTS)
        longest = max((row.seconds for row in rounds if row is not None), default=0.0)
        print(f'| `{kind}` | {most:.0f} MB | {slow} of {len(rounds)} | {longest:.2f} s |')
        assert slow <= 3, f'{kind}: {slow} of {len(rounds)} steps'
        assert swarm.f1('ann') > before - 0.02, kind
        before = max(before, swarm.f1('ann'))
        if kind == 'impersonate':
            for name in ('ann', 'cid'):
                assert 'another publisher has this name' in swarm.log(name)
            assert "another robot has this robot's name" in swarm.log('bob')


def test_a_name_that_somebody_used_before_its_robot_came(swarm: LiveSwarm) -> None:
    attack(swarm, 'lockout')
    swarm.start_robot('eve')
    swarm.until(lambda: swarm.step_of('eve') > 0)
    began = swarm.step_of('ann')
    swarm.until(lambda: all('eve' in swarm.peers(name) for name in ROBOTS))
    assert swarm.step_of('ann') <= began + 4
    swarm.until(lambda: swarm.peers('eve') == set(ROBOTS))


def test_a_second_robot_of_a_name_is_reported_and_displaces_nobody(
    swarm: LiveSwarm, tmp_path: Path
) -> None:
    said = tmp_path / 'attacker.log'
    with said.open('w') as log:
        process = subprocess.Popen(
            [sys.executable, str(ATTACKER), 'impersonate', '60', 'ann'],
            env=swarm.environment, stdout=log,
        )
    swarm.until(lambda: 'attacking' in said.read_text())
    began = swarm.step_of('ann')
    told = {
        'ann': 'two robots are named bob: the second one is refused',
        'bob': 'another robot is named bob too: rename one of them',
        'cid': 'two robots are named bob: the second one is refused',
    }
    swarm.until(
        lambda: all(text in swarm.diagnostics[name]['message'] for name, text in told.items())
    )
    assert swarm.step_of('ann') <= began + 2
    swarm.until(lambda: swarm.step_of('ann') >= began + 4)
    rows = [swarm.record.weights[t] for t in range(began + 1, began + 4)]
    assert all('bob' in row['ann'] and 'bob' in row['cid'] for row in rows)
    process.kill()
    process.wait()
    swarm.until(lambda: all('named bob' not in swarm.diagnostics[n]['message'] for n in ROBOTS))


def test_robots_with_a_key_are_among_themselves(
    tmp_path: Path, ros_environment: dict[str, str]
) -> None:
    key = tmp_path / 'swarm.key'
    key.write_bytes(bytes(range(1, 33)))
    key.chmod(0o600)
    description = from_mapping(
        {
            'robots': ROBOTS, 'steps': 1000, 'period': 2.0, 'deadline': DEADLINE,
            'localization': 'tf', 'simulator': {'thicken_walls': 0.05, 'scan_rate': 2.0},
        }
    )
    with LiveSwarm(description, tmp_path, ros_environment) as swarm:
        swarm.start_robot('ann', swarm_key_file=str(key))
        swarm.start_robot('bob', swarm_key_file=str(key))
        swarm.start_robot('cid')
        swarm.start_simulator()
        swarm.until(lambda: swarm.peers('ann') == {'bob'} and swarm.peers('bob') == {'ann'})
        swarm.until(lambda: refused(swarm, 'ann', 'no seal of the swarm key') > 0)
        began = swarm.step_of('ann')
        swarm.until(lambda: swarm.step_of('ann') >= began + 3)
        swarm.until(lambda: swarm.peers('ann') == {'bob'})
        steps = swarm.record.weights.values()
        assert not any('cid' in row.get(name, {}) for row in steps for name in ('ann', 'bob'))
        told = swarm.diagnostics['ann']['message']
        assert 'messages of cid are refused: they lack the seal of the swarm key' in told
        for name in ROBOTS:
            assert key.read_bytes().hex() not in swarm.log(name)
            assert 'Traceback' not in swarm.log(name)
