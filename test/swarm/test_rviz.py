"""The RViz view that ships, and that it asks for latched maps."""

import yaml

from delama_ros.resources import resource
from delama_ros.swarm.rviz import rviz_config


def test_the_shipped_view_is_the_generated_one() -> None:
    robots = [f'robot{i}' for i in range(1, 6)]
    assert resource('config/swarm.rviz').read_text() == rviz_config(robots)


def test_every_robot_has_a_latched_map_and_its_scan() -> None:
    view = yaml.safe_load(rviz_config(['ann', 'bob']))['Visualization Manager']
    groups = {d['Name']: d['Displays'] for d in view['Displays'] if 'Displays' in d}
    assert set(groups) == {'ann', 'bob'}
    for robot, displays in groups.items():
        topics = {d['Topic']['Value']: d['Topic'] for d in displays}
        assert topics[f'/{robot}/map']['Durability Policy'] == 'Transient Local'
        assert topics[f'/{robot}/scan']['Reliability Policy'] == 'Best Effort'
