"""What a robot knows of its peers: who exists, what they sent, and what was wrong with it."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from delama_ros.core.agent.refusal import Refusal
from delama_ros.robot.driver import Driver, Report
from delama_ros.robot.rendezvous import PeerFrame, Rendezvous
from delama_ros.robot.status import PeerState, PeerStatus

SHOWN = 5  # peers whose clocks are reported
CLOCK_OFFSET = 0.5  # s between a peer's clock and ours that deserves a warning


class Peers:
    """Takes note of every message of a peer, and tells how the peers are doing."""

    def __init__(self) -> None:
        """Start without any peer."""
        self.known: frozenset[str] = frozenset()  # received or not
        self.rejected: dict[str, Refusal] = {}  # peers whose last message was rejected
        self.bytes: Counter[str] = Counter()  # received, by sender
        self._clock_offset: dict[str, float] = {}  # s that a peer's stamps lag behind our clock
        self._last_message = time.monotonic()

    def note(self, sender: str, clock_offset: float) -> None:
        """Take note of a message, stamped `clock_offset` s before our clock."""
        self._last_message = time.monotonic()
        self.known |= {sender}
        self._clock_offset[sender] = clock_offset

    def forget(self, name: str) -> None:
        """Drop what is known of a peer."""
        self.known -= {name}
        self.rejected.pop(name, None)
        self.bytes.pop(name, None)
        self._clock_offset.pop(name, None)

    def problems(self, quiet: float) -> list[str]:
        """Return what is wrong at present; quiet: s without messages before that is a problem."""
        offsets = {
            name: offset
            for name, offset in self._clock_offset.items()
            if abs(offset) > CLOCK_OFFSET and name in self.known
        }
        # A robot that has never received anybody may well be the only one.
        alone = bool(self.bytes) and time.monotonic() - self._last_message > quiet
        return [
            *([f'no peer received for {quiet:g} s'] if alone else []),
            *(
                f'clocks differ: {name} is {abs(s):.2f} s {"behind" if s > 0 else "ahead"}'
                for name, s in sorted(offsets.items())[:SHOWN]
            ),
        ]

    def statuses(
        self, report: Report, driver: Driver, rendezvous: Rendezvous | None
    ) -> tuple[PeerStatus, ...]:
        """Return how each peer is doing, by name.

        Args:
            report: of the last step.
            driver: which runs the steps.
            rendezvous: what is known of the peers' frames; None if all robots share one.
        """
        return tuple(
            PeerStatus(
                robot=name,
                state=self._state(name, report, driver),
                **({} if rendezvous is None else frame_fields(rendezvous.peer(name))),
                trust=driver.mapper.trust.said_of(name),
                weight=report.weights.get(name, 0.0),
                refusal=str(self.rejected[name]) if name in self.rejected else '',
                messages=driver.counts.received[name],
                bytes=self.bytes[name],
                rounds_missed=driver.mapper.agent.missed[name],
                clock_offset=self._clock_offset.get(name, 0.0),
            )
            for name in sorted(self.known | set(report.weights))
        )

    def _state(self, name: str, report: Report, driver: Driver) -> PeerState:
        if name in self.rejected:
            return PeerState.REJECTED
        if report.weights.get(name, 0.0) > 0:
            return PeerState.COLLABORATING
        if name in driver.silent:
            return PeerState.SILENT
        if name in report.neighbours or name in driver.mapper.trust.distrusted:
            return PeerState.DISAGREES
        if driver.in_range(name, report.step) and name in self.bytes:
            return PeerState.OUT_OF_STEP
        return PeerState.OUT_OF_RANGE


def frame_fields(peer: PeerFrame) -> dict[str, Any]:
    """Return what is known of a peer's frame as fields of PeerStatus."""
    known = peer.transform is not None
    return {
        'frame': peer.state,
        'frame_id': peer.frame,
        'overlap': peer.overlap,
        'frame_reason': peer.reason,
        **({'transform': peer.transform, 'error': peer.error_m} if known else {}),
    }
