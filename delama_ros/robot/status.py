"""State of a robot as one value: published for programs, and as diagnostics for people.

The fields are those of RobotStatus.msg and PeerStatus.msg, which explain them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class PeerState(IntEnum):
    """A peer's part in the last step; the values are those of PeerStatus.msg."""

    OUT_OF_RANGE = 0
    OUT_OF_STEP = 1
    COLLABORATING = 2
    DISAGREES = 3
    SILENT = 4
    REJECTED = 5

    @property
    def text(self) -> str:
        """The state in words."""
        return _PEER_TEXTS[self]


_PEER_TEXTS = {
    PeerState.OUT_OF_RANGE: 'not received',
    PeerState.OUT_OF_STEP: 'received, but not in this step',
    PeerState.COLLABORATING: 'collaborating',
    PeerState.DISAGREES: 'heard, weight 0: maps disagree',
    PeerState.SILENT: 'missed a deadline',
    PeerState.REJECTED: 'messages rejected',
}


class FrameState(IntEnum):
    """How a peer's map frame relates to this robot's; the values are those of PeerStatus.msg."""

    SHARED = 0
    SEARCHING = 1
    CANDIDATE = 2
    JOINED = 3
    REFUSED = 4

    @property
    def text(self) -> str:
        """The state in words."""
        return self.name.lower()


class LocalizationState(IntEnum):
    """How the robot is localized; the values are those of RobotStatus.msg."""

    EXTERNAL = 0
    TRACKING = 1
    WEAK = 2
    LOST = 3


LARGE = 1_000_000  # number of a step from which on it says nothing to people
UNKNOWN = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class PeerStatus:
    """What a robot knows of one peer."""

    robot: str
    state: PeerState
    frame: FrameState = FrameState.SHARED
    frame_id: str = ''
    overlap: float = 0.0
    transform: tuple[float, float, float] = UNKNOWN
    error: float = math.nan  # m
    frame_reason: str = ''
    trust: str = ''
    weight: float = 0.0
    refusal: str = ''
    messages: int = 0
    bytes: int = 0
    rounds_missed: int = 0
    clock_offset: float = 0.0  # s

    @property
    def frame_text(self) -> str:
        """What is known of the peer's frame, in one line."""
        x, y, yaw = self.transform
        parts = [self.frame.text]
        if self.overlap > 0:
            parts.append(f'overlap {100 * self.overlap:.0f} %')
        if self.frame is FrameState.JOINED:
            where = f'x {x:.2f} m, y {y:.2f} m, yaw {math.degrees(yaw):.1f}°'
            parts.append(f'{where} ± {100 * self.error:.1f} cm')
        if self.frame_reason:
            parts.append(self.frame_reason)
        return ', '.join(parts)


@dataclass(frozen=True)
class LocalizationStatus:
    """How well a robot knows where it is."""

    state: LocalizationState = LocalizationState.EXTERNAL
    match_quality: float = math.nan
    drift: float = math.nan  # m
    loops: int = 0
    keyframes: int = 0


@dataclass(frozen=True)
class Status:
    """How one robot is doing."""

    robot: str
    problems: tuple[str, ...] = ()
    frame: str = ''
    frame_changes: int = 0
    frame_shift: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m, m, rad
    step: int = 0
    steps_limit: int = 0
    neighbours: int = 0
    rounds_complete: int = 0
    rounds_incomplete: int = 0
    bytes_local: int = 0
    bytes_relation: int = 0
    bytes_update: int = 0
    step_seconds: float = 0.0
    exchange_seconds: float = 0.0
    computing_seconds: float = 0.0
    steps: int = 0
    steps_skipped: int = 0
    clock_jumps: int = 0
    scans: int = 0
    rounds_complete_total: int = 0
    rounds_incomplete_total: int = 0
    bytes_total: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)  # reason → messages
    scans_per_second: float = 0.0
    bytes_per_second: float = 0.0
    tiles: int = 0
    localization: LocalizationStatus = LocalizationStatus()
    peers: tuple[PeerStatus, ...] = ()

    @property
    def bytes_step(self) -> int:
        """Bytes sent in the last step."""
        return self.bytes_local + self.bytes_relation + self.bytes_update

    @property
    def summary(self) -> str:
        """One line for people: what is wrong, or the step."""
        # The clock counts steps, and that of the day counts from 1970.
        done = f'step {self.step}' if self.step < LARGE else f'{self.steps} steps'
        alone = '' if self.peers else ', no peer received so far'
        return '; '.join(self.problems) or done + alone

    def diagnostics(self) -> dict[str, object]:
        """Return all figures by a name for people; those of a peer end in its name."""
        return {
            'step': self.step,
            'peers': sum(peer.weight > 0 for peer in self.peers),
            'neighbours': self.neighbours,
            'rounds complete': self.rounds_complete,
            'rounds incomplete': self.rounds_incomplete,
            'rounds complete total': self.rounds_complete_total,
            'rounds incomplete total': self.rounds_incomplete_total,
            'step seconds': self.step_seconds,
            'exchange seconds': self.exchange_seconds,
            'computing seconds': self.computing_seconds,
            'steps skipped': self.steps_skipped,
            'clock jumps': self.clock_jumps,
            'scans': self.scans,
            'scans per second': self.scans_per_second,
            'tiles': self.tiles,
            'bytes': self.bytes_step,
            'bytes total': self.bytes_total,
            'bytes per second': self.bytes_per_second,
            **self._localization(),
            **({'frame': self.frame, 'frame changes': self.frame_changes} if self.frame else {}),
            'refused': sum(self.refused.values()),
            **{f'refused, {reason}': count for reason, count in self.refused.items()},
            **{f'state of {p.robot}': p.state.text for p in self.peers},
            **{
                f'frame of {p.robot}': p.frame_text
                for p in self.peers if p.frame is not FrameState.SHARED
            },
            **{f'trust in {p.robot}': p.trust for p in self.peers if p.trust},
            **{f'weight of {p.robot}': p.weight for p in self.peers if p.weight > 0},
            **{f'messages from {p.robot}': p.messages for p in self.peers},
            **{f'bytes from {p.robot}': p.bytes for p in self.peers},
            **{f'rounds missed by {p.robot}': p.rounds_missed for p in self.peers},
            **{f'clock offset of {p.robot}': round(p.clock_offset, 4) for p in self.peers},
        }

    def _localization(self) -> dict[str, object]:
        here = self.localization
        if here.state is LocalizationState.EXTERNAL:
            return {}
        return {
            'localization': here.state.name.lower(),
            'match quality': here.match_quality,
            'drift': here.drift,
            'loops': here.loops,
            'keyframes': here.keyframes,
        }
