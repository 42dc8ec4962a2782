"""One game as a state machine without clock, files or network: who may do what, and what follows.

Rounds of three stages: LEARN (draw a line for your points), AGGREGATE (see the others' lines, rate
them, change yours), RESULT (the loss). A stage ends when all people who are there have answered, or
at its deadline. Players who let a deadline pass are away: the others do not wait for them until
they come back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum

import numpy as np

from delama_ros.experiments.human.task import QUALITIES, ROUNDS, SEATS, Line, Task, draw, loss
from delama_ros.experiments.human.team import SETTINGS, collaborate, learn

MAX_SLOPE, MAX_OFFSET = 50.0, 500.0  # of a drawn line; far outside the plot
MAX_RATING = 5
AGENT_NAMES = ('Alder', 'Birch', 'Cedar', 'Dogwood')


class Stage(Enum):
    """Where a game is."""

    WAITING = 'waiting'
    LEARN = 'learn'
    AGGREGATE = 'aggregate'
    RESULT = 'result'
    FINAL = 'final'


class Reason(StrEnum):
    """Why an act is not possible now; pages explain the word."""

    FULL = 'full'
    BEGUN = 'begun'
    PLAYING = 'playing'
    STAGE = 'stage'
    ANSWERED = 'answered'
    LINE = 'line'
    RATINGS = 'ratings'
    UNKNOWN = 'unknown'  # who is not known has no seat
    SLOW = 'slow'  # too many requests


class RefusedError(Exception):
    """An act that is not possible now."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True)
class Limits:
    """How long stages may take, in s."""

    learn: float = 120.0
    aggregate: float = 150.0
    result: float = 60.0


@dataclass
class Seat:
    """Who sits where."""

    name: str
    person: int | None  # None: an agent
    away: bool = False


@dataclass(frozen=True)
class Answer:
    """A submitted line, with its loss against the target."""

    line: Line
    loss: float
    at: float  # s since 1970


@dataclass
class Game:
    """A game; answers are known by (stage, round, seat), ratings by (round, seat, rated seat)."""

    id: int
    quality: str
    people: int  # how many people it waits for
    task: Task
    limits: Limits
    seats: list[Seat] = field(default_factory=list)
    stage: Stage = Stage.WAITING
    round: int = 0  # 1 to ROUNDS once begun
    deadline: float | None = None
    answers: dict[tuple[Stage, int, int], Answer] = field(default_factory=dict)
    ratings: dict[tuple[int, int, int], int] = field(default_factory=dict)
    proceeded: set[int] = field(default_factory=set)

    @classmethod
    def new(cls, number: int, quality: str, people: int, seed: list[int], limits: Limits) -> Game:
        """Set up a game that waits for people."""
        task = draw(QUALITIES[quality], np.random.default_rng(seed))
        return cls(number, quality, people, task, limits)

    # -- what people do ---------------------------------------------------------------------------

    def join(self, person: int, name: str, now: float) -> None:
        """Take a seat; the game begins when all people are there."""
        if self.stage is not Stage.WAITING or len(self.seats) >= self.people:
            raise RefusedError(Reason.FULL)
        taken = {seat.name for seat in self.seats}
        numbered = (f'{name} {k}' for k in range(2, SEATS + 2))
        unique = next(free for free in (name, *numbered) if free not in taken)
        self.seats.append(Seat(unique, person))
        if len(self.seats) == self.people:
            self.start(now)

    def leave(self, person: int) -> None:
        """Give up a seat before the game has begun."""
        if self.stage is not Stage.WAITING:
            raise RefusedError(Reason.BEGUN)
        self.seats = [seat for seat in self.seats if seat.person != person]

    def start(self, now: float) -> None:
        """Begin with the people who are there; agents take the free seats."""
        if self.stage is not Stage.WAITING or not self.seats:
            raise RefusedError(Reason.BEGUN)
        free = SEATS - len(self.seats)
        self.seats += [Seat(name, None) for name in AGENT_NAMES[:free]]
        # Seats must not reveal who came first or who is an agent.
        shuffled = np.random.default_rng().permutation(SEATS)
        self.seats = [self.seats[k] for k in shuffled]
        self._begin_round(1, now)

    def draw_line(self, seat: int, round_: int, line: Line, now: float) -> None:
        """Take the line a person drew for their own points."""
        self._check(Stage.LEARN, seat, round_)
        self._answer(seat, line, now)
        self._go_on(now)

    def aggregate(
        self, seat: int, round_: int, line: Line, ratings: Mapping[int, int], now: float
    ) -> None:
        """Take a person's ratings of the lines they see, and the line they settle on."""
        self._check(Stage.AGGREGATE, seat, round_)
        if set(ratings) != set(self.shown_to(seat)):
            raise RefusedError(Reason.RATINGS)
        if not all(isinstance(r, int) and 0 <= r <= MAX_RATING for r in ratings.values()):
            raise RefusedError(Reason.RATINGS)
        self._answer(seat, line, now)
        for other, rating in ratings.items():
            self.ratings[self.round, seat, other] = rating
        self._go_on(now)

    def proceed(self, seat: int, round_: int, now: float) -> None:
        """Note that a person has seen the result."""
        if self.stage is not Stage.RESULT or round_ != self.round:
            raise RefusedError(Reason.STAGE)
        self.seats[seat].away = False
        self.proceeded.add(seat)
        self._go_on(now)

    def come_back(self, seat: int) -> None:
        """Wait for this person again."""
        self.seats[seat].away = False

    def tick(self, now: float) -> None:
        """Let time pass: at the deadline the stage ends with who has answered."""
        if self.deadline is not None and now >= self.deadline:
            for seat in self.people_seats:
                self.seats[seat].away |= not self.has_answered(seat)
            self._end_stage(now)

    def resume(self, now: float) -> None:
        """Give everybody the full time again, after the server was away."""
        if self.deadline is not None:
            self.deadline = now + self._limit()

    # -- what there is to know --------------------------------------------------------------------

    @property
    def people_seats(self) -> list[int]:
        """Seats of people, who may be away."""
        return [k for k, seat in enumerate(self.seats) if seat.person is not None]

    @property
    def agent_seats(self) -> list[int]:
        """Seats of agents."""
        return [k for k, seat in enumerate(self.seats) if seat.person is None]

    def seat_of(self, person: int) -> int:
        """Return where a person sits."""
        return next(k for k, seat in enumerate(self.seats) if seat.person == person)

    def answer(self, stage: Stage, round_: int, seat: int) -> Answer | None:
        """Return what a seat answered, None if it did not."""
        return self.answers.get((stage, round_, seat))

    def has_answered(self, seat: int) -> bool:
        """Tell whether a seat has done its part of the present stage."""
        if self.stage is Stage.RESULT:
            return seat in self.proceeded or self.seats[seat].person is None
        return self.answer(self.stage, self.round, seat) is not None

    def shown_to(self, seat: int) -> dict[int, Line]:
        """Return the others' lines that a seat sees and rates while it aggregates."""
        return {
            other: answer.line
            for other in range(SEATS)
            if other != seat and (answer := self.answer(Stage.LEARN, self.round, other))
        }

    # -- what follows -----------------------------------------------------------------------------

    def _check(self, stage: Stage, seat: int, round_: int) -> None:
        if self.stage is not stage or round_ != self.round:
            raise RefusedError(Reason.STAGE)
        if self.has_answered(seat):
            raise RefusedError(Reason.ANSWERED)

    def _answer(self, seat: int, line: Line, now: float) -> None:
        slope, offset = line
        if not (
            math.isfinite(slope) and math.isfinite(offset)
            and abs(slope) <= MAX_SLOPE and abs(offset) <= MAX_OFFSET
        ):
            raise RefusedError(Reason.LINE)
        self.seats[seat].away = False
        self.answers[self.stage, self.round, seat] = Answer(
            line, loss(line, self.task.target(seat)), now
        )

    def _go_on(self, now: float) -> None:
        """End the stage when all people who are there have answered."""
        present = [seat for seat in self.people_seats if not self.seats[seat].away]
        if present and all(self.has_answered(seat) for seat in present):
            self._end_stage(now)

    def _end_stage(self, now: float) -> None:
        if self.stage is Stage.LEARN:
            self._enter(Stage.AGGREGATE, now)
            if self.agent_seats:
                self._let_agents_aggregate(now)
        elif self.stage is Stage.AGGREGATE:
            self.proceeded = set()
            self._enter(Stage.RESULT, now)
        elif self.round < ROUNDS:
            self._begin_round(self.round + 1, now)
        else:
            self.stage, self.deadline = Stage.FINAL, None

    def _begin_round(self, round_: int, now: float) -> None:
        self.round = round_
        self._enter(Stage.LEARN, now)
        for seat in self.agent_seats:
            self._answer(seat, learn(self._seen(seat), SETTINGS[self.quality]), now)

    def _let_agents_aggregate(self, now: float) -> None:
        points = {seat: self._seen(seat) for seat in self.agent_seats}
        people = {
            seat: answer.line
            for seat in self.people_seats
            if (answer := self.answer(Stage.LEARN, self.round, seat))
        }
        outcome = collaborate(points, people, SETTINGS[self.quality])
        for seat, line in outcome.lines.items():
            self._answer(seat, line, now)
            for other in self.shown_to(seat):
                # A row of W shares out 1: the share, on the scale people use.
                share = min(1.0, outcome.weights[seat].get(other, 0.0))
                self.ratings[self.round, seat, other] = round(MAX_RATING * share)

    def _seen(self, seat: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return self.task.points[: self.round, seat]

    def _enter(self, stage: Stage, now: float) -> None:
        self.stage = stage
        self.deadline = now + self._limit()

    def _limit(self) -> float:
        return float(getattr(self.limits, self.stage.value))
