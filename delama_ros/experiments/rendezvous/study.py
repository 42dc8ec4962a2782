"""How often frames are found, how often wrongly, how exactly and how fast: figures on plans."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from delama_ros.experiments.rendezvous.episodes import STEPS, Models, run_models
from delama_ros.rendezvous.attempt import Search
from delama_ros.rendezvous.outcome import Outcome, Reason, Rule
from delama_ros.rendezvous.patches import patches_of
from delama_ros.rendezvous.se2 import Floats, apply, compose, difference
from delama_ros.rendezvous.surface import Surface, surface_of
from delama_ros.rendezvous.verify import verify

WRONG = 0.5, math.radians(5.0)  # m or rad from the truth: another place
CLOSE_CALLS = {reason.name for reason in (
    Reason.MATCHED, Reason.REPEATED, Reason.LITTLE_SHARED,
)}  # fmt: skip
BINS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.01)  # of shared surface


@dataclass(frozen=True)
class Trial:
    """One attempt with a known answer."""

    step: int
    share_smaller: float  # of the smaller surface that both have
    share_larger: float  # of the larger surface that both have
    accepted: bool
    reason: str
    right: bool
    metres: float  # error where the peer's map is
    radians: float
    matched: float  # m
    score: float  # m
    lead: float  # m
    seconds: float  # of processor time


def error(outcome: Outcome, truth: Floats) -> tuple[float, float]:
    """Return the error in m, at the matched part of the peer's map, and in rad."""
    centre = np.array([*outcome.centre.tolist(), 0.0])
    gap = difference(compose(truth, centre), compose(outcome.transform, centre))
    return math.hypot(gap[0], gap[1]), abs(float(gap[2]))


def shared(own: Surface, peer: Surface, truth: Floats) -> tuple[float, float]:
    """Return the shares of the smaller and the larger surface that both maps have, in truth."""
    mine, theirs = patches_of(own, whole=10**6), patches_of(peer, whole=10**6)
    if not mine or not theirs:
        return 0.0, 0.0
    a, b = mine[0], theirs[0]
    at = apply(truth, b.centre) - a.centre
    matched = verify(a, b, np.array([*at.tolist(), float(truth[2])])).matched
    return matched / min(a.length, b.length), matched / max(a.length, b.length)


def trial(own: Surface, peer: Surface, truth: Floats | None, step: int, rule: Rule) -> Trial:
    """Attempt to find a frame; truth None: the maps are of different buildings."""
    began = time.process_time()
    outcome = Search(own, peer, rule).run()
    seconds = time.process_time() - began
    metres = radians = math.inf
    shares = (0.0, 0.0)
    if truth is not None:
        metres, radians = error(outcome, truth)
        shares = shared(own, peer, truth)
    right = metres <= WRONG[0] and radians <= WRONG[1]
    return Trial(
        step, *shares, outcome.accepted, outcome.reason.name, right, metres, radians,
        outcome.matched, outcome.score, outcome.lead, seconds,
    )  # fmt: skip


def evaluate_rendezvous(
    plans: Sequence[str],
    seeds: Sequence[int] = (0, 1, 2),
    *,
    steps: Sequence[int] = (2, 4, 12),
    pairs: int = 4,
    different: int = 2000,
    noise: float = 0.0,
    rule: Rule | None = None,
    models: Callable[[str, int], Models] | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Measure registration on plans.

    Args:
        plans: as delama_sim.plans.load takes them; at least two unless `different` is 0.
        seeds: of runs on every plan.
        steps: after which pairs of robots are tried, out of `episodes.STEPS`.
        pairs: of robots per run and step, drawn at random.
        different: pairs of robots in different plans.
        noise: of poses in m, see `run_models`.
        rule: what a match needs.
        models: gives the models of a plan and seed, if they are at hand; default: run them.
        report: called with lines about the progress.

    Returns:
        Figures as JSON has them: `found` over shared surface, `same`: attempts, right and wrong;
        `different`: attempts and how many were accepted; errors of accepted right ones;
        seconds per attempt.

    """
    if len(plans) < (2 if different else 1):
        raise ValueError(f'{len(plans)} plans, expected at least 2 to compare different ones')
    if not set(steps) <= set(STEPS):
        raise ValueError(f'steps are {tuple(steps)}, expected some of {STEPS}')
    rule = rule or Rule()
    get = models or (lambda spec, seed: run_models(spec, seed, noise=noise))
    rng = np.random.default_rng(0x5EED)
    trials: list[Trial] = []
    kept: list[tuple[int, Surface, Surface]] = []  # plan, own and received surfaces
    for number, spec in enumerate(plans):
        for seed in seeds:
            run = get(spec, seed)
            count = len(run.frames)
            every = [(i, j) for i in range(count) for j in range(count) if i != j]
            for step in steps:
                k = STEPS.index(step)
                for pick in rng.choice(len(every), min(pairs, len(every)), replace=False):
                    i, j = every[int(pick)]
                    own = surface_of(run.own[i][k].tiles())
                    peer = surface_of(run.received[j][k].tiles())
                    truth = difference(run.frames[i], run.frames[j])
                    trials.append(trial(own, peer, truth, step, rule))
                    if pick % 3 == 0:
                        kept.append((number, own, peer))
        report(f'plan {number + 1} of {len(plans)}')
    if different and len({number for number, _, _ in kept}) < 2:
        raise ValueError(
            f'{len(trials)} pairs leave nothing to compare between plans, expected more plans, '
            'seeds, steps or pairs'
        )
    others: list[Trial] = []
    while len(others) < different:
        (a, own, _), (b, _, peer) = (kept[int(n)] for n in rng.integers(0, len(kept), 2))
        if a != b:
            others.append(trial(own, peer, None, 0, rule))
            if len(others) % 200 == 0:
                report(f'{len(others)} pairs of different plans')
    return _figures(trials, others, steps)


def _figures(
    trials: Sequence[Trial], others: Sequence[Trial], steps: Sequence[int]
) -> dict[str, Any]:
    good = [t for t in trials if t.accepted and t.right]
    seconds = [t.seconds for t in (*trials, *others)]
    return {
        'attempts': len(trials),
        'found': {
            measure: {
                str(step or 'all'): _found(
                    [t for t in trials if step in (0, t.step)], f'share_{measure}'
                )
                for step in (0, *steps)
            }
            for measure in ('smaller', 'larger')
        },
        'accepted': sum(t.accepted for t in trials),
        'false': sum(t.accepted and not t.right for t in trials),
        'different': {
            'attempts': len(others),
            'false': sum(t.accepted for t in others),
            'highest_scores_m': sorted((round(t.score, 1) for t in others), reverse=True)[:5],
            # of matches that nothing but their lead speaks against
            'highest_leads_m': sorted(
                (round(t.lead, 2) for t in others if t.reason in CLOSE_CALLS), reverse=True
            )[:5],
        },
        'error_cm': _quantiles([100 * t.metres for t in good]),
        'error_deg': _quantiles([math.degrees(t.radians) for t in good]),
        'seconds': _quantiles(seconds),
    }


def _found(trials: Sequence[Trial], key: str) -> list[dict[str, Any]]:
    rows = []
    for low, high in ((0.2, 0.4), (0.4, 1.01), *pairwise(BINS)):
        inside = [t for t in trials if low <= getattr(t, key) < high]
        found = sum(t.accepted and t.right for t in inside)
        rows.append({
            'from': low, 'to': min(high, 1.0), 'pairs': len(inside), 'found': found,
            'rate': round(found / len(inside), 4) if inside else None,
        })  # fmt: skip
    return rows


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    median, high, top = np.percentile(values, [50, 95, 100]).tolist()
    return {'median': round(median, 3), 'p95': round(high, 3), 'worst': round(top, 3)}
