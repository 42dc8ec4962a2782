"""Sensors of a robot that misbehave, hang upside down, or have a clock that jumps."""

import math
import time
from collections.abc import Callable

import pytest
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from robot_bench import Bench, walls
from tf2_msgs.msg import TFMessage

from delama_ros.ros.conversions import LATCHED, occupancy_from_ros


@pytest.mark.parametrize('bench', [{'quiet': '2.0'}], indirect=True)
def test_scans_that_are_of_no_use_are_named_and_do_no_harm(bench: Bench) -> None:
    bench.map_some()
    before = walls(bench.maps[-1])
    nan, inf = float('nan'), float('inf')
    for scan, words in (
        (lambda: bench.scan([nan] * 180), 'scan refused: no valid range: all 180 readings are NaN'),
        (lambda: bench.scan([]), 'scan refused: ranges have shape (0,)'),
        (lambda: bench.scan(frame='some/where', pose=False), "'some/where' has no parent"),
    ):
        bench.until(
            lambda w=words: w in bench.log.read_text() and w in bench.status['message'],
            meanwhile=scan,
        )
    bench.until(lambda: 'no scan for 2 s on /ann/scan' in bench.status['message'])
    for _ in range(10):  # some beams are wrong, the others are taken
        bench.scan([2.0, nan, inf, -inf, 99.0, 0.0] * 30)
        time.sleep(0.02)
    bench.map_some()  # and it goes on without a restart
    assert walls(bench.maps[-1]) > 0.8 * before
    bench.until(
        lambda: bench.status['message'].endswith(', no peer received so far')
        and float(bench.status['scans per second']) > 1,
        meanwhile=bench.scan,
    )


@pytest.mark.parametrize('bench', [{'use_sim_time': 'true'}], indirect=True)
def test_a_clock_that_jumps_back(bench: Bench) -> None:
    now = 100.0

    def go_on() -> None:
        nonlocal now
        now += 0.05
        bench.set_clock(now)
        bench.scan()

    def steps(condition: Callable[[int], bool]) -> None:
        bench.until(lambda: condition(int(bench.status.get('step', 0))), meanwhile=go_on)

    steps(lambda step: step > 203 and walls(bench.maps[-1]) > 100)
    now = 50.0
    steps(lambda step: 100 < step < 200)
    assert bench.status['clock jumps'] == '1'
    assert 'the clock jumped back to 50.' in bench.log.read_text()
    scans = int(bench.status['scans'])
    bench.until(lambda: int(bench.status['scans']) > scans + 5, meanwhile=go_on)
    assert walls(bench.maps[-1]) > 100


def test_a_laser_that_hangs_upside_down(bench: Bench) -> None:
    near_on_its_left = [2.0] * 90 + [4.0] * 90
    fixed = bench.node.create_publisher(TFMessage, '/tf_static', LATCHED)
    link = TransformStamped(child_frame_id='ann/hanging')
    link.header.frame_id = 'ann/laser'
    link.transform.rotation.x, link.transform.rotation.w = 1.0, 0.0  # turned over, looking ahead
    fixed.publish(TFMessage(transforms=[link]))
    bench.until(
        lambda: bench.maps and walls(bench.maps[-1]) > 100,
        meanwhile=lambda: bench.scan(near_on_its_left, frame='ann/hanging'),
    )
    drawn = occupancy_from_ros(bench.maps[-1])
    assert drawn.value_at([0.0, -2.05]) > 60
    assert drawn.value_at([0.0, 2.05]) < 20


@pytest.mark.parametrize(
    'bench',
    [{'localization': 'odometry', 'start_pose': '[3.0, 2.0, 1.5708]', 'quiet': '2.0'}],
    indirect=True,
)
def test_poses_from_odometry_and_a_start(bench: Bench) -> None:
    def drive(x: float = 1.0) -> None:
        stamp = bench.node.get_clock().now().to_msg()
        message = Odometry(child_frame_id='ann/laser')
        message.header.frame_id, message.header.stamp = 'ann/odom', stamp
        message.pose.pose.position.x = x
        message.pose.pose.orientation.w = 1.0
        bench.odometry.publish(message)
        bench.scan(pose=False)

    bench.until(lambda: bench.maps and walls(bench.maps[-1]) > 100, meanwhile=drive)
    drawn = occupancy_from_ros(bench.maps[-1])
    assert drawn.value_at([3.0, 2.0]) < 20  # where the robot stands
    assert drawn.value_at([5.05, 2.0]) > 60

    # no odometry, then such that is none, then sound again
    bench.until(
        lambda: 'no pose for 2 s on /ann/odom' in bench.status['message']
        and "scan dropped: no pose of 'ann/laser'" in bench.log.read_text(),
        meanwhile=lambda: bench.scan(pose=False),
    )
    bench.until(
        lambda: "pose of 'ann/laser' refused: position (nan, 0.0, 0.0)" in bench.log.read_text(),
        meanwhile=lambda: drive(math.nan),
    )
    bench.until(lambda: 'expected less than' in bench.status['message'], lambda: drive(1e9))
    bench.until(
        lambda: bench.status['message'].endswith(', no peer received so far'), meanwhile=drive
    )
    assert occupancy_from_ros(bench.maps[-1]).value_at([5.05, 2.0]) > 60
