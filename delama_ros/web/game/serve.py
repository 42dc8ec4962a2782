"""Serves the game until it is stopped; `python -m delama_ros.web.game.serve DB SEED` does too."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from delama_ros.experiments.human.game import Limits
from delama_ros.experiments.human.host import Host
from delama_ros.experiments.human.store import Store
from delama_ros.web import serving
from delama_ros.web.game.app import game_app
from delama_ros.web.guard import Access


def serve(
    database: Path, *, limits: Limits, seed: int | None, host: str = '127.0.0.1',
    port: int | None = None,
) -> None:
    """Serve the game until Ctrl-C, and say where.

    Args:
        database: file of the games, made if it does not exist.
        limits: s until each stage ends by itself.
        seed: of new games; None: nobody can foresee them.
        host: address to serve.
        port: 0: any free one; None: the usual one, or a free one.

    """
    listener = serving.listen(host, port)
    store = Store(database)
    access = serving.new_access(host)
    if access:  # the link that people have stays good when the server is started again
        access = Access(
            store.remembered('code', access.code), store.remembered('token', access.token)
        )
    app = game_app(Host(store, limits, seed=seed), access)
    print(f'open {serving.address(listener, access)} in a browser; Ctrl-C ends', flush=True)
    if access:
        print(f'join code: {access.code}', flush=True)
    print(f'games are kept in {database}', flush=True)
    with suppress(KeyboardInterrupt):
        serving.make_server(app).run(sockets=[listener])
    store.close()


if __name__ == '__main__':
    serve(Path(sys.argv[1]), limits=Limits(), seed=int(sys.argv[2]), port=0)
