"""Robots are found by topic types, under any name and in any namespace."""

from delama_ros.web.view.topics import GRID, ROW, SCAN, TF, Source, sources

PATH, POSE = 'nav_msgs/msg/Path', 'geometry_msgs/msg/PoseStamped'
STATUS = 'delama_ros/msg/RobotStatus'


def kinds(topics: dict[str, str]) -> dict[str, tuple[str, str]]:
    return {s.topic: (s.kind, s.robot) for s in sources(topics)}


def test_robots_in_any_namespace_are_found_with_their_topics() -> None:
    topics = {
        '/fleet/ada/collaboration': ROW,
        '/fleet/ada/map': GRID,
        '/fleet/ada/scan': SCAN,
        '/fleet/ada/path': PATH,
        '/fleet/ada/pose': POSE,
        '/b2/graph_row': ROW,  # remapped
        '/b2/map': GRID,
        '/b2/status': STATUS,
        '/tf': TF,
    }
    assert kinds(topics) == {
        '/fleet/ada/collaboration': ('row', '/fleet/ada'),
        '/fleet/ada/map': ('map', '/fleet/ada'),
        '/fleet/ada/scan': ('scan', '/fleet/ada'),
        '/fleet/ada/path': ('path', '/fleet/ada'),
        '/fleet/ada/pose': ('pose', '/fleet/ada'),
        '/b2/graph_row': ('row', '/b2'),
        '/b2/map': ('map', '/b2'),
        '/b2/status': ('status', '/b2'),
        '/tf': ('tf', ''),
    }


def test_what_is_not_of_a_swarm_is_left_alone() -> None:
    topics = {
        '/ada/collaboration': ROW,
        '/ada/map': 'sensor_msgs/msg/Image',  # another type
        '/ada/global_costmap/costmap': GRID,  # of nav2
        '/eve/map': GRID,  # no robot of ours
        '/eve/scan': SCAN,
        '/map': GRID,
    }
    assert kinds(topics) == {'/ada/collaboration': ('row', '/ada')}


def test_a_laser_of_another_name_and_one_of_several() -> None:
    row = {'/ada/collaboration': ROW}
    assert '/ada/front/points' in kinds({**row, '/ada/front/points': SCAN})
    several = kinds({**row, '/ada/back': SCAN, '/ada/scan': SCAN})
    assert '/ada/scan' in several
    assert '/ada/back' not in several


def test_a_robot_without_a_namespace_and_namespaced_transforms() -> None:
    alone = {'/collaboration': ROW, '/map': GRID, '/tf': TF}
    assert kinds(alone) == {
        '/collaboration': ('row', '/'),
        '/map': ('map', '/'),
        '/tf': ('tf', ''),
    }
    own = kinds({'/ada/collaboration': ROW, '/ada/tf': TF, '/ada/tf_static': TF})
    assert own['/ada/tf'] == ('tf', '/ada')
    assert own['/ada/tf_static'] == ('fixed', '/ada')


def test_probabilities_are_shown_where_there_are_some() -> None:
    row = {'/ada/collaboration': ROW, '/ada/map': GRID}
    shown = kinds({**row, '/ada/map_probability': GRID})
    assert shown['/ada/map_probability'] == ('map', '/ada')
    assert '/ada/map' not in shown


def test_true_maps_of_all_buildings() -> None:
    found = set(sources({'/sim/truth': GRID, '/sim/truth_1': GRID, '/x/sim/truth': GRID}))
    assert found == {
        Source('/sim/truth', GRID, 'truth'),
        Source('/sim/truth_1', GRID, 'truth'),
        Source('/x/sim/truth', GRID, 'truth'),
    }
