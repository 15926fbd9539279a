"""The driver of an app in a browser tab, as started by `tidepool web`."""

import asyncio

from textual import messages
from textual.drivers.web_driver import WebDriver


class TabDriver(WebDriver):
    """Ends the app when its server closes the connection. Textual's driver would continue without input."""

    def start_application_mode(self) -> None:
        self._running_loop = asyncio.get_running_loop()
        super().start_application_mode()

    def run_input_thread(self) -> None:
        super().run_input_thread()
        asyncio.run_coroutine_threadsafe(self._app._post_message(messages.ExitApp()), self._running_loop)
