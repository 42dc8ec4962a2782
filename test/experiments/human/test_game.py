"""The rules of a game, played without clock, files or network."""

import json
import math

import numpy as np
import pytest

from delama_ros.experiments.human.game import AGENT_NAMES, Game, Limits, RefusedError, Stage
from delama_ros.experiments.human.task import ROUNDS, SEATS, Line, loss
from delama_ros.experiments.human.view import view

LIMITS = Limits(learn=100, aggregate=200, result=50)
MINE = Line(0.123456789, 1.987654321)  # numbers that occur nowhere else


def new_game(people: int, join: int | None = None) -> Game:
    game = Game.new(1, 'medium', people, [0, 1], LIMITS)
    for person in range(people if join is None else join):
        game.join(100 + person, f'p{person}', 0.0)
    return game


def rate(game: Game, seat: int, rating: int = 3) -> dict[int, int]:
    return dict.fromkeys(game.shown_to(seat), rating)


def play_round(game: Game, now: float = 1.0) -> None:
    t = game.round
    for seat in game.people_seats:
        game.draw_line(seat, t, MINE, now)
    for seat in game.people_seats:
        game.aggregate(seat, t, MINE, rate(game, seat), now)
    for seat in game.people_seats:
        game.proceed(seat, t, now)


@pytest.mark.parametrize('people', [1, 2, 3, 4])
def test_a_whole_game(people: int) -> None:
    game = new_game(people)
    assert len(game.seats) == SEATS
    assert len(game.people_seats) == people
    for t in range(1, ROUNDS + 1):
        assert (game.stage, game.round, game.deadline) == (Stage.LEARN, t, 100 + (t > 1))
        play_round(game)
    assert (game.stage, game.deadline) == (Stage.FINAL, None)
    assert len(game.answers) == ROUNDS * 2 * SEATS
    assert len(game.ratings) == ROUNDS * SEATS * (SEATS - 1)
    for (_, _, seat), answer in game.answers.items():
        assert answer.loss == loss(answer.line, game.task.target(seat))


def test_seats_do_not_tell_who_is_an_agent() -> None:
    seatings = {tuple(new_game(2).people_seats) for _ in range(60)}
    assert len(seatings) > 3


def test_it_starts_with_agents_when_somebody_is_tired_of_waiting() -> None:
    game = new_game(3, join=1)
    assert game.stage is Stage.WAITING
    game.start(5.0)
    assert game.stage is Stage.LEARN
    assert {seat.name for seat in game.seats} == {'p0', *AGENT_NAMES[:3]}
    with pytest.raises(RefusedError, match='begun'):
        game.start(6.0)
    with pytest.raises(RefusedError, match='full'):
        game.join(7, 'late', 6.0)
    with pytest.raises(RefusedError, match='begun'):
        game.leave(100)


def test_who_waits_may_leave_and_names_are_unique() -> None:
    game = new_game(4, join=2)
    game.leave(100)
    game.join(200, 'p1', 1.0)
    assert [seat.name for seat in game.seats] == ['p1', 'p1 2']


def test_time_runs_out_for_who_does_not_answer() -> None:
    game = new_game(2)
    here, gone = game.people_seats
    game.draw_line(here, 1, MINE, 10.0)
    game.tick(99.9)
    assert game.stage is Stage.LEARN
    game.tick(100.0)
    assert (game.stage, game.deadline) == (Stage.AGGREGATE, 300.0)
    assert gone not in game.shown_to(here)
    assert game.seats[gone].away
    game.aggregate(here, 1, MINE, rate(game, here), 110.0)  # nobody waits for who is away
    assert game.stage is Stage.RESULT
    game.proceed(here, 1, 111.0)
    assert (game.stage, game.round) == (Stage.LEARN, 2)
    assert view(game, gone, 111.0)['last'] is None
    game.come_back(gone)
    game.draw_line(here, 2, MINE, 112.0)
    assert game.stage is Stage.LEARN
    game.draw_line(gone, 2, MINE, 113.0)
    assert game.stage is Stage.AGGREGATE


def test_a_game_that_all_have_left_ends_by_itself() -> None:
    game = new_game(1)
    now = 0.0
    for _ in range(3 * ROUNDS):
        assert game.deadline is not None
        game.tick(game.deadline - 0.1)
        now = game.deadline
        game.tick(now)
    assert game.stage is Stage.FINAL
    assert now == ROUNDS * (100 + 200 + 50)
    final = view(game, game.people_seats[0], now)
    assert final['players'][-1]['losses'] == [None, None, None]


def test_after_a_break_everybody_has_the_full_time() -> None:
    game = new_game(1)
    game.resume(1000.0)
    assert game.deadline == 1100.0


def test_acts_out_of_place_are_refused() -> None:
    game = new_game(2)
    one, two = game.people_seats
    agent = game.agent_seats[0]
    refused = [
        ('stage', lambda: game.aggregate(one, 1, MINE, {}, 1.0)),
        ('stage', lambda: game.proceed(one, 1, 1.0)),
        ('stage', lambda: game.draw_line(one, 2, MINE, 1.0)),
        ('answered', lambda: game.draw_line(agent, 1, MINE, 1.0)),
        *(
            ('line', lambda line=line: game.draw_line(one, 1, line, 1.0))  # type: ignore[misc]
            for line in (Line(math.nan, 0), Line(0, math.inf), Line(51, 0), Line(0, -501))
        ),
    ]
    for word, act in refused:
        with pytest.raises(RefusedError, match=f'^{word}$'):
            act()
    game.draw_line(one, 1, MINE, 1.0)
    with pytest.raises(RefusedError, match='answered'):
        game.draw_line(one, 1, Line(0, 0), 1.0)
    assert game.answers[Stage.LEARN, 1, one].line == MINE
    game.draw_line(two, 1, MINE, 1.0)
    everybody = rate(game, one)
    for ratings in (
        {}, {**everybody, one: 3}, dict(list(everybody.items())[1:]),
        dict.fromkeys(everybody, 6), dict.fromkeys(everybody, -1), dict.fromkeys(everybody, 2.5),
    ):
        with pytest.raises(RefusedError, match='ratings'):
            game.aggregate(one, 1, MINE, ratings, 1.0)  # type: ignore[arg-type]


def test_nobody_sees_what_is_not_submitted_or_not_yet_to_be_seen() -> None:
    game = new_game(2)
    one, two = game.people_seats
    targets = [repr(number) for line in game.task.targets for number in line]

    def seen(seat: int) -> str:
        return json.dumps(view(game, seat, 1.0))

    game.draw_line(one, 1, MINE, 1.0)
    assert repr(MINE.slope) in seen(one)
    assert repr(MINE.slope) not in seen(two)
    game.draw_line(two, 1, Line(0, 0), 1.0)
    assert repr(MINE.slope) in seen(two)  # now everybody has answered
    other = Line(-0.135791357, 2.468246824)
    game.aggregate(one, 1, other, rate(game, one), 1.0)
    assert repr(other.slope) not in seen(two)
    game.aggregate(two, 1, Line(0, 0), rate(game, two), 1.0)
    assert repr(other.slope) not in seen(two)
    points = json.dumps(game.task.points[0, two].tolist())
    assert points in seen(two)
    assert points not in seen(one)
    while game.stage is not Stage.FINAL:
        for seat in (one, two):
            text = seen(seat)
            assert not any(number in text for number in targets)
            assert 'agent' not in text
            assert 'p1' not in text
        game.tick(math.inf)
        assert game.deadline is None or game.deadline == math.inf
    assert all(number in seen(one) for number in targets)


def test_the_final_page_ranks_by_the_last_loss() -> None:
    game = new_game(2)
    while game.stage is not Stage.FINAL:
        play_round(game)
    final = view(game, 0, 1.0)
    last = [player['losses'][-1] for player in final['players']]
    assert last == sorted(last)
    for player in final['players']:
        lines = [final['history'][t]['aggregated'][player['seat']] for t in range(ROUNDS)]
        target = final['targets'][player['group']]
        x = np.linspace(-5, 5, 10_001)
        for line, printed in zip(lines, player['losses'], strict=True):
            error = np.mean((np.polyval(line, x) - np.polyval(target, x)) ** 2)
            assert printed == pytest.approx(error, rel=1e-3)
        assert [len(r) for r in player['received']] == [SEATS - 1] * ROUNDS
