"""The RViz view that ships, and that it asks for latched maps."""

import yaml

from delama_ros.resources import resource
from delama_ros.swarm.rviz import rviz_config


def test_the_shipped_view_is_the_generated_one() -> None:
    robots = [f'robot{i}' for i in range(1, 6)]
    assert resource('config/swarm.rviz').read_text() == rviz_config(robots)


def test_the_window_has_panels_and_the_frame_of_the_maps() -> None:
    view = yaml.safe_load(rviz_config(['ann'], 'hall', {'ann': 'front/scan'}))
    assert view['Panels'][0]['Class'] == 'rviz_common/Displays'
    assert {panel['Name'] for panel in view['Panels']} <= set(view['Window Geometry'])
    assert min(view['Window Geometry'][side] for side in ('Width', 'Height')) > 0
    manager = view['Visualization Manager']
    assert manager['Global Options']['Fixed Frame'] == 'hall'
    pose = next(t for t in manager['Tools'] if t['Class'].endswith('SetInitialPose'))
    assert pose['Topic']['Value'] == '/ann/initialpose'
    displays = next(d['Displays'] for d in manager['Displays'] if d['Name'] == 'ann')
    assert next(d for d in displays if d['Name'] == 'scan')['Topic']['Value'] == '/ann/front/scan'


def test_every_robot_has_a_latched_map_and_its_scan() -> None:
    view = yaml.safe_load(rviz_config(['ann', 'bob']))['Visualization Manager']
    groups = {d['Name']: d['Displays'] for d in view['Displays'] if 'Displays' in d}
    assert set(groups) == {'ann', 'bob'}
    for robot, displays in groups.items():
        topics = {d['Topic']['Value']: d['Topic'] for d in displays}
        assert topics[f'/{robot}/map']['Durability Policy'] == 'Transient Local'
        assert topics[f'/{robot}/scan']['Reliability Policy'] == 'Best Effort'
