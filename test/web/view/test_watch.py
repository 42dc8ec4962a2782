"""A swarm seen from outside: from messages alone, in any order, whatever they hold."""

import math
import struct
from typing import Any

import pytest
from rcl_interfaces.msg import Log

from delama_ros.geometry.score import score
from delama_ros.geometry.truth import surface_truth
from delama_ros.ros.conversions import occupancy_from_ros
from delama_ros.web.view.watch import SILENT, Watch


@pytest.fixture
def watch() -> Watch:
    return Watch('a run', live=False)


def lines(watch: Watch) -> list[str]:
    return [f'{v["name"]} {v["text"]}' for v in watch.log.part(0, watch.log.count(math.inf))]


def scores(watch: Watch) -> list[list[Any]]:
    return watch.scores.part(0, watch.scores.count(math.inf))


def test_all_of_a_robot_is_known_after_a_step(watch: Watch, make_fleet: Any) -> None:
    fleet = make_fleet('/x/ada', '/bob')
    fleet.run(watch, 2)
    ada = watch.robots['/x/ada']
    assert ada.name == 'ada'
    row = ada.rows.at(math.inf)
    assert row is not None
    assert row.value == {'step': 2, 'weights': {'bob': 0.5}}
    place = ada.places.at(math.inf)
    assert place is not None
    assert place.value.pose == pytest.approx(fleet.pose('/x/ada', 4.0))
    assert len(place.value.points) == 360 * 4
    assert ada.trail.count(math.inf) == 2
    state = ada.states.at(math.inf)
    assert state is not None
    assert state.value['bytes'] == 1234
    assert state.value['refusals'] == {'past step': 2}


def test_f1_is_the_score_of_the_map(watch: Watch, make_fleet: Any) -> None:
    fleet = make_fleet('/ada', '/bob')
    fleet.run(watch, 3)
    truth = surface_truth(fleet.plan)
    expected = [
        [robot, step, score(occupancy_from_ros(fleet.map(robot, step)), truth).f1]
        for step in (1, 2, 3)
        for robot in ('/ada', '/bob')
    ]
    assert [s[:2] for s in scores(watch)] == [e[:2] for e in expected]
    assert [s[2] for s in scores(watch)] == pytest.approx([e[2] for e in expected], abs=1e-6)


def test_map_row_and_truth_may_come_in_any_order(watch: Watch, make_fleet: Any) -> None:
    fleet = make_fleet('/ada')
    fleet.feed(watch, '/ada/collaboration', fleet.row('/ada', 1), 1.0)
    assert scores(watch) == []
    fleet.feed(watch, '/ada/map', fleet.map('/ada', 1), 1.1)
    assert scores(watch) == []  # no truth
    fleet.feed(watch, '/sim/truth', fleet.truth(), 1.2)
    assert [s[:2] for s in scores(watch)] == [['/ada', 1]]
    fleet.feed(watch, '/ada/collaboration', fleet.row('/ada', 2), 2.0)
    assert len(scores(watch)) == 1  # not the old map with the new step
    fleet.feed(watch, '/ada/map', fleet.map('/ada', 2), 2.1)
    assert [s[:2] for s in scores(watch)] == [['/ada', 1], ['/ada', 2]]


def test_another_run_begins_a_new_way(watch: Watch, make_fleet: Any) -> None:
    fleet = make_fleet('/ada')
    fleet.run(watch, 4)
    assert watch.robots['/ada'].trail.count(math.inf) == 4
    edition = watch.robots['/ada'].trail.edition
    fleet.feed(watch, '/ada/collaboration', fleet.row('/ada', 1), 20.0)
    assert watch.robots['/ada'].trail.count(math.inf) == 0
    assert watch.robots['/ada'].trail.edition > edition


def test_a_scan_is_shown_once_its_transform_is_there(watch: Watch, make_fleet: Any) -> None:
    fleet = make_fleet('/ada')
    fleet.feed(watch, '/ada/collaboration', fleet.row('/ada', 1), 2.0)
    fleet.feed(watch, '/ada/scan', fleet.scan('/ada', 2.1), 2.1)
    assert watch.robots['/ada'].places.at(math.inf) is None
    fleet.feed(watch, '/tf', fleet.tf('/ada', 2.0), 2.15)
    assert watch.robots['/ada'].places.at(math.inf) is None
    fleet.feed(watch, '/tf', fleet.tf('/ada', 2.2), 2.2)
    place = watch.robots['/ada'].places.at(math.inf)
    assert place is not None
    assert place.value.pose == pytest.approx(fleet.pose('/ada', 2.1))


def test_a_laser_may_hang_upside_down(watch: Watch, make_fleet: Any) -> None:
    fleet = make_fleet('/ada')
    fleet.feed(watch, '/ada/collaboration', fleet.row('/ada', 1), 2.0)
    scan = fleet.scan('/ada', 2.0)
    scan.ranges = [0.0] * 90 + [1.5] + [0.0] * 269  # to the left, 90 degrees
    scan.range_min = 0.1
    tf = fleet.tf('/ada', 2.0)
    rotation = tf.transforms[0].transform.rotation
    rotation.x, rotation.w = 1.0, 0.0
    fleet.feed(watch, '/ada/scan', scan, 2.0)
    fleet.feed(watch, '/tf', tf, 2.0)
    place = watch.robots['/ada'].places.at(math.inf)
    assert place is not None
    assert struct.unpack('<2h', place.value.points) == (0, -150)


def test_who_falls_silent_is_noted_and_who_comes_back(watch: Watch, make_fleet: Any) -> None:
    fleet = make_fleet('/ada', '/bob')
    fleet.run(watch, 2)
    watch.check_silence()
    assert lines(watch) == []
    late = 4.0 + SILENT + 1.1
    fleet.feed(watch, '/bob/collaboration', fleet.row('/bob', 3), late)
    watch.check_silence()
    assert lines(watch) == ['ada is no longer received']
    assert watch.silence(watch.robots['/ada'], late) == pytest.approx(SILENT + 1.1)
    assert watch.silence(watch.robots['/bob'], late) == 0.0
    assert watch.silence(watch.robots['/ada'], 5.0) == 0.0  # then it was not
    fleet.feed(watch, '/ada/collaboration', fleet.row('/ada', 9), late + 1)
    watch.check_silence()
    assert lines(watch)[-1] == 'ada is received again'


def test_what_makes_no_sense_is_said_and_does_no_harm(watch: Watch, make_fleet: Any) -> None:
    fleet = make_fleet('/ada')
    broken = fleet.map('/ada', 1)
    broken.info.width += 1
    fleet.feed(watch, '/ada/map', broken, 1.0)
    nowhere = fleet.map('/ada', 1)
    nowhere.info.resolution = 0.0
    fleet.feed(watch, '/ada/map', nowhere, 1.0)
    row = fleet.row('/ada', 1)
    row.peers, row.weights = ['bob', 'cid'], [0.5]
    fleet.feed(watch, '/ada/collaboration', row, 1.0)
    assert [line.split(':')[0] for line in lines(watch)] == [
        'view /ada/map', 'view /ada/map', 'view /ada/collaboration',
    ]
    fleet.run(watch, 1)
    assert len(watch.robots['/ada'].maps) == 1


def test_warnings_and_log_lines_are_kept(watch: Watch, make_fleet: Any) -> None:
    fleet = make_fleet('/ada')
    for _ in range(3):  # said every second, noted once
        fleet.feed(watch, '/ada/status', fleet.status('/ada', 1, 'no scan for 10 s'), 1.0)
    for level, text in ((10, 'detail'), (20, 'ready'), (40, '<b>broken</b>')):
        fleet.feed(watch, '/rosout', Log(level=level, name='ada.delama', msg=text), 2.0)
    assert lines(watch) == [
        'ada no scan for 10 s', 'ada.delama ready', 'ada.delama <b>broken</b>',
    ]
