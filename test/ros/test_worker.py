"""The worker: tasks in order, results and errors, wake-ups, idle times, its own node's messages."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest
import rclpy
from rclpy.node import Node
from std_msgs.msg import Int32

from delama_ros.ros.worker import Worker, small_node

PATIENCE = 60.0  # s


class Desk:
    """A worker and what it was seen to do."""

    def __init__(self, node: Node) -> None:
        self.node = small_node('small', node)
        self.due: float | None = None
        self.woken: list[float] = []
        self.idle = 0
        self.errors: list[BaseException] = []
        self.worker = Worker(
            self.node,
            wakes_at=lambda: self.due,
            wake=self.wake,
            idle=self.rest,
            failed=self.errors.append,
        )

    def wake(self) -> None:
        self.woken.append(time.monotonic())
        self.due = None

    def rest(self) -> None:
        self.idle += 1


@pytest.fixture
def desk(ros_environment: dict[str, str]) -> Iterator[Desk]:
    context = rclpy.Context()
    rclpy.init(context=context)
    node = Node('large', namespace='/ann', context=context)
    desk = Desk(node)
    desk.worker.start()
    yield desk
    desk.worker.stop()
    desk.node.destroy_node()
    node.destroy_node()
    rclpy.try_shutdown(context=context)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_tasks_run_in_order_on_one_thread(desk: Desk) -> None:
    done: list[tuple[int, str]] = []
    for number in range(200):
        desk.worker.submit(lambda n: done.append((n, threading.current_thread().name)), number)
    assert desk.worker.call(lambda: len(done)) == 200
    assert done == [(number, 'delama') for number in range(200)]
    until(lambda: desk.idle > 0)


def test_errors_go_where_they_belong(desk: Desk) -> None:
    desk.worker.submit(lambda: 1 // 0)
    with pytest.raises(ValueError, match='this one'):
        desk.worker.call(int, 'this one')
    assert [type(error) for error in desk.errors] == [ZeroDivisionError]
    assert desk.worker.call(lambda: 'still here') == 'still here'


def test_it_wakes_when_it_is_due_and_not_before(desk: Desk) -> None:
    def set_due(seconds: float) -> float:
        desk.due = time.monotonic() + seconds
        return desk.due

    for seconds in (0.3, 0.05):
        due = desk.worker.call(set_due, seconds)
        count = len(desk.woken)
        until(lambda n=count: len(desk.woken) > n)  # type: ignore[misc]
        assert desk.woken[-1] >= due
    assert len(desk.woken) == 2


def test_its_node_is_heard_and_has_no_services(desk: Desk) -> None:
    heard: list[int] = []
    desk.worker.call(
        desk.node.create_subscription,
        *(Int32, 'number', lambda m: desk.worker.do(heard.append, m.data), 10),
    )
    out = desk.node.create_publisher(Int32, '/ann/number', 10)
    until(lambda: out.get_subscription_count() == 1)
    out.publish(Int32(data=7))
    until(lambda: heard == [7])
    assert desk.node.get_namespace() == '/ann'
    assert list(desk.node.services) == []


def test_a_call_does_not_outlive_the_worker(desk: Desk) -> None:
    desk.worker.stop()
    with pytest.raises(RuntimeError, match='shutting down'):
        desk.worker.call(lambda: None)
