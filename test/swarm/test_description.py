"""The swarm description: what it takes, what it refuses, what follows for the nodes."""

from pathlib import Path

import pytest

from delama_ros.resources import resource
from delama_ros.swarm.description import DescriptionError, Swarm, from_mapping, read


def test_the_shipped_file_says_what_the_defaults_say() -> None:
    assert read(resource('config/swarm.yaml')) == Swarm()


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
    assert read(file, {'steps': 4}) == Swarm(steps=4, seed=5)


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
        ({'period': -1}, ['period: -1.0', 'above 0']),
        ({'robots': 0}, ['robots: 0']),
        ({'robots': ['a', 'a']}, ["['a', 'a']", 'different']),
        ({'robots': ['1a']}, ["'1a'", 'ROS name']),
        ({'robots': 'five'}, ["'five'", 'number or a list']),
        ({'simulator': {'radio_loss': 1.5}}, ['simulator.radio_loss: 1.5', '0 .. 1']),
        ({'encoding': 'int4'}, ["'int4'", 'delta or float64']),
        ({'seed': -1}, ['seed: -1', '0 ..']),
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


def test_every_node_gets_its_parameters() -> None:
    swarm = from_mapping({'robots': ['a', 'b'], 'simulator': {'radio_loss': 0.1}})
    assert swarm.simulator_parameters()['robots'] == ['a', 'b']
    assert swarm.simulator_parameters()['radio_loss'] == 0.1
    assert swarm.robot_parameters('b')['robot'] == 'b'
    assert swarm.robot_parameters('b')['use_sim_time'] is True
