"""One robot of the swarm: laser scans in, its own map of the whole building out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.timer import Timer
from std_msgs.msg import Header

from delama_ros.mapping.completion import packaged as packaged_decoder
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.evidence import Scan
from delama_ros.mapping.mapper import Mapper
from delama_ros.nodes.exchange import Exchange
from delama_ros.nodes.health import Health
from delama_ros.nodes.options import declare
from delama_ros.nodes.outputs import Outputs
from delama_ros.nodes.robot_options import encoding, start_pose
from delama_ros.nodes.robot_services import RobotServices
from delama_ros.nodes.running import run
from delama_ros.nodes.scan_input import ScanInput
from delama_ros.nodes.worker import Worker, small_node
from delama_ros.swarm.driver import OUT_OF_STEP, Driver, Report
from delama_ros.swarm.memory_file import load_memory, save_memory
from delama_ros.swarm.options import ROBOT
from delama_ros.transport.port import Port, Wire
from delama_sim.grid import Pose

# s of wall time between looks at the ROS clock; a timer of that clock would stop with it, and
# when it is set back.
TICK = 0.1
# s of wall time after a step's end until its map is drawn and new scans are learned. Of several
# robots on one computer the first to end a step leave the processor to those still in it.
REST = 0.05

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class Robot(LifecycleNode):
    """Hands scans and neighbours' messages to a worker, and publishes what it finds.

    Configure loads the checkpoint, activate starts, deactivate keeps what was learned, cleanup
    drops it. Mapper and driver belong to the worker while there is one.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('delama', **kwargs)
        self.options = declare(self, ROBOT)
        self.robot = self.options['robot'] or self.get_namespace().strip('/').replace('/', '_')
        if not self.robot:
            raise ValueError('a robot needs a name: set the parameter robot, or a namespace')
        self._encoding = encoding(self.options)
        self._start = start_pose(self.options)
        try:
            self._memory_file = Path(self.options['memory_file']).expanduser()
        except RuntimeError as error:
            raise ValueError(f'memory_file is {self.options["memory_file"]!r}: {error}') from error
        self._keeps_memory = bool(self.options['memory_file'])
        self._worker: Worker | None = None
        self._unshown: tuple[Header, Report] | None = None  # of a step that has just ended
        self.paused = False

    # Lifecycle

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model, and memory if there is some; open the outputs."""
        try:
            self.mapper = self._new_mapper()
            self._decoder = packaged_decoder() if self.options['complete'] else None
            warm_up(self._new_mapper())
            if self._keeps_memory and self._memory_file.exists():
                load_memory(self._memory_file, self.mapper)
                tiles = len(self.mapper.agent.memory[0])
                self.get_logger().info(f'goes on with {tiles} tiles of {self._memory_file}')
            if self._keeps_memory:  # better to know now than at the end that it cannot be written
                save_memory(self._memory_file, self.mapper)
        except (OSError, ValueError) as error:
            self.get_logger().error(f'cannot be configured: {error}')
            return FAILURE
        self._driver = Driver(
            self.mapper,
            Port(self.robot, self._encoding),
            period=self.options['period'],
            deadline=self.options['deadline'],
            steps=self.options['steps'],
            send=lambda wire: self._exchange.send(wire),
            finished=self._on_step_done,
        )
        self._outputs = Outputs(self, self.robot, self.options['map_frame'])
        self._service_desk = RobotServices(self)
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start listening and mapping."""
        driver = self._driver
        self._rounds = small_node(f'{self.get_name()}_rounds', self)
        worker = self._worker = Worker(
            self._rounds,
            wakes_at=lambda: driver.wakes_at,
            wake=driver.wake,
            idle=self._rest,
            failed=self._on_failure,
        )
        self._exchange = Exchange(
            self._rounds,
            self,
            self.robot,
            self.options,
            heard=lambda wire: worker.do(self._take_message, wire),
            refused=lambda sender, reason: worker.do(self._refuse, sender, reason),
            linked=lambda stamp, names: worker.do(driver.set_links, stamp, names),
        )
        self._scans = ScanInput(
            self,
            self.options,
            self._start,
            lambda: self._exchange.known,
            self._take_scan,
        )
        self._health = Health(driver, self._exchange, self._scans, self.options['quiet'])
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._later = self._rounds.create_timer(
            REST, lambda: worker.do(self._show), clock=steady, autostart=False
        )
        self._schedule: list[Timer] = [
            self.create_timer(TICK, self._on_clock, clock=steady),
            self.create_timer(1.0, lambda: worker.submit(self._diagnose), clock=steady),
        ]
        if self._keeps_memory:
            period = self.options['memory_period']
            self._schedule.append(self.create_timer(period, self._keep_memory, clock=steady))
        worker.start()
        self.get_logger().info(f'{self.robot}: waiting for {self.resolve_topic_name("scan")}')
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop listening; memory and map stay."""
        self.stop()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Drop all that was learned."""
        self._service_desk.close()
        self._outputs.close()
        del self.mapper, self._driver
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End; memory is kept if it has a file."""
        self.stop()
        return SUCCESS

    def stop(self) -> None:
        """Stop listening and working, if that was on; what was learned stays."""
        if self._worker is None:
            return
        self._worker.stop()
        self._worker = None
        self._show()
        self._driver.restart()  # a step under way ends here
        self._scans.close()
        self._rounds.destroy_node()
        for timer in self._schedule:
            self.destroy_timer(timer)
        if self._keeps_memory:
            try:
                save_memory(self._memory_file, self.mapper)
            except OSError as error:
                self.get_logger().error(f'memory was not kept: {error}')

    def destroy_node(self) -> None:
        """Take leave of the others at once, and of the machine's shared memory."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()  # rclpy leaves it, and it holds the node

    # What services do

    def on_worker(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Do something with the mapper when nobody else does, and return its result."""
        return self._worker.call(task, *arguments) if self._worker else task(*arguments)

    def forget(self) -> None:
        """Drop all that was learned and begin anew."""
        self.mapper = self._new_mapper()
        self._driver.forget(self.mapper)

    def _new_mapper(self) -> Mapper:
        checkpoint = self.options['checkpoint'] or None
        return default_mapper(self.robot, checkpoint, keep=self.options['keep'])

    def _keep_memory(self) -> None:
        assert self._worker is not None
        self._worker.submit(save_memory, self._memory_file, self.mapper)

    # What comes in (ROS thread)

    def _on_clock(self) -> None:
        if self._worker and not self.paused:
            now = self.get_clock().now().nanoseconds * 1e-9
            self._worker.submit(self._tick, now)

    def _take_scan(
        self, stamp: float, scan: Scan, pose: Pose, peers: list[tuple[float, float]]
    ) -> None:
        if self._worker and not self.paused:
            self._worker.submit(self._driver.add_scan, stamp, scan, pose, peers)

    # What follows from it (worker)

    def _tick(self, now: float) -> None:
        jumps = self._driver.counts.clock_jumps
        self._driver.tick(now)
        if self._driver.counts.clock_jumps > jumps:
            self.get_logger().warning(
                f'the clock has jumped back to {now:.1f} s: steps are counted anew, the map stays'
            )

    def _take_message(self, wire: Wire) -> None:
        refusal = self._driver.add_message(wire)
        if refusal and not refusal.startswith(OUT_OF_STEP):  # who comes or goes is no news
            self._warn(f'message of {wire.robot!r} refused: {refusal}')

    def _refuse(self, sender: str, reason: str) -> None:
        self._driver.counts.refused[reason.partition(':')[0]] += 1
        self._warn(f'message of {sender!r} refused: {reason}')

    def _on_step_done(self, report: Report) -> None:
        self._show()  # a step before, if that has not been done yet
        self._health.take(report)
        self._unshown = self._outputs.header(), report
        self._later.reset()

    def _show(self) -> None:
        """Publish what the last step gave, once."""
        self._later.cancel()
        if self._unshown is None:
            return
        (header, report), self._unshown = self._unshown, None
        scans = self._scans
        self._outputs.show_step(header, report, self.mapper.occupancy(), scans.pose, scans.peers)
        if self._decoder is not None:
            self._outputs.show_completed(header, self.mapper.completed(self._decoder))
        self._diagnose(header)

    def _rest(self) -> None:
        if self._unshown is None:
            self._driver.learn()

    def _diagnose(self, header: Header | None = None) -> None:
        header = header or self._outputs.header()
        self._outputs.diagnose(header, self._health.problems(), self._health.values())

    def _warn(self, text: str) -> None:
        self.get_logger().warning(text, throttle_duration_sec=5.0)

    def _on_failure(self, error: BaseException) -> None:
        self.get_logger().fatal(f'the worker failed: {error!r}')


def warm_up(mapper: Mapper) -> None:
    """Compile what will be needed, on a mapper of its own, before the first scan arrives."""
    mapper.add_scan(Scan(np.ones(4), 0.0, np.pi / 2, 0.1, 2.0), (0.0, 0.0, 0.0))
    mapper.begin(1, [])
    while not mapper.agent.done:
        mapper.agent.advance()
    mapper.occupancy()


def start(node: Robot) -> Robot:
    """Start the node, unless a lifecycle manager is to do so."""
    if node.options['autostart']:
        if node.trigger_configure() != SUCCESS:
            raise ValueError(f'{node.robot} could not be configured')
        node.trigger_activate()
    return node


def main() -> int:
    """Run one robot until it is interrupted."""
    return run('delama_robot', lambda: start(Robot()), Robot.stop)


if __name__ == '__main__':
    sys.exit(main())
