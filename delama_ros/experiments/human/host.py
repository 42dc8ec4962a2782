"""Runs many games on one store: seats people, passes on what they do, keeps time."""

from __future__ import annotations

import copy
import hashlib
import secrets
import time
from collections.abc import Callable
from typing import Any

from delama_ros.experiments.human.game import Game, Limits, Reason, RefusedError, Stage
from delama_ros.experiments.human.store import Person, Store
from delama_ros.experiments.human.view import view


class Host:
    """The one place that changes games; every change is on disk before it is published."""

    def __init__(
        self,
        store: Store,
        limits: Limits,
        *,
        seed: int | None = None,
        clock: Callable[[], float] = time.time,
        changed: Callable[[Game], None] = lambda game: None,
    ) -> None:
        """Go on with the games in the store; a seed makes new tasks repeatable."""
        self._store, self._limits, self._seed, self._clock = store, limits, seed, clock
        self.changed = changed
        self._games = {number: store.load_game(number, limits) for number in store.unfinished()}
        for game in self._games.values():
            game.resume(clock())

    # -- people -----------------------------------------------------------------------------------

    def find(self, token: str | None) -> Person | None:
        """Return who has this token."""
        return self._store.find_person(_hash(token)) if token else None

    def enter(
        self, person: Person | None, name: str, quality: str, people: int
    ) -> tuple[Person, str | None]:
        """Seat somebody in the oldest game that waits for such company, or in a new one.

        Returns the person, and a token for who has none yet.
        """
        if person and person.game is not None:
            raise RefusedError(Reason.PLAYING)
        token = None
        with self._store.transaction():
            if person is None:
                token = secrets.token_urlsafe(32)
                person = self._store.add_person(name, _hash(token))
            waiting = (
                game for game in self._games.values()
                if game.stage is Stage.WAITING and (game.quality, game.people) == (quality, people)
            )
            game = copy.deepcopy(next(waiting, None)) or self._new_game(quality, people)
            game.join(person.id, name, self._clock())
            self._store.save_game(game)
            person = self._store.move_person(person, name, game.id)
        self._keep(game)
        return person, token

    def leave(self, person: Person) -> Person:
        """Let somebody go who waits, or whose game is over."""
        if person.game is None:
            return person
        game = copy.deepcopy(self._game(person.game))
        with self._store.transaction():
            if game.stage is not Stage.FINAL:
                game.leave(person.id)
                self._store.save_game(game)
            person = self._store.move_person(person, person.name, None)
        self._keep(game)
        return person

    def see(self, person: Person | None) -> dict[str, Any]:
        """Return what somebody may see; a later one has the higher order."""
        order = {'order': time.monotonic()}
        if person is None or person.game is None:
            return order | {'stage': 'login', 'name': person.name if person else ''}
        game = self._game(person.game)
        return order | view(game, game.seat_of(person.id), self._clock())

    def come_back(self, person: Person) -> None:
        """Let games wait again for somebody who is here again."""
        if person.game in self._games:
            game = self._games[person.game]
            game.come_back(game.seat_of(person.id))  # not worth a place on disk

    # -- games ------------------------------------------------------------------------------------

    def act(self, person: Person, do: Callable[[Game, int, float], None]) -> None:
        """Let somebody do something in their game: do(game, seat, now)."""
        if person.game is None:
            raise RefusedError(Reason.STAGE)
        number, now = person.game, self._clock()
        self._change(number, lambda game: do(game, game.seat_of(person.id), now))

    def tick(self) -> None:
        """End the stages whose time is over."""
        now = self._clock()
        for number, game in list(self._games.items()):
            if game.deadline is not None and game.deadline <= now:
                self._change(number, lambda game: game.tick(now))

    def _change(self, number: int, do: Callable[[Game], None]) -> None:
        # On a copy: if it is refused, or cannot be stored, nothing has happened.
        game = copy.deepcopy(self._game(number))
        do(game)
        with self._store.transaction():
            self._store.save_game(game)
        self._keep(game)

    def _keep(self, game: Game) -> None:
        if game.stage is Stage.FINAL:
            self._games.pop(game.id, None)
        else:
            self._games[game.id] = game
        self.changed(game)

    def _game(self, number: int) -> Game:
        return self._games.get(number) or self._store.load_game(number, self._limits)

    def _new_game(self, quality: str, people: int) -> Game:
        number = self._store.next_game()
        seed = secrets.randbits(64) if self._seed is None else self._seed
        game = Game.new(number, quality, people, [seed, number], self._limits)
        self._store.add_game(game)
        return game


def _hash(token: str) -> str:
    """Return what is stored instead of a token, so that the file lets nobody in."""
    return hashlib.sha256(token.encode()).hexdigest()
