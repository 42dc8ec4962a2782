"""What tests of the game share: somebody who does what the stage asks for."""

from collections.abc import Callable

import pytest

from delama_ros.experiments.human.host import Host
from delama_ros.experiments.human.store import Person
from delama_ros.experiments.human.task import Line

PlayStage = Callable[[Host, Person, Line, Callable[[int], int]], None]


@pytest.fixture(scope='session')
def play_stage() -> PlayStage:
    """Answer the present stage with a line, and ratings by seat where they are asked for."""

    def play(host: Host, person: Person, line: Line, rate: Callable[[int], int]) -> None:
        state = host.see(person)
        t = state['round']
        ratings = {other['seat']: rate(other['seat']) for other in state.get('others', ())}
        if state['stage'] == 'learn':
            host.act(person, lambda game, seat, now: game.draw_line(seat, t, line, now))
        elif state['stage'] == 'aggregate':
            host.act(person, lambda game, seat, now: game.aggregate(seat, t, line, ratings, now))
        else:
            host.act(person, lambda game, seat, now: game.proceed(seat, t, now))

    return play
