"""Beliefs of pairs of robots over the steps of a run: when they join, and whether rightly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from delama_ros.experiments.rendezvous.episodes import Models
from delama_ros.experiments.rendezvous.study import WRONG
from delama_ros.rendezvous.attempts import Attempts, Task
from delama_ros.rendezvous.belief import Belief, Rules
from delama_ros.rendezvous.outcome import Rule
from delama_ros.rendezvous.se2 import Floats, apply, difference


def follow(
    models: Models, own: int, peer: int, *, rule: Rule | None = None, rules: Rules | None = None
) -> list[bool | None]:
    """Let robot `own` search for the frame of `peer` after every step that was kept.

    Returns:
        For each step None if nothing is believed, otherwise whether it is right.

    """
    truth = difference(models.frames[own], models.frames[peer])
    attempts, belief = Attempts(rule), Belief(str(peer), rules)
    states: list[bool | None] = []
    for mine, theirs in zip(models.own[own], models.received[peer], strict=True):
        attempts.set_own(mine.tiles())
        attempts.set_peer(belief.peer, theirs.tiles(), moved=not belief.joined)
        task = Task(belief.peer, belief.transform if belief.joined else None)
        for result in attempts.run([task], math.inf):
            belief.update(result.outcome)
        states.append(_right(belief, truth, theirs.keys) if belief.joined else None)
    return states


def _right(belief: Belief, truth: Floats, keys: Any) -> bool:
    """Return whether the belief puts the middle of the peer's map where it is."""
    assert belief.transform is not None
    middle = keys.mean(0) * 1.2
    gap = apply(belief.transform, middle) - apply(truth, middle)
    turn = abs(math.remainder(belief.transform[2] - truth[2], 2 * math.pi))
    return math.hypot(gap[0], gap[1]) <= WRONG[0] and turn <= WRONG[1]


def evaluate_beliefs(
    runs: Sequence[Callable[[], Models]],
    *,
    pairs: int = 3,
    rule: Rule | None = None,
    rules: Rules | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Follow pairs of robots through runs.

    Args:
        runs: each gives the models of one run.
        pairs: of robots per run: 0 and 1, 0 and 2, 1 and 2, 0 and 3 …
        rule: what a match needs.
        rules: what a belief needs.
        report: called with lines about the progress.

    Returns:
        `pairs`; `joined`: right beliefs after each step; `false`: pairs that held a wrong one at
        any step.

    """
    histories: list[list[bool | None]] = []
    for number, run in enumerate(runs):
        models = run()
        every = [(i, j) for j in range(len(models.frames)) for i in range(j)][:pairs]
        histories += [follow(models, i, j, rule=rule, rules=rules) for i, j in every]
        wrong = sum(False in history for history in histories)
        joined = sum(history[-1] is True for history in histories)
        so_far = f'{len(histories)} pairs, {joined} right, {wrong} wrong'
        report(f'run {number + 1} of {len(runs)}: {so_far}')
    steps = range(max(map(len, histories), default=0))
    return {
        'pairs': len(histories),
        'joined': [sum(h[k] is True for h in histories if k < len(h)) for k in steps],
        'false': sum(False in history for history in histories),
    }
