"""An agent's inbox: refuses bad messages, stores early ones and returns the answers of a round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from delama_ros.core.agent.messages import (
    LAST_HOP,
    Dual,
    Label,
    Message,
    Params,
    Phase,
    fault,
)
from delama_ros.core.agent.refusal import Refusal, Refused
from delama_ros.core.blocks import Shape
from delama_ros.core.settings import Settings

# (phase, round, hop); parameters have hop 0.
Stage: TypeAlias = tuple[int, int, int]


class Inbox:
    """Messages of the current step and of the next one, at most one per robot and stage.

    Memory is bounded: only neighbours are stored, and phases, rounds and hops are finite. Before
    the first step, messages of the latest step received are stored, whoever sent them.
    """

    def __init__(
        self, name: str, fingerprint: int, shape: Shape, settings: Settings
    ) -> None:
        self._name = name
        self._fingerprint = fingerprint
        self._shape = shape
        self._settings = settings
        self._step: int | None = None
        self._neighbours: frozenset[str] = frozenset()
        self._now: dict[Stage, dict[str, Message]] = {}
        self._early: dict[tuple[str, Stage], Message] = {}
        self._early_step: int | None = None
        self.refused: Counter[Refusal] = Counter()

    def open(self, step: int, neighbours: Iterable[str]) -> None:
        """Begin a step: drop the last one, use what these neighbours sent early."""
        self._neighbours = frozenset(neighbours)
        self._step = step
        self._now = {}
        if self._early_step == step:
            for (robot, stage), message in self._early.items():
                if robot in self._neighbours:
                    self._now.setdefault(stage, {})[robot] = message
        self._early, self._early_step = {}, None

    def rewind(self) -> None:
        """Drop all messages and the count of steps."""
        self._step, self._neighbours, self._now = None, frozenset(), {}
        self._early, self._early_step = {}, None

    def put(self, message: Message) -> Refused | None:
        """Store a message, or return why it is refused; refusals are counted by reason."""
        refused = self._fault(message)
        if refused is None:
            stage = _stage(message)
            if message.step == self._step:
                self._now.setdefault(stage, {})[message.robot] = message
            else:
                if message.step != self._early_step:
                    self._early, self._early_step = {}, message.step
                self._early[message.robot, stage] = message
        else:
            self.refused[refused.reason] += 1
        return refused

    def answered(self, stage: Stage, expected: Iterable[str]) -> bool:
        """Return whether all the expected robots have answered in this stage."""
        return all(self._find(stage, robot) is not None for robot in expected)

    def params(self, stage: Stage, expected: Iterable[str]) -> dict[str, Params]:
        """Return the models received in this stage, by robot, in the order of names."""
        found = {robot: self._find(stage, robot) for robot in sorted(expected)}
        return {robot: m for robot, m in found.items() if isinstance(m, Params)}

    def duals(self, stage: Stage, expected: Iterable[str]) -> dict[str, Dual]:
        """Return the dual rows received in this stage, by robot, in the order of names."""
        found = {robot: self._find(stage, robot) for robot in sorted(expected)}
        return {robot: m for robot, m in found.items() if isinstance(m, Dual)}

    def _find(self, stage: Stage, robot: str) -> Message | None:
        found = self._now.get(stage, {}).get(robot)
        if found is None and stage[0] in (Phase.START, Phase.DUAL, Phase.FLOOD):
            found = self._now.get((*stage[:2], LAST_HOP), {}).get(robot)
        return found

    def unwanted(self, label: Label) -> Refused | None:
        """Return why a message with this label is refused whatever its content, or None."""
        if label.robot == self._name:
            return Refused(Refusal.OWN_MESSAGE, 'sent by this robot or by another of the same name')
        if label.fingerprint != self._fingerprint:
            return Refused(
                Refusal.FOREIGN_FINGERPRINT,
                f'{label.fingerprint} from {label.robot}, expected {self._fingerprint}',
            )
        if self._step is None:
            if self._early_step is not None and label.step < self._early_step:
                return Refused(Refusal.PAST_STEP, f'{label.step}, {self._early_step} was received')
        elif label.step < self._step:
            return Refused(Refusal.PAST_STEP, f'{label.step}, now at {self._step}')
        elif label.step > self._step + 1:
            return Refused(Refusal.FUTURE_STEP, f'{label.step}, now at {self._step}')
        return None

    def _fault(self, message: Message) -> Refused | None:
        return (
            fault(message, self._shape, self._settings)
            or self.unwanted(message)
            or self._unexpected(message)
        )

    def _unexpected(self, message: Message) -> Refused | None:
        if message.step == self._step:
            if message.robot not in self._neighbours:
                return Refused(
                    Refusal.UNKNOWN_ROBOT, f'{message.robot} is not a neighbour in this step'
                )
            if message.robot in self._now.get(_stage(message), {}):
                return Refused(Refusal.REPLAYED, f'{message.robot} has already sent this')
            return None
        if message.step == self._early_step and (message.robot, _stage(message)) in self._early:
            return Refused(Refusal.REPLAYED, f'{message.robot} has already sent this')
        if len(self._early) >= self._settings.max_early:
            return Refused(Refusal.TOO_MANY_EARLY, f'{len(self._early)} are stored already')
        return None


def _stage(message: Message) -> Stage:
    return (message.phase, message.round, message.hop if isinstance(message, Dual) else 0)
