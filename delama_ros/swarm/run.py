"""Runs a described swarm over ROS 2: one process per robot, a simulator, and an observer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from delama_ros.nodes.observer import Observer
from delama_ros.swarm.description import Swarm
from delama_ros.swarm.processes import Domain, Processes
from delama_ros.swarm.record import Record

START_LIMIT = 60.0  # s for all nodes to come up
STEP_LIMIT = 30.0  # s without any news after which a run is given up


class RunError(RuntimeError):
    """The swarm stopped before its last step; the text says which process, or what was missing."""


def run_swarm(
    swarm: Swarm,
    folder: Path,
    on_step: Callable[[Record, int], None],
    record: Record,
    *,
    bag: bool = False,
    go_on: Callable[[], None] = lambda: None,
    robot: tuple[str, Mapping[str, Any]] = ('delama_ros.nodes.robot', {}),
) -> None:
    """Run all steps, filling in `record`; on_step is called when all robots have done a step.

    go_on is called several times a second, and ends the run by raising something.

    With `bag`, everything that is said is recorded as a rosbag2 in the folder. `robot` is a robot's
    node, as its module, and parameters beyond the described ones.

    A ROS_DOMAIN_ID in the environment is used as it is; otherwise the run has one of its own, but
    not if real robots give the scans.
    """
    domain = None if 'ROS_DOMAIN_ID' in os.environ or not swarm.source else Domain()
    environment = domain.environment() if domain else {}
    os.environ.update(environment)  # rclpy reads the process's own environment
    context = rclpy.Context()
    try:
        with Processes(folder, environment) as processes:
            if bag:
                parameters = {
                    'use_sim_time': bool(swarm.source),
                    'path': str(folder / 'bag'),
                    'robots': list(swarm.robots),
                }
                processes.start('recorder', 'delama_ros.nodes.recorder', '/', parameters)
            module, more = robot
            for name in swarm.robots:
                processes.start(
                    name,
                    module,
                    f'/{name}',
                    {**swarm.robot_parameters(name), **more},
                    remappings=swarm.remappings(name),
                )
            if swarm.source:
                source = f'delama_ros.nodes.{swarm.source}'
                processes.start(swarm.source, source, '/', swarm.source_parameters())
            # Ctrl-C must reach this program, not end the context behind its back.
            rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
            node = Observer(record, from_one=not swarm.source, context=context)
            executor = SingleThreadedExecutor(context=context)
            executor.add_node(node)
            _watch(swarm, executor, processes, on_step, record, go_on)
            node.destroy_node()
    finally:
        rclpy.try_shutdown(context=context)
        if domain:
            domain.close()
            del os.environ['ROS_DOMAIN_ID'], os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE']


def _watch(
    swarm: Swarm,
    executor: SingleThreadedExecutor,
    processes: Processes,
    on_step: Callable[[Record, int], None],
    record: Record,
    go_on: Callable[[], None],
) -> None:
    shown = 0
    patience = STEP_LIMIT + 5 * swarm.period / swarm.source_parameters().get('speed', 1.0)
    limit = time.monotonic() + START_LIMIT + patience
    while shown < swarm.steps or not swarm.steps:
        executor.spin_once(timeout_sec=0.1)
        go_on()
        while shown < min(record.done(), swarm.steps or record.done()):
            shown += 1
            on_step(record, shown)
            limit = time.monotonic() + patience
        failure = processes.failed()
        if failure:
            raise RunError(failure)
        if time.monotonic() > limit:
            have = sorted(record.bytes.get(shown + 1, {}))
            raise RunError(
                f'step {shown + 1} did not end; robots that have done it: {have or "none"}'
            )
    record.memory = processes.memory()  # at the end, when maps are largest
