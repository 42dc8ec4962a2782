"""Why an agent refuses a message: a reason that programs can test, and a text for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Refusal(Enum):
    """Reasons to refuse a message; the value is how logs and diagnostics name it."""

    OWN_MESSAGE = 'own message'
    IMPERSONATED = 'name of another robot'
    UNSEALED = 'no seal of the swarm key'
    TOO_MANY_ROBOTS = 'too many robots'
    TOO_OFTEN = 'too often'
    FOREIGN_FINGERPRINT = 'foreign fingerprint'
    UNKNOWN_ROBOT = 'unknown robot'
    PAST_STEP = 'past step'
    FUTURE_STEP = 'future step'
    TOO_MANY_EARLY = 'too many early messages'
    REPLAYED = 'replayed'
    MALFORMED = 'malformed'
    UNREADABLE = 'unreadable'
    UNKNOWN_PHASE = 'unknown phase'
    UNKNOWN_ROUND = 'unknown round'
    UNKNOWN_HOP = 'unknown hop'
    UNKNOWN_BLOCK = 'unknown block'
    REPEATED_KEY = 'repeated key'
    WRONG_SHAPE = 'wrong shape'
    TOO_LARGE = 'too large'
    NOT_FINITE = 'not finite'
    ABSURD_VALUE = 'absurd value'

    def __str__(self) -> str:
        return self.value

    @property
    def out_of_step(self) -> bool:
        """Whether the sender is sound but in another step: it may be a neighbour in the next."""
        return self in (Refusal.UNKNOWN_ROBOT, Refusal.PAST_STEP, Refusal.FUTURE_STEP)

    @property
    def of_another(self) -> bool:
        """Whether somebody else than the robot of that name may have sent it."""
        return self in (Refusal.OWN_MESSAGE, Refusal.IMPERSONATED, Refusal.UNSEALED)


@dataclass(frozen=True)
class Refused:
    """A message that was not accepted."""

    reason: Refusal
    detail: str  # the values found and what was expected

    def __str__(self) -> str:
        return f'{self.reason}: {self.detail}'
