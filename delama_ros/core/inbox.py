"""An agent's inbox: refuses what is wrong, keeps what comes early, hands out a round's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, TypeAlias

from delama_ros.core.blocks import Shape
from delama_ros.core.messages import LAST_HOP, Dual, Message, Params, Phase, fault
from delama_ros.core.settings import Settings

# (phase, round, hop); parameters have hop 0.
Stage: TypeAlias = tuple[int, int, int]


class Label(Protocol):
    """What every message says of itself, packed or not."""

    @property
    def robot(self) -> str:
        """Name of the sender."""

    @property
    def step(self) -> int:
        """Time step it belongs to."""

    @property
    def fingerprint(self) -> int:
        """Fingerprint of the sender's model."""


class Inbox:
    """Messages of the current step and of the next one, at most one per robot and stage.

    Memory is bounded: only neighbours are kept, and phases, rounds and hops are finite. Before the
    first step, what comes for the latest step heard of is kept from anybody.
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
        self.refused: Counter[str] = Counter()

    def open(self, step: int, neighbours: Iterable[str]) -> None:
        """Begin a step: forget the last one, take over what came early from these neighbours."""
        self._neighbours = frozenset(neighbours)
        self._step = step
        self._now = {}
        if self._early_step == step:
            for (robot, stage), message in self._early.items():
                if robot in self._neighbours:
                    self._now.setdefault(stage, {})[robot] = message
        self._early, self._early_step = {}, None

    def rewind(self) -> None:
        """Forget all steps."""
        self._step, self._neighbours, self._now = None, frozenset(), {}
        self._early, self._early_step = {}, None

    def put(self, message: Message) -> str | None:
        """Keep a message, or return why it is refused; the part before the colon is counted."""
        reason = self._fault(message)
        if reason is None:
            stage = _stage(message)
            if message.step == self._step:
                self._now.setdefault(stage, {})[message.robot] = message
            else:
                if message.step != self._early_step:
                    self._early, self._early_step = {}, message.step
                self._early[message.robot, stage] = message
        else:
            self.refused[reason.partition(':')[0]] += 1
        return reason

    def answered(self, stage: Stage, expected: Iterable[str]) -> bool:
        """Tell whether everybody expected has answered in this stage."""
        return all(self._find(stage, robot) is not None for robot in expected)

    def params(self, stage: Stage, expected: Iterable[str]) -> dict[str, Params]:
        """Return the parameters heard in this stage, by robot, in the order of names."""
        found = {robot: self._find(stage, robot) for robot in sorted(expected)}
        return {robot: m for robot, m in found.items() if isinstance(m, Params)}

    def duals(self, stage: Stage, expected: Iterable[str]) -> dict[str, Dual]:
        """Return the dual rows heard in this stage, by robot, in the order of names."""
        found = {robot: self._find(stage, robot) for robot in sorted(expected)}
        return {robot: m for robot, m in found.items() if isinstance(m, Dual)}

    def _find(self, stage: Stage, robot: str) -> Message | None:
        found = self._now.get(stage, {}).get(robot)
        if found is None and stage[0] in (Phase.START, Phase.DUAL, Phase.FLOOD):
            found = self._now.get((*stage[:2], LAST_HOP), {}).get(robot)
        return found

    def unwanted(self, label: Label) -> str | None:
        """Return why nothing with this label is wanted, whatever it holds, or None."""
        if label.robot == self._name:
            return 'own message: sent by this robot or by another of the same name'
        if label.fingerprint != self._fingerprint:
            return (
                f'foreign fingerprint: {label.fingerprint} from {label.robot}, '
                f'expected {self._fingerprint}'
            )
        if self._step is None:
            if self._early_step is not None and label.step < self._early_step:
                return f'past step: {label.step}, {self._early_step} was heard'
        elif label.step < self._step:
            return f'past step: {label.step}, now at {self._step}'
        elif label.step > self._step + 1:
            return f'future step: {label.step}, now at {self._step}'
        return None

    def _fault(self, message: Message) -> str | None:
        return (
            fault(message, self._shape, self._settings)
            or self.unwanted(message)
            or self._unexpected(message)
        )

    def _unexpected(self, message: Message) -> str | None:
        if message.step == self._step:
            if message.robot not in self._neighbours:
                return f'unknown robot: {message.robot} is no neighbour in this step'
            if message.robot in self._now.get(_stage(message), {}):
                return f'replayed: {message.robot} has already said this'
            return None
        if message.step == self._early_step and (message.robot, _stage(message)) in self._early:
            return f'replayed: {message.robot} has already said this'
        if len(self._early) >= self._settings.max_early:
            return f'too many early messages: {len(self._early)} are kept already'
        return None


def _stage(message: Message) -> Stage:
    return (message.phase, message.round, message.hop if isinstance(message, Dual) else 0)
