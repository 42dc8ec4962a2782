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

from delama_ros.mapping.default import default_mapper
from delama_ros.robot.parameters import ROBOT
from delama_ros.robot.runtime import warm_up
from delama_ros.swarm.description import Swarm
from delama_ros.swarm.observer import Observer
from delama_ros.swarm.processes import Domain, Processes
from delama_ros.swarm.record import Record
from delama_ros.swarm.starts import with_starts

# The node that provides the scans, by the source of the description.
SOURCES = {'simulator': 'delama_ros.simulation.node', 'replay': 'delama_ros.ros.replay'}
START_LIMIT = 60.0  # s for all nodes to start
STEP_LIMIT = 30.0  # s without progress after which a run is aborted


class RunError(RuntimeError):
    """The swarm stopped before its last step; the text says which process or step failed."""


def run_swarm(
    swarm: Swarm,
    folder: Path,
    on_step: Callable[[Record, int], None],
    record: Record,
    *,
    bag: bool = False,
    poll: Callable[[], None] = lambda: None,
    robot: tuple[str, Mapping[str, Any]] = ('delama_ros.ros.robot', {}),
) -> None:
    """Run all steps of a swarm.

    A ROS_DOMAIN_ID in the environment is used as it is; otherwise the run gets one of its own,
    unless real robots provide the scans.

    Args:
        swarm: the description.
        folder: receives logs, parameter files and the bag.
        on_step: called when all robots have completed a step.
        record: filled in with the results.
        bag: whether to record all topics as a rosbag2.
        poll: called several times a second; an exception ends the run.
        robot: module of a robot's node, and parameters beyond the described ones.

    Raises:
        RunError: if a process ends early or no step is completed for too long.
    """
    domain = None if 'ROS_DOMAIN_ID' in os.environ or not swarm.source else Domain()
    environment = domain.environment() if domain else {}
    os.environ.update(environment)  # rclpy reads the process's own environment
    context = rclpy.Context()
    compile_once(swarm)
    try:
        with Processes(folder, environment) as processes:
            if bag:
                parameters = {
                    'use_sim_time': bool(swarm.source),
                    'path': str(folder / 'bag'),
                    'robots': list(swarm.robots),
                }
                processes.start('recorder', 'delama_ros.ros.recorder', '/', parameters)
            module, more = robot
            for name, parameters in with_starts(swarm).items():
                processes.start(
                    name,
                    module,
                    f'/{name}',
                    {**parameters, **more},
                    remappings=swarm.remappings(name),
                )
            if swarm.source:
                processes.start(
                    swarm.source, SOURCES[swarm.source], '/', swarm.source_parameters()
                )
            # Ctrl-C is handled by this program, not by rclpy.
            rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
            node = Observer(record, from_one=not swarm.source, context=context)
            executor = SingleThreadedExecutor(context=context)
            executor.add_node(node)
            _watch(swarm, executor, processes, on_step, record, poll)
            node.destroy_node()
        if processes.failures:
            raise RunError('\n'.join(processes.failures))
    finally:
        rclpy.try_shutdown(context=context)
        if domain:
            domain.close()
            del os.environ['ROS_DOMAIN_ID'], os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE']


def compile_once(swarm: Swarm) -> None:
    """Compile in this process what robots need, so that they find it in the cache of numba."""
    name = swarm.robots[0]
    options = {key: option.default for key, option in ROBOT.items()}
    warm_up(default_mapper(name), options | swarm.robot_parameters(name))


def _watch(
    swarm: Swarm,
    executor: SingleThreadedExecutor,
    processes: Processes,
    on_step: Callable[[Record, int], None],
    record: Record,
    poll: Callable[[], None],
) -> None:
    shown = 0
    patience = STEP_LIMIT + 5 * swarm.period / swarm.source_parameters().get('speed', 1.0)
    limit = time.monotonic() + START_LIMIT + patience
    while shown < swarm.steps or not swarm.steps:
        executor.spin_once(timeout_sec=0.1)
        poll()
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
                f'step {shown + 1} was not completed; robots that did: {have or "none"}'
            )
    record.memory = processes.memory()  # at the end, when maps are largest
