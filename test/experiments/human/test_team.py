"""Agents and proxies: the project's own core, checked against solutions of another make."""

from dataclasses import replace

import numpy as np
import pytest

from delama_ros.experiments.human.task import QUALITIES, ROUNDS, SEATS, Line, draw, loss
from delama_ros.experiments.human.team import SETTINGS, collaborate, learn, team_lines

QUALITY = 'medium'
TASK = draw(QUALITIES[QUALITY], np.random.default_rng(7))


def test_local_learning_is_ridge_regression_on_all_points_seen() -> None:
    settings = SETTINGS[QUALITY]
    for t in range(1, ROUNDS + 1):
        x, y = np.moveaxis(TASK.points[:t, 0].reshape(-1, 2), -1, 0)
        # Least squares with the prior as two more samples.
        weight = np.sqrt(2 * settings.lambda1_local * t)
        X = np.vstack([np.stack([x, np.ones_like(x)], -1), weight * np.eye(2)])
        expected = np.linalg.lstsq(X, np.concatenate([y, [0, 0]]), rcond=None)[0]
        assert learn(TASK.points[:t, 0], settings) == pytest.approx(expected)


def test_agents_over_messages_and_all_at_once_are_the_same() -> None:
    for t in range(1, ROUNDS + 1):
        points = {seat: TASK.points[:t, seat] for seat in range(SEATS)}
        outcome = collaborate(points, {}, SETTINGS[QUALITY])
        together = team_lines(TASK.points[None], SETTINGS[QUALITY])[0, t - 1]
        for seat in range(SEATS):
            assert outcome.lines[seat] == pytest.approx(together[seat], abs=1e-9)


def test_people_are_learned_from_and_never_moved() -> None:
    """With lines of two people held fixed, two agents reach the solution of their linear system."""
    settings = replace(SETTINGS[QUALITY], update_rounds=500)
    people = {1: Line(0.5, 1.0), 3: Line(-1.0, 2.0)}
    points = {seat: TASK.points[:2, seat] for seat in (0, 2)}
    outcome = collaborate(points, people, settings)
    W = np.zeros((SEATS, SEATS))
    for seat, row in outcome.weights.items():
        for other, w in row.items():
            W[seat, other] = W[other, seat] = w
    agents = [0, 2]
    system, right = np.zeros((4, 4)), np.zeros(4)
    for k, i in enumerate(agents):
        x, y = np.moveaxis(points[i].reshape(-1, 2), -1, 0)
        X = np.stack([x, np.ones_like(x)], -1)
        own = slice(2 * k, 2 * k + 2)
        system[own, own] = X.T @ X / 2
        system[own, own] += (
            2 * settings.lambda1_coupled + 4 * settings.lambda2 * W[i].sum()
        ) * np.eye(2)
        right[own] = X.T @ y / 2
        for j, line in people.items():
            right[own] += 4 * settings.lambda2 * W[i, j] * np.array(line)
        other = slice(2 - 2 * k, 4 - 2 * k)
        system[own, other] = -4 * settings.lambda2 * W[i, agents[1 - k]] * np.eye(2)
    expected = np.linalg.solve(system, right).reshape(2, 2)
    for k, seat in enumerate(agents):
        assert outcome.lines[seat] == pytest.approx(expected[k], abs=1e-6)


def test_an_agent_trusts_the_person_with_its_line() -> None:
    agent = 0
    friend = next(s for s in range(1, SEATS) if TASK.groups[s] == TASK.groups[agent])
    stranger = next(s for s in range(1, SEATS) if TASK.groups[s] != TASK.groups[agent])
    people = {seat: TASK.target(seat) for seat in (friend, stranger)}
    seen = TASK.points[:1, agent]
    outcome = collaborate({agent: seen}, people, SETTINGS[QUALITY])
    assert outcome.weights[agent][friend] > 5 * outcome.weights[agent].get(stranger, 0.0)
    alone = learn(seen, SETTINGS[QUALITY])
    target = TASK.target(agent)
    assert loss(outcome.lines[agent], target) < loss(alone, target) / 2


def test_collaboration_helps_at_every_quality() -> None:
    for name, quality in QUALITIES.items():
        rng = np.random.default_rng(3)
        tasks = [draw(quality, rng) for _ in range(100)]
        points = np.stack([task.points for task in tasks])
        together = team_lines(points, SETTINGS[name])
        for t in range(ROUNDS):
            with_others = np.mean([
                loss(Line(*together[k, t, seat]), task.target(seat))
                for k, task in enumerate(tasks) for seat in range(SEATS)
            ])
            alone = np.mean([
                loss(learn(task.points[: t + 1, seat], SETTINGS[name]), task.target(seat))
                for task in tasks for seat in range(SEATS)
            ])
            assert with_others < 0.9 * alone
