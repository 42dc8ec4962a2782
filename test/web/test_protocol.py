"""Sockets with whatever uvicorn and websockets are installed, Ubuntu 24.04's included."""

import asyncio

import websockets
from fastapi import WebSocket

from delama_ros.web.serving import make_app


def test_a_socket_carries_messages_both_ways(serve) -> None:
    app = make_app(access=None)

    async def double(socket: WebSocket) -> None:
        await socket.accept()
        while True:
            text = await socket.receive_text()
            await socket.send_text(text + text)

    app.add_api_websocket_route('/double', double)
    address = serve(app)

    async def talk() -> list[str]:
        url = address.replace('http', 'ws') + '/double'
        async with websockets.connect(url, origin=address) as socket:
            answers = []
            for text in ('a', 'b' * 100_000):
                await socket.send(text)
                answers.append(str(await socket.recv()))
            return answers

    assert asyncio.run(talk()) == ['aa', 'b' * 200_000]
