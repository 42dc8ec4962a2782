"""One thread that runs a robot's tasks in order, so that ROS callbacks never block.

It spins a small node of its own: rclpy checks every entity of a node whenever a message arrives, so
a node with few entities receives messages of peers several times faster.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter


def small_node(name: str, main: Node) -> Node:
    """Create a node without services, in the namespace and context of another."""
    return Node(
        name,
        context=main.context,
        namespace=main.get_namespace(),
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
        parameter_overrides=[Parameter('start_type_description_service', value=False)],
    )


class Worker:
    """Runs tasks one after another, callbacks of its node, and a wake-up when one is due."""

    def __init__(
        self,
        node: Node,
        *,
        wakes_at: Callable[[], float | None],
        wake: Callable[[], None],
        idle: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Prepare the worker.

        Args:
            node: spun by the worker.
            wakes_at: returns when to call `wake`, as time.monotonic(), or None; called after each
                task.
            wake: called when that time has come.
            idle: called whenever there is nothing else to do.
            failed: called with the exception of a task.
        """
        self._wakes_at = wakes_at
        self._idle = idle
        self._failed = failed
        self._tasks: queue.SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]] = (
            queue.SimpleQueue()
        )
        self._stopped = False
        self._due: float | None = None
        self._guard = node.create_guard_condition(self._run_tasks)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(1.0, lambda: self.do(wake), clock=steady, autostart=False)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._run, name='delama', daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, task: Callable[..., Any], *arguments: Any) -> None:
        """Run a task after those submitted before."""
        self._tasks.put((task, arguments))
        self._guard.trigger()

    def call(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Run a task after those submitted before, and return its result."""
        done = threading.Event()
        outcome: list[Any] = []

        def run() -> None:
            try:
                outcome.append((True, task(*arguments)))
            except Exception as error:
                outcome.append((False, error))
            done.set()

        self.submit(run)
        while not done.wait(0.5):
            if not self._thread.is_alive():
                raise RuntimeError('the robot is shutting down')
        succeeded, value = outcome[0]
        if not succeeded:
            raise value
        return value

    def do(self, task: Callable[..., Any], *arguments: Any) -> None:
        """Run a task now; for callbacks of the worker's own node."""
        try:
            task(*arguments)
            if self._tasks.empty():
                self._idle()
        except Exception as error:
            self._failed(error)
        self._arm()

    def stop(self) -> None:
        """Finish the current task, drop the others, and end the thread."""
        self._stopped = True
        self._guard.trigger()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped:
            try:
                self._executor.spin_once()
            except Exception as error:
                self._failed(error)

    def _run_tasks(self) -> None:
        while not self._stopped:
            try:
                task, arguments = self._tasks.get_nowait()
            except queue.Empty:
                return
            self.do(task, *arguments)

    def _arm(self) -> None:
        """Set the timer to the next wake-up."""
        due = self._wakes_at()
        if due is None:
            self._timer.cancel()
        elif due != self._due or self._timer.is_canceled():
            self._timer.timer_period_ns = max(1, int(1e9 * (due - time.monotonic())))
            self._timer.reset()
        self._due = due
