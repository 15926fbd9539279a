"""Serves the app to browsers, for `tidepool web`. Each tab has its own app process, which ends with the tab."""

import asyncio
import re
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from tidepool.engine.api.auth import NO_FRAMES, Authenticated, AuthRequest, TokenAuth, is_loopback

HOST = "127.0.0.1"
MOST_CONNECTIONS = 200
AUTH_SECONDS = 10.0
"""time for a connection to authenticate"""
QUIT_SECONDS = 0.7
"""at the end of the server: time for an app to quit, and again after SIGTERM"""
FAREWELL_SECONDS = 10.0
"""time for an app to quit after its tab was closed"""
DRAIN_SECONDS = 1.0

FOREIGN_LINK = re.compile(r"<link\b[^>]*https?://(?!127\.0\.0\.1)[^>]*>")
LOCAL_STYLE = """<style>
  @font-face { font-family: "Roboto Mono"; font-weight: 100 700; src: url("/static/fonts/RobotoMono-VariableFont_wght.ttf"); }
</style>
<script>
  const begin = window.onload;
  window.onload = async (event) => {
    await document.fonts.load("16px 'Roboto Mono'").catch(() => {});
    begin(event);
    const focus = () => document.body.classList.contains("-loaded")
      ? document.querySelector(".xterm-helper-textarea")?.focus() : setTimeout(focus, 20);
    focus();
  };
</script>
</head>"""
"""loads the font before characters are measured, and gives the app the keyboard focus"""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class AppProcess(AppService):
    """The app process of one tab. It starts without a shell and ends reliably."""

    def __init__(self, command: Sequence[str], screen: web.WebSocketResponse, server: Server) -> None:
        async def close() -> None:
            await screen.close()

        async def send(data: bytes) -> None:
            with suppress(ConnectionResetError):  # the app can quit only if all its output is read
                await screen.send_bytes(data)

        super().__init__(
            "", write_bytes=send, write_str=screen.send_str, close=close, download_manager=server.download_manager
        )
        self._arguments = command

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        driver = "tidepool.tui.app.tab_driver:TabDriver"
        return {**super()._build_environment(width, height), "TEXTUAL_DRIVER": driver}

    async def _open_app_process(self, width: int = 80, height: int = 24) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        self._process = process = await asyncio.create_subprocess_exec(
            *self._arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=self._build_environment(width, height)
        )
        self._stdin = process.stdin
        return process

    async def end(self, patience: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self.stop()
        if process := self._process:
            for end_process in (process.terminate, process.kill):
                with suppress(TimeoutError, ProcessLookupError):
                    async with asyncio.timeout(patience):
                        if process.returncode is None:
                            end_process()
                        await process.wait()


class BrowserServer(Server):
    """The server of textual-serve, with token authentication."""

    def __init__(self, command: Sequence[str], port: int, auth: TokenAuth) -> None:
        super().__init__("tidepool", host=HOST, port=port, title="Tidepool")
        self._arguments = command
        self._auth = auth
        self._unauthenticated: set[asyncio.Protocol] = set()
        """connections that have not authenticated yet"""
        self._tabs: dict[web.WebSocketResponse, AppProcess] = {}

    async def serve_on(self, listener: socket.socket, ready: Callable[[], None]) -> int:
        """Serves until SIGINT or SIGTERM. Returns the exit code."""
        loop = asyncio.get_running_loop()
        signals: asyncio.Queue[int] = asyncio.Queue()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, signals.put_nowait, number)
        runner = web.AppRunner(await self._make_app(), shutdown_timeout=DRAIN_SECONDS)
        await runner.setup()
        serving = await loop.create_server(lambda: self._connection(runner), sock=listener)
        ready()
        code = 128 + await signals.get()
        serving.close()
        ends = [end for screen, app in self._tabs.items() for end in (app.end(QUIT_SECONDS), screen.close())]
        await asyncio.gather(*ends, return_exceptions=True)
        await runner.cleanup()
        return code

    def _connection(self, runner: web.AppRunner) -> RequestHandler:
        assert runner.server is not None
        connection = runner.server()
        self._unauthenticated.add(connection)
        crowded = len(runner.server.connections) >= MOST_CONNECTIONS
        asyncio.get_running_loop().call_later(0 if crowded else AUTH_SECONDS, self._drop_unauthenticated, connection)
        return connection

    def _drop_unauthenticated(self, connection: RequestHandler) -> None:
        if connection in self._unauthenticated:
            self._unauthenticated.discard(connection)
            connection.force_close()

    async def on_startup(self, app: web.Application) -> None:
        """Replaces the greeting of textual-serve, since the command prints its own."""

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            self._refuse(request)
            self._unauthenticated.discard(request.protocol)
            return await handler(request)

        async def forbid_frames(request: web.Request, response: web.StreamResponse) -> None:
            response.headers.extend(NO_FRAMES)  # in addition to textual-serve's policy; browsers apply all policies

        app.middlewares.append(guarded)
        app.on_response_prepare.append(forbid_frames)  # on errors and streamed files too
        return app

    def _refuse(self, request: web.Request) -> None:
        """Raises the response to a request that is not authenticated."""
        host = request.headers.get("Host", "").lower()
        own_host = self.public_url.removeprefix("http://")
        if request.path == "/" and host != own_host and is_loopback(host.partition(":")[0]):
            raise web.HTTPSeeOther(self.public_url + request.raw_path)  # the page connects to this host name
        verdict = self._auth.refusal(_auth_request(request, self.port))
        if isinstance(verdict, Authenticated):
            headers = {"Set-Cookie": verdict.cookie, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
            raise web.HTTPSeeOther(verdict.location, headers=headers)
        if verdict is not None:
            refused = web.HTTPUnauthorized if verdict.code == 401 else web.HTTPForbidden
            raise refused(text=verdict.message, headers={"Connection": "close"})

    async def handle_index(self, request: web.Request) -> web.Response:
        page = await super().handle_index(request)
        assert isinstance(page, web.Response)
        # Links to other servers would wait for them on a slow network.
        page.text = FOREIGN_LINK.sub("", page.text or "").replace("</head>", LOCAL_STYLE, 1)
        return page

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        screen = web.WebSocketResponse(heartbeat=15, timeout=QUIT_SECONDS)
        width, height = (to_int(request.query.get(name, ""), usual) for name, usual in (("width", 80), ("height", 24)))
        await screen.prepare(request)
        self._tabs[screen] = app = AppProcess(self._arguments, screen, self)
        try:
            await app.start(width, height)
            await self._process_messages(screen, app)
        except (ValueError, LookupError, TypeError, AttributeError, AssertionError):  # an invalid message
            await screen.close()
        finally:
            self._tabs.pop(screen, None)
            await asyncio.shield(app.end(FAREWELL_SECONDS))
        return screen


def _auth_request(request: web.Request, port: int) -> AuthRequest:
    headers = {name.lower(): value for name, value in request.raw_headers}
    path, _, query = request.raw_path.encode("utf-8", "surrogateescape").partition(b"?")
    return AuthRequest(request.method, path, query, headers, port)
