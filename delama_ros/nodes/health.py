"""What a robot's diagnostics say: how it is doing, in numbers, and what is wrong."""

from __future__ import annotations

import time
from collections import deque

from delama_ros.nodes.exchange import Exchange
from delama_ros.nodes.scan_input import ScanInput
from delama_ros.swarm.driver import Driver, Report

SKEW = 0.5  # s between a neighbour's clock and ours that is worth a warning
WINDOW = 5.0  # s over which rates are taken
NO_STEP = Report(0, {}, 0, 0, 0, 0.0, 0.0, 0.0)


class Health:
    """Looks at the parts of a robot."""

    def __init__(self, driver: Driver, exchange: Exchange, scans: ScanInput, quiet: float) -> None:
        """Watch these; quiet: s without neighbours that are worth a warning."""
        self._driver, self._exchange, self._scans, self._quiet = driver, exchange, scans, quiet
        self._report = NO_STEP
        self._step_bytes = self._sent_before = 0
        self._past: deque[tuple[float, int, int]] = deque()  # monotonic s, scans, bytes sent

    def take(self, report: Report) -> None:
        """Take note that a step has ended."""
        self._report = report
        sent = self._exchange.sent
        self._step_bytes, self._sent_before = sent - self._sent_before, sent

    def problems(self) -> list[str]:
        """Say what is wrong at present; nothing, if all is well."""
        near = self._exchange.known
        apart = {
            name: skew
            for name, skew in dict(self._exchange.skew).items()
            if abs(skew) > SKEW and name in near
        }
        alone = time.monotonic() - self._exchange.last > self._quiet
        return [
            *self._scans.problems(),
            *([f'no neighbour for {self._quiet:g} s'] if alone else []),
            *(f'clocks differ: {name} is {skew:.2f} s behind' for name, skew in apart.items()),
        ]

    def values(self) -> dict[str, object]:
        """Give all numbers, by name; those of neighbours have the neighbour's name at the end."""
        counts, report, exchange = self._driver.counts, self._report, self._exchange
        agent = self._driver.mapper.agent
        scan_rate, byte_rate = self._rates(counts.scans, exchange.sent)
        return {
            'step': report.step,
            'peers': len(report.weights),
            'neighbours': report.neighbours,
            'rounds complete': report.complete,
            'rounds incomplete': report.incomplete,
            'rounds complete total': agent.complete_rounds,
            'rounds incomplete total': agent.incomplete_rounds,
            'step seconds': report.seconds,
            'exchange seconds': report.exchanging,
            'computing seconds': report.computing,
            'steps skipped': counts.skipped_steps,
            'clock jumps': counts.clock_jumps,
            'scans': counts.scans,
            'scans per second': scan_rate,
            'bytes': self._step_bytes,
            'bytes total': exchange.sent,
            'bytes per second': byte_rate,
            'refused': sum(counts.refused.values()),
            **{f'refused, {reason}': n for reason, n in counts.refused.items()},
            **{f'heard {name}': n for name, n in counts.heard.items()},
            **{f'bytes from {name}': n for name, n in exchange.heard_bytes.items()},
            **{f'rounds missed by {name}': n for name, n in agent.missed.items()},
            **{f'clock behind, {name}': round(s, 4) for name, s in dict(exchange.skew).items()},
            **{f'weight {name}': weight for name, weight in report.weights.items()},
        }

    def _rates(self, scans: int, sent: int) -> tuple[float, float]:
        now = time.monotonic()
        self._past.append((now, scans, sent))
        while len(self._past) > 2 and self._past[1][0] < now - WINDOW:
            self._past.popleft()
        then, scans_then, sent_then = self._past[0]
        passed = max(now - then, 1e-3)
        return (scans - scans_then) / passed, (sent - sent_then) / passed
