"""What one person may see of a game: never a line somebody has not submitted, nor a target early.

During the rounds players are known by their seat only; who they were comes out at the end.
"""

from __future__ import annotations

from typing import Any

from delama_ros.experiments.human.game import Game, Stage
from delama_ros.experiments.human.task import ROUNDS, SEATS


def view(game: Game, me: int, now: float) -> dict[str, Any]:
    """Return what seat `me` sees now, ready for JSON."""
    seen: dict[str, Any] = {
        'game': game.id,
        'stage': game.stage.value,
        'round': game.round,
        'rounds': ROUNDS,
        'quality': game.quality,
        'me': me,
        'remaining': None if game.deadline is None else max(0.0, game.deadline - now),
    }
    if game.stage is Stage.WAITING:
        return seen | {'people': game.people, 'names': [seat.name for seat in game.seats]}
    if game.stage is Stage.FINAL:
        return seen | _final(game)
    seen |= {
        'points': game.task.points[game.round - 1, me].tolist(),
        'last': _line(game, Stage.AGGREGATE, game.round - 1, me),
        'learned': _line(game, Stage.LEARN, game.round, me),
        'aggregated': _line(game, Stage.AGGREGATE, game.round, me),
        'answered': game.has_answered(me),
        'waiting_for': sum(
            not game.has_answered(seat) and not game.seats[seat].away
            for seat in game.people_seats
        ),
    }
    if game.stage is Stage.AGGREGATE:
        seen['others'] = [
            {'seat': seat, 'line': line} for seat, line in game.shown_to(me).items()
        ]
    if game.stage is Stage.RESULT:
        seen |= {
            'losses': _losses(game, Stage.AGGREGATE, me)[: game.round],
            'own_loss': _loss(game, Stage.LEARN, game.round, me),
            'received': _received(game, game.round, me),
        }
    return seen


def _final(game: Game) -> dict[str, Any]:
    """Return everything: the truth, all lines, and the leaderboard by the last round's loss."""
    players = [
        {
            'seat': seat,
            'name': game.seats[seat].name,
            'agent': game.seats[seat].person is None,
            'group': game.task.groups[seat],
            'losses': _losses(game, Stage.AGGREGATE, seat),
            'received': [_received(game, t, seat) for t in range(1, ROUNDS + 1)],
        }
        for seat in range(SEATS)
    ]
    return {
        'targets': game.task.targets,
        'players': sorted(players, key=_rank),
        'history': [
            {
                'points': game.task.points[t - 1].tolist(),  # by seat
                'learned': [_line(game, Stage.LEARN, t, seat) for seat in range(SEATS)],
                'aggregated': [_line(game, Stage.AGGREGATE, t, seat) for seat in range(SEATS)],
            }
            for t in range(1, ROUNDS + 1)
        ],
    }


def _rank(player: dict[str, Any]) -> tuple[bool, float]:
    last = player['losses'][-1]
    return (last is None, last or 0.0)


def _line(game: Game, stage: Stage, round_: int, seat: int) -> tuple[float, float] | None:
    answer = game.answer(stage, round_, seat)
    return answer.line if answer else None


def _loss(game: Game, stage: Stage, round_: int, seat: int) -> float | None:
    answer = game.answer(stage, round_, seat)
    return answer.loss if answer else None


def _losses(game: Game, stage: Stage, seat: int) -> list[float | None]:
    return [_loss(game, stage, t, seat) for t in range(1, ROUNDS + 1)]


def _received(game: Game, round_: int, seat: int) -> list[int]:
    """Return the ratings a seat got, in an order that does not reveal who gave them."""
    return sorted(rating for (t, _, rated), rating in game.ratings.items()
                  if (t, rated) == (round_, seat))
