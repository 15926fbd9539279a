"""The driver of an app in a browser's tab, as `tidepool web` starts it."""

import asyncio

from textual import messages
from textual.drivers.web_driver import WebDriver


class TabDriver(WebDriver):
    """Ends the app when its server has closed the connection: Textual's driver would run on without input."""

    def start_application_mode(self) -> None:
        self._running_loop = asyncio.get_running_loop()
        super().start_application_mode()

    def run_input_thread(self) -> None:
        super().run_input_thread()
        asyncio.run_coroutine_threadsafe(self._app._post_message(messages.ExitApp()), self._running_loop)
