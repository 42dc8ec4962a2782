"""A robot in time: steps, deadlines and neighbours that come and go, with clocks of our own."""

from dataclasses import replace

import numpy as np
import pytest

from delama_ros.core.agent.refusal import Refusal
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.scan import Scan
from delama_ros.robot.driver import Driver, Report
from delama_ros.transport.port import Encoding, Port, Wire

SCAN = Scan(np.full(36, 1.5), 0.0, np.pi / 18, 0.1, 5.0)
DEADLINE = 1.0


def add_scan(driver: Driver, stamp: float) -> None:
    driver.advance(stamp)
    driver.add_edits([lambda mapper: mapper.add_scan(SCAN, (0.0, 0.0, 0.0))])


class Team:
    """Robots in one process that hear each other at once, unless somebody is deaf or dead."""

    def __init__(self, *names: str, knows_links: bool = True) -> None:
        self.now = 0.0  # wall time
        self.dead: set[str] = set()
        self.reports: dict[str, list[Report]] = {name: [] for name in names}
        self.queue: list[Wire] = []
        self.drivers = {name: self.make(name) for name in names}
        if knows_links:
            for name, driver in self.drivers.items():
                driver.links.add(0.0, frozenset(names) - {name})

    def make(self, name: str, **changes: int) -> Driver:
        return Driver(
            default_mapper(name),
            Port(name, Encoding.FLOAT64),
            period=2.0,
            deadline=DEADLINE,
            send=lambda message: self.queue.append(message),
            finished=lambda report: self.reports[name].append(report),
            wall=lambda: self.now,
            **changes,
        )

    def deliver(self, most: int = 10_000) -> None:
        while self.queue and most:
            message = self.queue.pop(0)
            most -= 1
            if message.robot not in self.dead:
                for name, driver in self.drivers.items():
                    if name != message.robot and name not in self.dead:
                        driver.add_message(message)

    def alive(self) -> list[Driver]:
        return [driver for name, driver in self.drivers.items() if name not in self.dead]

    def scan(self, stamp: float) -> None:
        for driver in self.alive():
            add_scan(driver, stamp)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        for driver in self.alive():
            driver.wake()
        self.deliver()

    def step(self, number: int) -> None:
        """Let all scan until step `number` is over, waiting for whom they wait."""
        self.scan(2.0 * number - 0.5)
        self.scan(2.0 * number + 0.01)
        self.deliver()


def test_a_step_takes_the_scans_up_to_its_end() -> None:
    team = Team('a')
    driver = team.drivers['a']
    for stamp in (0.5, 1.0, 2.0):
        add_scan(driver, stamp)
        assert driver.step == 0
    add_scan(driver, 2.1)
    assert driver.step == 1
    assert [r.step for r in team.reports['a']] == [1]
    assert driver.mapper.agent.memory[1].max() > 0
    # three scans at the same place count three times one
    other = Team('b').drivers['b']
    add_scan(other, 1.0)
    add_scan(other, 2.1)
    sums, one = (d.mapper.agent.memory[1] for d in (driver, other))
    assert np.allclose(sums, 3 * one, atol=1e-4)


def test_neighbours_end_a_step_together_without_waiting() -> None:
    team = Team('a', 'b', 'c')
    team.step(1)
    for reports in team.reports.values():
        assert [r.step for r in reports] == [1]
        assert len(reports[0].weights) == 2
        assert reports[0].incomplete == 0
        assert reports[0].seconds == 0.0


def test_neighbours_are_found_by_hearing_them() -> None:
    team = Team('a', 'b', knows_links=False)
    team.step(1)
    assert [r.weights for r in team.reports['a']] == [{}]
    team.step(2)
    assert list(team.reports['a'][1].weights) == ['b']


def test_a_dead_neighbour_costs_one_deadline_and_is_then_dropped() -> None:
    team = Team('a', 'b', 'c')
    team.step(1)
    team.dead.add('c')
    team.step(2)
    assert len(team.reports['a']) == 1
    team.wait(DEADLINE)
    assert team.reports['a'][-1].step == 2
    assert team.reports['a'][-1].incomplete == 1
    assert list(team.reports['a'][-1].weights) == ['b']
    team.step(3)
    assert team.reports['a'][-1].step == 3
    assert len(team.reports['a'][-1].neighbours) == 1
    assert team.reports['a'][-1].incomplete == 0


def test_a_death_in_mid_step_costs_one_deadline() -> None:
    team = Team('a', 'b', 'c')
    team.scan(1.0)
    team.scan(2.1)
    team.deliver(most=3)  # c has said its local map, and no more
    team.dead.add('c')
    team.deliver()
    assert team.reports['a'] == []
    team.wait(DEADLINE)
    team.step(2)
    for name in 'ab':
        assert [r.step for r in team.reports[name]] == [1, 2]
        assert team.reports[name][0].incomplete > 0
        assert team.reports[name][1].incomplete == 0


def test_who_is_only_late_is_a_neighbour_in_the_next_step() -> None:
    team = Team('a', 'b', 'c')
    team.scan(1.0)
    team.scan(2.1)
    held = [m for m in team.queue if m.robot == 'c']
    team.queue = [m for m in team.queue if m.robot != 'c']
    team.deliver()
    team.wait(DEADLINE)
    assert [r.incomplete for r in team.reports['a']] == [1]
    team.queue += held
    team.deliver()
    team.step(2)
    assert sorted(team.reports['a'][-1].weights) == ['b', 'c']


def test_who_comes_back_is_a_neighbour_again() -> None:
    team = Team('a', 'b')
    team.dead.add('b')
    for number in (1, 2, 3):
        team.step(number)
        team.wait(DEADLINE)
    assert len(team.reports['a'][-1].neighbours) == 0
    team.dead.clear()
    team.drivers['b'] = team.make('b')  # a new process: it remembers nothing
    team.drivers['b'].links.add(0.0, frozenset({'a'}))
    team.step(4)
    team.wait(DEADLINE)
    team.step(5)
    assert team.reports['a'][-1].step == 5
    assert list(team.reports['a'][-1].weights) == ['b']
    assert team.reports['b'][-1].step == 5


def test_a_newcomer_makes_nobody_wait() -> None:
    team = Team('a', 'b', 'c', knows_links=False)
    team.dead.add('c')
    for number in (1, 2, 3):
        team.step(number)
    team.dead.clear()
    for stamp in (5.5, 6.01):  # it begins step 3 when all has been said there
        add_scan(team.drivers['c'], stamp)
    team.deliver()
    team.step(4)  # the others expect it, but it has not heard them yet
    assert [(r.step, r.incomplete) for r in team.reports['a'][1:]] == [(2, 0), (3, 0), (4, 0)]
    assert sorted(team.reports['a'][-1].weights) == ['b', 'c']
    assert team.reports['c'][-1].weights == {}
    team.step(5)
    for name, reports in team.reports.items():
        assert reports[-1].step == 5
        assert set(reports[-1].weights) == {'a', 'b', 'c'} - {name}


def test_without_scans_the_clock_begins_steps() -> None:
    team = Team('a')
    driver = team.drivers['a']
    driver.tick(2.4)
    assert driver.step == 0
    driver.tick(2.6)
    assert driver.step == 1


def test_an_unfinished_step_is_cut_short_by_the_next() -> None:
    team = Team('a', 'b')
    team.dead.add('b')
    team.step(1)
    assert team.reports['a'] == []
    team.step(2)
    assert [(r.step, len(r.neighbours)) for r in team.reports['a']] == [(1, 1), (2, 0)]


def test_skipped_steps_are_counted() -> None:
    driver = Team('a').drivers['a']
    for stamp in (1.0, 2.1, 9.0):
        add_scan(driver, stamp)
    assert driver.step == 4
    assert driver.counts.skipped_steps == 2


def test_a_limit_of_steps() -> None:
    team = Team('a')
    team.drivers['a'] = team.make('a', steps=2)
    for number in (1, 2, 3, 4):
        team.step(number)
    assert [r.step for r in team.reports['a']] == [1, 2]


def test_a_clock_that_jumps_back_begins_anew_and_keeps_the_map() -> None:
    team = Team('a', 'b')
    team.step(1)
    for number in range(2, 6):
        team.step(number)
    tiles = len(team.drivers['a'].mapper.agent.memory[0])
    team.scan(3.0)  # only late: no reason to count anew
    assert team.drivers['a'].step == 5
    for driver in team.alive():
        driver.tick(0.1)
    team.step(1)
    assert team.drivers['a'].step == 1
    assert [r.step for r in team.reports['a']] == [1, 2, 3, 4, 5, 1]
    assert list(team.reports['a'][-1].weights) == ['b']
    assert len(team.drivers['a'].mapper.agent.memory[0]) == tiles


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'fingerprint': 1}, Refusal.FOREIGN_FINGERPRINT),
        ({'step': 99}, Refusal.FUTURE_STEP),
        ({'encoding': 9}, Refusal.UNREADABLE),
        ({'robot': 'a'}, Refusal.OWN_MESSAGE),
    ],
)
def test_refusals_are_counted_by_reason(changes: dict[str, object], reason: Refusal) -> None:
    team = Team('a', 'b')
    team.scan(1.0)
    team.scan(2.1)
    message = next(m for m in team.queue if m.robot == 'b')
    refused = team.drivers['a'].add_message(replace(message, **changes))
    assert refused is not None
    assert refused.reason is reason
    assert team.drivers['a'].counts.refused[reason] == 1
    team.deliver()
    assert [r.step for r in team.reports['a']] == [1]
