"""The simulated world as a ROS 2 node: it owns /clock and publishes scans and odometry."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time as Stamp
from geometry_msgs.msg import PoseStamped, TransformStamped
from nav_msgs.msg import OccupancyGrid, Odometry
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import LaserScan
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

from delama_ros.geometry.poses import as_pose
from delama_ros.msg import Links
from delama_ros.robot.parameters import SIMULATOR
from delama_ros.ros.conversions import LATCHED, occupancy_to_ros, pose_to_ros, transform
from delama_ros.ros.options import declare
from delama_ros.ros.pacing import Pace
from delama_ros.ros.running import run
from delama_ros.simulation.world import make_world
from delama_sim.world import NANO, Scan

RELIABLE = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)


class Simulator(Node):
    """Advances the world with the wall clock; its messages depend on the seed alone."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('simulator', **kwargs)
        self._options = declare(self, SIMULATOR, mutable='speed')
        self._world = make_world(self._options)
        names = self._world.names
        prefix = not self._options['namespaced_tf']
        self._frames = {n: f'{n}/' if prefix else '' for n in names}
        self._clock_out = self.create_publisher(ClockMessage, '/clock', RELIABLE)
        self._links_out = self.create_publisher(Links, f'{self._options["swarm"]}/links', LATCHED)
        self._scans = {
            n: self.create_publisher(LaserScan, f'{n}/scan', qos_profile_sensor_data) for n in names
        }
        self._odometry = {n: self.create_publisher(Odometry, f'{n}/odom', RELIABLE) for n in names}
        self._ground_truth = {
            n: self.create_publisher(PoseStamped, f'{n}/ground_truth', RELIABLE) for n in names
        }
        self._tf = {'/tf': names} if prefix else {f'{n}/tf': (n,) for n in names}
        self._tf_out = {t: self.create_publisher(TFMessage, t, RELIABLE) for t in self._tf}
        self._fixed_out = {
            t: self.create_publisher(TFMessage, f'{t}_static', LATCHED) for t in self._tf
        }
        self._truth_out = [
            self.create_publisher(OccupancyGrid, f'sim/truth_{i}' if i else 'sim/truth', LATCHED)
            for i in range(len(self._world.maps))
        ]
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_service(Trigger, '~/step', self._on_step)
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.add_on_set_parameters_callback(self._on_parameters)

        self._offset = 0  # ns that the ROS clock is ahead of the world: a reset never turns it back
        self._published_links: bytes | None = None
        self._publish_fixed()
        self._publish_links()
        self._pace = Pace(
            self,
            self._scans,
            self._options,
            now=lambda: self._world.time,
            next_event=self._world.next_event,
            advance=self._advance,
        )
        self._pace.paused = bool(self._options['paused'])

    def _on_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        for change in changes:
            if change.name == 'speed':  # type and range were checked against the descriptor
                self._options['speed'] = change.value
                self._pace.restart()
        return SetParametersResult(successful=True)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._pace.paused = request.data
        self._pace.restart()
        response.success = True
        response.message = f'{"paused" if self._pace.paused else "running"} at {self._now:.3f} s'
        return response

    def _on_step(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Advance to the next scan, if paused."""
        response.success = paused = self._pace.paused
        if paused:
            while not self._advance():
                pass
        response.message = f'at {self._now:.3f} s' if paused else 'not paused: call pause first'
        return response

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Move all robots back to the start; the clock continues."""
        self._offset += self._world.time
        self._world.reset()
        self._pace.restart()
        self._publish_links()
        response.success = True
        response.message = f'robots moved back to the start at {self._now:.3f} s'
        return response

    @property
    def _now(self) -> float:
        return (self._offset + self._world.time) / NANO

    def _advance(self) -> list[Scan]:
        """Advance to the next event and publish it: transforms first, then clock, then scans."""
        scans = self._world.advance_to(self._world.next_event())
        stamp = Time(nanoseconds=self._offset + self._world.time).to_msg()
        self._publish_odometry(stamp)
        self._publish_links(stamp)
        self._clock_out.publish(ClockMessage(clock=stamp))
        lidar = self._world.lidar
        for scan in scans:
            taken = Time(nanoseconds=self._offset + scan.stamp).to_msg()
            message = LaserScan(
                angle_min=lidar.angle_min,
                angle_max=lidar.angle_min + lidar.angle_increment * (lidar.beams - 1),
                angle_increment=lidar.angle_increment,
                range_min=lidar.range_min,
                range_max=lidar.range_max,
                scan_time=1 / self._options['scan_rate'],
                time_increment=lidar.time_increment,
            )
            message.header.stamp = taken
            message.header.frame_id = f'{self._frames[scan.robot]}laser'
            message.ranges.frombytes(scan.ranges.tobytes())
            if scan.intensities is not None:
                message.intensities.frombytes(scan.intensities.tobytes())
            self._scans[scan.robot].publish(message)
        return scans

    def _publish_odometry(self, stamp: Stamp) -> None:
        world = self._world
        moving: dict[str, list[TransformStamped]] = {}
        map_frame, perfect = self._options['map_frame'], self._options['ground_truth_tf']
        rows = zip(
            *(world.names, world.poses, world.odometry, world.corrections(), world.speeds),
            strict=True,
        )
        for name, truth, pose, correction, (speed, turn_rate) in rows:
            frame = self._frames[name]
            to_base = transform(f'{frame}odom', f'{frame}base_link', pose, stamp)
            to_odom = transform(map_frame, f'{frame}odom', correction, stamp)
            moving[name] = [to_odom, to_base] if perfect else [to_base]
            here = PoseStamped(pose=pose_to_ros(as_pose(truth)))
            here.header.stamp, here.header.frame_id = stamp, map_frame
            self._ground_truth[name].publish(here)
            message = Odometry(header=to_base.header, child_frame_id=to_base.child_frame_id)
            position, shift = message.pose.pose.position, to_base.transform.translation
            position.x, position.y = shift.x, shift.y
            message.pose.pose.orientation = to_base.transform.rotation
            message.twist.twist.linear.x = float(speed)
            message.twist.twist.angular.z = float(turn_rate)
            self._odometry[name].publish(message)
        for topic, names in self._tf.items():
            links = [link for name in names for link in moving[name]]
            self._tf_out[topic].publish(TFMessage(transforms=links))

    def _publish_fixed(self) -> None:
        """Publish what never changes: the true maps and the mounts of the lasers."""
        for out, occupancy in zip(self._truth_out, self._world.maps, strict=True):
            grid = occupancy_to_ros(occupancy)
            grid.header.frame_id = self._options['map_frame']
            out.publish(grid)
        for topic, names in self._tf.items():
            frames = [self._frames[name] for name in names]
            mount = np.array(self._world.lidar.mount)
            links = [transform(f'{f}base_link', f'{f}laser', mount, Stamp()) for f in frames]
            self._fixed_out[topic].publish(TFMessage(transforms=links))

    def _publish_links(self, stamp: Stamp | None = None) -> None:
        """Publish which robots receive each other, if that has changed."""
        hears = self._world.links.hears
        if hears.tobytes() == self._published_links:
            return
        self._published_links = hears.tobytes()
        message = Links(robots=list(self._world.names), hears=hears.ravel().tolist())
        message.header.stamp = stamp or Time(nanoseconds=self._offset + self._world.time).to_msg()
        self._links_out.publish(message)


def main() -> int:
    """Run until interrupted; a wrong parameter is reported in one line."""
    return run('delama_simulator', Simulator, lambda node: None)


if __name__ == '__main__':
    sys.exit(main())
