"""Redirects in place of an answer."""

from collections.abc import Callable

from aiohttp import web


def _elsewhere(status: int) -> Callable[[web.Request], web.Response]:
    """The same machine under another name is another host: keys and questions shall not go there."""

    def move(request: web.Request) -> web.Response:
        where = f"http://localhost:{request.url.port}/elsewhere{request.path}"
        return web.Response(status=status, headers={"Location": where})

    return move


def _in_circles(request: web.Request) -> web.Response:
    return web.Response(status=307, headers={"Location": str(request.url)})


MOVES: dict[str, Callable[[web.Request], web.Response]] = {
    "elsewhere": _elsewhere(307),
    "moved": _elsewhere(301),
    "in-circles": _in_circles,
}
