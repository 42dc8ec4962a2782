"""When a map is wrong, what is said about it, and for how long its robot is not believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from delama_ros.core.blocks import Floats
from delama_ros.geometry.grid import Bools

# A map is wrong if it contradicts more metres than BASE plus RATE of all that can be compared, in
# STRIKES steps in a row, or at once if it is twice as much. Where memory fades the world may
# change, and not everybody has seen that: there it takes CHANGES steps.
BASE, RATE, STRIKES, CHANGES = 3.0, 0.1, 2, 8
WAIT = 3  # steps that a map must be in order before its robot is believed again; doubles each time
LONGEST = 48
NAMED = 3  # witnesses that a status text names
TEXT = 128  # characters of it, as PeerStatus.msg has them


def allowed(against: Any, agreed: Any) -> Any:
    """Return how many metres an honest map may contradict."""
    return BASE + RATE * (against + agreed)


class Found(NamedTuple):
    """Metres in which each of N maps contradicts what others have seen, and in which it agrees."""

    against: Floats  # (N,), m
    agreed: Floats

    @property
    def excess(self) -> Floats:
        """By how many metres maps contradict more than honest ones may."""
        return np.asarray(self.against - allowed(*self))

    @property
    def grave(self) -> Bools:
        """Whether they do by as much again."""
        return np.asarray(self.against > 2 * allowed(*self))


@dataclass(frozen=True)
class Verdict:
    """What the last comparison said about a robot's map."""

    against: float  # m that contradict what others have seen
    agreed: float  # m that agree
    since: int | None = None  # step from which on the robot is not believed
    impossible: bool = False  # no scanner can have produced it
    witnesses: tuple[str, ...] = ()  # who saw the opposite of most; '' is this robot itself

    @property
    def text(self) -> str:
        """Why the robot is not believed, in one line; empty if it is."""
        if self.since is None:
            return ''
        if self.impossible:
            return f'distrusted since step {self.since}: claims what no scanner can measure'
        compared = self.against + self.agreed
        share = 100 * self.against / max(compared, 1e-9)
        said = f'distrusted since step {self.since}: contradicts {share:.0f} % of {compared:.0f} m'
        *most, last = [name or 'this robot' for name in self.witnesses[:NAMED]] or ['others']
        who = f'{", ".join(most)} and {last}' if most else last
        text = f'{said} that {who} {"has" if len(self.witnesses) == 1 else "have"} seen'
        return text if len(text) <= TEXT else f'{said} that others have seen'


@dataclass
class Suspect:
    """How often a robot's map was wrong or in order."""

    strikes: int = 0  # steps in a row in which its map was wrong
    clean: int = 0  # and in which it was in order
    distrusted: bool = False
    since: int = 0  # step in which it began to be
    wait: int = 0  # clean steps that end it; 0: it never was

    def note(self, step: int, strikes: int, *, wrong: bool, grave: bool) -> None:
        """Take in the judgement of a step; strikes: in a row that end trust."""
        self.strikes = self.strikes + 1 if wrong else 0
        self.clean = 0 if wrong else self.clean + 1
        if not self.distrusted and (grave or self.strikes >= strikes):
            self.since, self.distrusted = step, True
            self.wait = min(max(WAIT, 2 * self.wait), LONGEST)
        elif self.clean >= self.wait:
            self.distrusted = False
