"""The swarm description: what it takes, what it refuses, what follows for the nodes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from delama_ros.resources import resource
from delama_ros.robot.parameters import ROBOT, Option
from delama_ros.swarm.description import DescriptionError, Swarm, from_mapping, read
from delama_ros.swarm.starts import start_parameters, with_starts


def test_the_shipped_file_says_what_the_defaults_say() -> None:
    described, default = read(resource('config/swarm.yaml')), Swarm()
    assert described.simulator_parameters() == default.simulator_parameters()
    given, defaults = described.robot_parameters('robot1'), default.robot_parameters('robot1')
    options = {name: option.default for name, option in ROBOT.items()}
    assert {**options, **given} == {**options, **defaults}


def test_a_number_of_robots_gives_names() -> None:
    assert from_mapping({'robots': 2}).robots == ('robot1', 'robot2')


def test_any_names(tmp_path: Path) -> None:
    swarm = from_mapping({'robots': ['alice', 'Bob_7'], 'simulator': {'beams': 90}})
    assert swarm.robots == ('alice', 'Bob_7')
    file = tmp_path / 'swarm.yaml'
    file.write_text(swarm.to_yaml())
    assert read(file) == swarm


def test_overrides_win(tmp_path: Path) -> None:
    file = tmp_path / 'swarm.yaml'
    file.write_text('steps: 3\nseed: 5\n')
    assert read(file, {'steps': 4}) == from_mapping({'steps': 4, 'seed': 5})


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        ({'robot': 3}, ['robot is not known', 'robots']),
        ({'simulator': {'beam': 3}}, ['simulator.beam is not known', 'beams']),
        ({'simulator': {'beams': '3'}}, ["simulator.beams: '3'", 'int']),
        ({'simulator': {'beams': 0}}, ['simulator.beams: 0', '1 ..']),
        ({'simulator': 3}, ['simulator: 3', 'dict']),
        ({'steps': 'many'}, ["steps: 'many'", 'expected int']),
        ({'steps': True}, ['steps: True', 'expected int']),
        ({'period': -1}, ['period: -1', '0.01 ..']),
        ({'robots': 0}, ['robots: 0']),
        ({'robots': ['a', 'a']}, ["['a', 'a']", 'different']),
        ({'robots': ['1a']}, ["'1a'", 'ROS name']),
        ({'robots': 'five'}, ["'five'", 'number, a list']),
        ({'robots': {'a': 3}}, ['overrides.a: 3', 'dict']),
        ({'robots': {'a': {'scan': 3}}}, ['overrides.a.scan: 3', 'str']),
        ({'robots': {'a': {'speed': 3}}}, ['overrides.a.speed is not known', 'start_pose']),
        ({'robots': {'a': {'reach': 'far'}}}, ["overrides.a.reach: 'far'", 'float']),
        ({'robots': {'a': {'start_pose': ['x', 0, 0]}}}, ["overrides.a.start_pose: 'x'", 'float']),
        ({'start_uncertainty': [0.2]}, ['start_uncertainty is [0.2]', '0 .. 100 m']),
        ({'start_uncertainty': [0.2, 30]}, ['start_uncertainty is [0.2, 30.0]', '3.14 rad']),
        ({'plan': 'generated:1', 'logs': ['a.log']}, ["plan: 'generated:1' beside logs"]),
        ({'logs': ['a.log'], 'replay': {'speed': 0}}, ['replay.speed: 0', '0.001 ..']),
        ({'steps': 0}, ['steps: 0', 'above 0']),
        ({'simulator': {'radio_loss': 1.5}}, ['simulator.radio_loss: 1.5', '0 .. 1']),
        ({'encoding': 'int4'}, ["'int4'", 'delta or float64']),
        ({'seed': -1}, ['seed: -1', '0 ..']),
        ({'localization': 'gps'}, ["'gps'", 'slam or tf or odometry']),
        ({'overrides': {'eve': {}}}, ["overrides: ['eve']", 'robot1']),
        ({'robots': ['a'], 'overrides': {'a': {'encoding': 'int4'}}}, ["'int4'"]),
    ],
)
def test_mistakes_are_named(content: dict[str, object], words: list[str]) -> None:
    with pytest.raises(DescriptionError) as error:
        from_mapping(content)
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize('text', ['- a\n- b\n', 'a: [', '"only text"'])
def test_a_file_that_is_no_description(tmp_path: Path, text: str) -> None:
    file = tmp_path / 'swarm.yaml'
    file.write_text(text)
    with pytest.raises(DescriptionError, match=r'swarm\.yaml'):
        read(file)


def test_real_robots_with_topics_and_poses_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / 'swarm.yaml'
    file.write_text(
        'plan: ""\nsteps: 0\ncheckpoint: mine.npz\n'
        'robots:\n  ann: {scan: front/scan, localization: odometry, start_pose: [1, 2, 0.5]}\n'
        '  bob:\n'
    )
    swarm = read(file)
    assert swarm.robots == ('ann', 'bob')
    assert swarm.source == ''
    assert swarm.remappings('ann') == [('scan', 'front/scan')]
    assert swarm.remappings('bob') == []
    ann, bob = (swarm.robot_parameters(name) for name in swarm.robots)
    assert ann['start_pose'] == [1.0, 2.0, 0.5]
    assert all(type(number) is float for number in ann['start_pose'])
    assert (ann['localization'], bob['localization']) == ('odometry', 'auto')
    assert ann['use_sim_time'] is bob['use_sim_time'] is False
    assert ann['checkpoint'] == 'mine.npz'
    file.write_text(swarm.to_yaml())
    assert read(file) == swarm


def test_recordings_instead_of_a_plan() -> None:
    swarm = from_mapping({'robots': 2, 'logs': ['a.log'], 'replay': {'speed': 5}})
    assert swarm.source == 'replay'
    assert swarm.source_parameters() == {
        'speed': 5.0,
        'logs': ['a.log'],
        'robots': ['robot1', 'robot2'],
    }
    assert swarm.robot_parameters('robot1')['use_sim_time'] is True


def test_every_node_gets_its_parameters() -> None:
    swarm = from_mapping({'robots': ['a', 'b'], 'simulator': {'radio_loss': 0.1}})
    assert swarm.simulator_parameters()['robots'] == ['a', 'b']
    assert swarm.simulator_parameters()['radio_loss'] == 0.1
    assert swarm.robot_parameters('b')['robot'] == 'b'
    assert swarm.robot_parameters('b')['use_sim_time'] is True


def test_any_robot_parameter_applies_to_all_or_to_one(tmp_path: Path) -> None:
    swarm = from_mapping(
        {'robots': ['a', 'b'], 'reach': 5, 'map_frame': 'house', 'overrides': {'b': {'reach': 7.5}}}
    )
    assert [swarm.robot_parameters(name)['reach'] for name in swarm.robots] == [5.0, 7.5]
    assert swarm.simulator_parameters()['map_frame'] == 'house'
    file = tmp_path / 'swarm.yaml'
    file.write_text(swarm.to_yaml())
    assert read(file) == swarm


def test_the_shipped_description_of_real_robots() -> None:
    swarm = read('real.yaml')  # found in the package from any folder
    assert swarm == read(resource('config/real.yaml'))
    assert swarm.source == ''
    assert swarm.remappings('bob') == [('scan', 'front/scan')]


def documented(options: dict[str, Option]) -> str:
    """Return the rows of a table of parameters."""

    def shown(value: object) -> str:
        if isinstance(value, list):
            return f'[{", ".join(map(str, value))}]'
        return str(value).lower() if isinstance(value, bool) else str(value)

    defaults = {name: shown(option.default) for name, option in options.items()}
    return ''.join(
        f'| `{name}` | {f"`{defaults[name]}`" if defaults[name] else ""} | {option.text} |\n'
        for name, option in options.items()
    )


def test_every_parameter_of_a_robot_is_in_the_docs() -> None:
    assert documented(ROBOT) in (Path(__file__).parents[2] / 'docs' / 'robots.md').read_text()


def test_rough_starts_are_off_by_as_much_as_robots_are_told() -> None:
    exact = start_parameters(from_mapping({'starts': 'exact'}))
    rough, other = (from_mapping({'starts': 'rough', 'seed': seed}) for seed in (4, 5))
    told = with_starts(rough)
    assert told == with_starts(rough) != with_starts(other)
    assert rough.free
    errors = np.array([
        np.subtract(told[name]['start_pose'], exact[name]['start_pose']) for name in rough.robots
    ])
    assert 0.05 < np.abs(errors[:, :2]).max() < 0.8
    assert 0.01 < np.abs(errors[:, 2]).max() < 0.2
    assert all(values['start_uncertainty'] == [0.2, 0.052] for values in told.values())
    mixed = from_mapping({'robots': {'ann': {'start_uncertainty': [0, 0]}, 'bob': {}},
                          'starts': 'rough'})
    told = with_starts(mixed)
    assert told['ann']['start_pose'] == start_parameters(replace(mixed, starts='exact'))[
        'ann']['start_pose']
    assert told['bob']['start_uncertainty'] == [0.2, 0.052]
