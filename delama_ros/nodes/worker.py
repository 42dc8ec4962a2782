"""One thread that does a robot's work in order, so that ROS callbacks only hand things over.

It spins a small node of its own. rclpy looks at everything a node has whenever a message arrives,
so that neighbours' messages are taken several times faster by a node that has little else.
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


def small_node(name: str, beside: Node) -> Node:
    """Make a node without services, in the namespace and context of another."""
    return Node(
        name,
        context=beside.context,
        namespace=beside.get_namespace(),
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
        parameter_overrides=[Parameter('start_type_description_service', value=False)],
    )


class Worker:
    """Runs tasks one after another, a node's callbacks, and a wake-up when its time has come."""

    def __init__(
        self,
        node: Node,
        *,
        wakes_at: Callable[[], float | None],
        wake: Callable[[], None],
        idle: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Prepare; wakes_at gives a time.monotonic() value or None, and is asked after each task.

        `idle` is called whenever there is nothing else to do.
        """
        self._wakes_at = wakes_at
        self._idle = idle
        self._failed = failed
        self._tasks: queue.SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]] = (
            queue.SimpleQueue()
        )
        self._stopped = False
        self._due: float | None = None
        self._guard = node.create_guard_condition(self._work_off)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(1.0, lambda: self.do(wake), clock=steady, autostart=False)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._run, name='delama', daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def submit(self, task: Callable[..., Any], *arguments: Any) -> None:
        """Do this after what was submitted before."""
        self._tasks.put((task, arguments))
        self._guard.trigger()

    def call(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Do this after what was submitted before, and wait for its result."""
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
        """Do this now; for callbacks of the worker's own node."""
        try:
            task(*arguments)
            if self._tasks.empty():
                self._idle()
        except Exception as error:
            self._failed(error)
        self._arm()

    def stop(self) -> None:
        """Finish the task in hand, drop the others, and end."""
        self._stopped = True
        self._guard.trigger()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped:
            try:
                self._executor.spin_once()
            except Exception as error:
                self._failed(error)

    def _work_off(self) -> None:
        while not self._stopped:
            try:
                task, arguments = self._tasks.get_nowait()
            except queue.Empty:
                return
            self.do(task, *arguments)

    def _arm(self) -> None:
        """Let the timer go off when the next wake-up is due."""
        due = self._wakes_at()
        if due is None:
            self._timer.cancel()
        elif due != self._due or self._timer.is_canceled():
            self._timer.timer_period_ns = max(1, int(1e9 * (due - time.monotonic())))
            self._timer.reset()
        self._due = due
