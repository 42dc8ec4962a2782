"""A swarm of real processes that a test can watch and hurt."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor

from delama_ros.msg import ModelParams
from delama_ros.swarm.description import Swarm
from delama_ros.swarm.observer import Observer
from delama_ros.swarm.processes import Processes
from delama_ros.swarm.record import Record


class LiveSwarm:
    """Simulator and robots, started one by one, and an observer that fills in a record."""

    def __init__(self, swarm: Swarm, folder: Path, environment: dict[str, str]) -> None:
        self.swarm = swarm
        self.record = Record(swarm.robots, swarm.steps, free=swarm.free)
        self.diagnostics: dict[str, dict[str, str]] = {}
        self.environment = environment
        self.processes = Processes(folder, environment)
        self._folder = folder
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.node = Observer(self.record, context=self._context)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 100)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)

    def __enter__(self) -> 'LiveSwarm':
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.processes.stop()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def start_simulator(self, remappings: Sequence[tuple[str, str]] = ()) -> None:
        parameters = {**self.swarm.simulator_parameters(), 'start_wait': 0.0}
        self.processes.start(
            'simulator', 'delama_ros.simulation.node', '/', parameters, remappings=remappings
        )

    def start_robot(
        self,
        name: str,
        prefix: Sequence[str] = (),
        module: str = 'delama_ros.ros.robot',
        **changes: Any,
    ) -> None:
        parameters = {**self.swarm.robot_parameters(name), **changes}
        self.processes.start(name, module, f'/{name}', parameters, prefix=prefix)

    def until(self, condition: Callable[[], bool], seconds: float = 120.0) -> None:
        """Wait for something to become true."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f'not within {seconds} s; {self.diagnostics}'
            self._executor.spin_once(timeout_sec=0.1)

    def kill_in_step(self, robot: str) -> int:
        """End a robot at once when it has said the first word of a step; returns the step."""
        said: list[int] = []

        def on_params(message: ModelParams) -> None:
            if message.robot == robot and message.phase == ModelParams.LOCAL and not said:
                self.processes.kill(robot)
                said.append(message.step)

        heard = self.node.create_subscription(ModelParams, '/delama/params', on_params, 100)
        self.until(lambda: bool(said))
        self.node.destroy_subscription(heard)
        return said[0]

    def step_of(self, robot: str) -> int:
        """Return the last step a robot has done."""
        return max((t for t, row in self.record.weights.items() if robot in row), default=0)

    def peers(self, robot: str) -> set[str]:
        """Return with whom a robot collaborated in its last step."""
        step = self.step_of(robot)
        return set(self.record.weights[step][robot]) if step else set()

    def f1(self, robot: str) -> float:
        """Return the score of a robot's last map."""
        return self.record.f1[self.step_of(robot)][robot]

    def log(self, name: str) -> str:
        return (self._folder / 'log' / f'{name}.log').read_text()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {item.key: item.value for item in status.values}
            self.diagnostics[status.hardware_id] = {**values, 'message': status.message}
