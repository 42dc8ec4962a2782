"""One robot of the swarm: laser scans in, its own map of the whole building out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.timer import Timer
from std_msgs.msg import Header

from delama_ros.errors import UserError
from delama_ros.geometry.grid import Floats, OccupancyMap, Pose
from delama_ros.geometry.poses import as_pose, yaw_of
from delama_ros.robot.driver import Report
from delama_ros.robot.localization import Located
from delama_ros.robot.parameters import NAME, ROBOT, check
from delama_ros.robot.progress import Progress
from delama_ros.robot.runtime import Runtime
from delama_ros.robot.save_folder import save_folder
from delama_ros.robot.timed_scan import TimedScan
from delama_ros.ros.exchange import Exchange
from delama_ros.ros.options import declare
from delama_ros.ros.outputs import PLANAR, Outputs, group_colour
from delama_ros.ros.robot_services import RobotServices
from delama_ros.ros.running import run
from delama_ros.ros.scan_input import ScanInput
from delama_ros.ros.worker import Worker, small_node

# s of wall time between looks at the ROS clock; a timer of that clock would stop when the clock
# stops or is set back.
TICK = 0.1
# s of wall time from the end of a step until new scans are learned from and its map is drawn. Where
# several robots share a computer, this leaves the processor to those that are still in the step.
REST = 0.05

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class Robot(LifecycleNode):
    """Connects a robot's runtime to topics, services, timers and TF.

    Configure loads the checkpoint, activate starts mapping, deactivate keeps what was learned,
    cleanup discards it. While a worker exists, only the worker uses the runtime.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('delama', **kwargs)
        self.options = declare(self, ROBOT)
        self.robot = self.options['robot'] or self.get_namespace().strip('/').replace('/', '_')
        if not self.robot:
            raise ValueError('a robot needs a name: set the parameter robot, or a namespace')
        if not NAME.fullmatch(self.robot):
            raise ValueError(
                f'robot is {self.robot!r}, expected 1 to 64 letters, digits and _, not beginning '
                'with a digit'
            )
        check(self.options)
        self._folder = save_folder(self.options['save_folder'], self.robot)
        self._worker: Worker | None = None
        self._progress = Progress()
        # A completed step that is not published yet, and what draws its map.
        self._pending: tuple[Header, Report, Callable[[], OccupancyMap]] | None = None
        self._shown: Report | None = None  # of the last step that was published
        self._newest: Located | None = None  # pose of the base at the newest scan
        self._paused = False
        self._unsaved = ''  # why the memory could not be saved

    # Lifecycle

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model, and the memory if it was saved; open the outputs."""
        self.get_logger().info(f'{self.robot}: loading; the first start compiles for a minute')
        try:
            self.runtime = Runtime(
                self.robot,
                self.options,
                send=lambda wire: self._exchange.send(wire),
                located=self._on_located,
                step_done=self._on_step_done,
                info=self.get_logger().info,
                warn=lambda text: self.get_logger().warning(text, throttle_duration_sec=5.0),
            )
        except (OSError, ValueError) as error:
            self.get_logger().error(f'cannot be configured: {error}')
            return FAILURE
        self._outputs = Outputs(self, self.robot, self.options['map_frame'])
        self._service_desk = RobotServices(
            self, self.runtime, folder=self._folder, on_worker=self._on_worker, pause=self._pause
        )
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Subscribe and start mapping."""
        runtime = self.runtime
        self._rounds = small_node(f'{self.get_name()}_rounds', self)
        worker = self._worker = Worker(
            self._rounds,
            wakes_at=lambda: runtime.wakes_at,
            wake=runtime.wake,
            idle=self._on_idle,
            failed=lambda error: self.get_logger().fatal(f'the worker failed: {error!r}'),
        )
        self._exchange = Exchange(self._rounds, self, self.options, runtime, worker.do)
        self._scans = ScanInput(
            self, self.options, peers=lambda: runtime.sharing, take=self._add_scan
        )
        self._initial_pose = self.create_subscription(
            PoseWithCovarianceStamped, 'initialpose', self._on_initial_pose, 10
        )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._later = self._rounds.create_timer(
            REST, lambda: worker.do(self._end_step), clock=steady, autostart=False
        )
        self._schedule: list[Timer] = [
            self.create_timer(TICK, self._on_clock, clock=steady),
            self.create_timer(1.0, lambda: worker.submit(self._show_status), clock=steady),
        ]
        if runtime.saves_memory:
            self._schedule.append(
                self.create_timer(
                    self.options['memory_period'],
                    lambda: worker.submit(runtime.keep_memory),
                    clock=steady,
                )
            )
        worker.start()
        self.get_logger().info(f'{self.robot}: waiting for {self.resolve_topic_name("scan")}')
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop mapping; memory and map are kept."""
        self.stop()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Discard what was learned."""
        self._service_desk.close()
        self._outputs.close()
        del self.runtime
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop; the memory is saved if it has a file."""
        self.stop()
        return SUCCESS

    def stop(self) -> None:
        """Unsubscribe and stop the worker if it runs; what was learned is kept."""
        if self._worker is None:
            return
        self._worker.stop()
        self._worker = None
        self._show_step()
        self.runtime.interrupt()
        self._scans.close()
        self.destroy_subscription(self._initial_pose)
        self._exchange.close()
        self._rounds.destroy_node()
        for timer in self._schedule:
            self.destroy_timer(timer)
        if self.runtime.saves_memory:
            self.runtime.keep_memory()
            self._unsaved = self.runtime.unsaved

    def end(self) -> None:
        """Stop for good; a UserError says that what was learned could not be saved."""
        self.stop()
        if self._unsaved:
            raise UserError(self._unsaved)

    def destroy_node(self) -> None:
        """Shut down DDS entities now, so that peers notice and shared memory is released."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()  # rclpy keeps it, and it keeps the node

    # ROS thread

    def _on_worker(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the runtime when nobody else uses it, and return its result."""
        return self._worker.call(task, *arguments) if self._worker else task(*arguments)

    def _pause(self, paused: bool) -> None:
        self._paused = paused

    def _on_clock(self) -> None:
        if self._worker and not self._paused:
            now = self.get_clock().now().nanoseconds * 1e-9
            self._worker.submit(self.runtime.tick, now)

    def _add_scan(self, scan: TimedScan) -> None:
        if self._worker and not self._paused:
            self._worker.submit(self.runtime.add_scan, scan)

    def _on_initial_pose(self, message: PoseWithCovarianceStamped) -> None:
        frame, place, turn = (
            message.header.frame_id,
            message.pose.pose.position,
            message.pose.pose.orientation,
        )
        mode, expected = self._scans.buffer.mode, self.options['map_frame']
        if mode not in ('slam', 'auto') or frame.lstrip('/') != expected:
            self.get_logger().warning(
                f'initialpose ignored: frame {frame!r} and localization {mode}, '
                f'expected {expected!r} and slam'
            )
            return
        covariance = np.array(message.pose.covariance).reshape(6, 6)[np.ix_(PLANAR, PLANAR)]
        pose = (place.x, place.y, yaw_of(turn.x, turn.y, turn.z, turn.w))
        if self._worker:
            self._worker.submit(self._set_pose, pose, covariance)

    # Worker

    def _set_pose(self, pose: Pose, covariance: Floats) -> None:
        try:
            self.runtime.set_pose(pose, covariance)
            self.get_logger().info(f'initial pose {pose[0]:.2f}, {pose[1]:.2f}, {pose[2]:.2f}')
        except ValueError as error:
            self.get_logger().warning(f'initialpose ignored: {error}')

    def _on_located(self, located: Located) -> None:
        self._newest, self._scans.correction = located, located.correction
        self._outputs.show_pose(located)

    def _on_step_done(self, report: Report, draw: Callable[[], OccupancyMap]) -> None:
        self._show_step()  # the step before, if it is still pending
        self._pending = self._outputs.header(), report, draw
        self._later.reset()

    def _end_step(self) -> None:
        """Compare models with peers' in other frames, then publish what the step has led to."""
        self._learn()
        self._show_step()

    def _on_idle(self) -> None:
        # A frame that changes between two steps changes with its map.
        if self._pending is None and self._learn() and self._shown is not None:
            self._pending = self._outputs.header(), self._shown, self.runtime.occupancy
            self._show_step()

    def _learn(self) -> bool:
        """Learn from new scans; tells whether the map frame has changed, with all poses in it."""
        move = self.runtime.learn()
        if move is None:
            return False
        self._outputs.move(as_pose(move.transform))
        if self._newest is not None:
            self._on_located(self._newest.moved(as_pose(move.transform)))
        return True

    def _show_step(self) -> None:
        """Publish the results of the last step, once."""
        self._later.cancel()
        if self._pending is None:
            return
        (header, report, draw), self._pending = self._pending, None
        self._shown = report
        colour = group_colour(self.runtime.frame, {self.robot, *self.runtime.known})
        pose = None if self._newest is None else self._newest.pose
        self._outputs.show_step(
            header, report, draw(), pose, self._scans.buffer.peer_poses, colour
        )
        completed = self.runtime.completed()
        if completed is not None:
            self._outputs.show_completed(header, completed)
        self._show_status(header)

    def _show_status(self, header: Header | None = None) -> None:
        if self._pending is None:  # otherwise the step's own follows, together with its map
            status = self.runtime.status(self._scans.problems())
            self._outputs.show_status(header or self._outputs.header(), status)
            for line in self._progress.lines(status):
                self.get_logger().info(line)


def start(node: Robot) -> Robot:
    """Configure and activate the node, unless a lifecycle manager does so."""
    if node.options['autostart']:
        if node.trigger_configure() != SUCCESS:
            raise ValueError(f'{node.robot} could not be configured')
        node.trigger_activate()
    return node


def main() -> int:
    """Run one robot until it is interrupted."""
    return run('delama_robot', lambda: start(Robot()), Robot.end)


if __name__ == '__main__':
    sys.exit(main())
