"""An endpoint whose calls a program of the user's own answers as local jobs; a server, where it has one, answers the rest."""

import asyncio
import shutil
from collections.abc import Sequence

from tidepool.engine.batch_command import KEY, MODEL, arguments_of
from tidepool.engine.call import Call
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.prices import PriceTag
from tidepool.engine.providers.endpoint import endpoint_of
from tidepool.engine.providers.error_mapping import missing_key
from tidepool.engine.providers.local_jobs.batches import LocalJobs
from tidepool.engine.providers.local_jobs.folder import sweep
from tidepool.engine.providers.local_jobs.live import LiveJobs
from tidepool.engine.providers.openai.provider import OpenAIProvider
from tidepool.engine.providers.openai.request_format import OpenAIRequestFormat
from tidepool.engine.providers.protocol import Answer, BatchApi, ErrorClass, Notices, ProviderError


class JobProvider:
    simulated = False
    backoff = 0.5

    def __init__(self, settings: ProviderSettings, name: str) -> None:
        self.name = name
        self.endpoint = endpoint_of(name, settings)
        self._settings = settings
        self._server = OpenAIProvider(settings, name) if self.endpoint.addresses else None
        self.notices = self._server.notices if self._server else Notices()
        wire = self._server.wire if self._server else OpenAIRequestFormat(self.notices, foreign=True)
        jobs = LocalJobs(self.endpoint, settings, wire, self.price, self.notices)
        self.batches: BatchApi | None = jobs
        self._live = LiveJobs(jobs, settings.batch_size)

    @property
    def settings(self) -> ProviderSettings:
        return self._settings

    @settings.setter
    def settings(self, changed: ProviderSettings) -> None:
        self._settings = changed
        if self._server is not None:
            self._server.settings = changed

    def serve(self, batch_id: str) -> None:
        """A job needs no word of it."""
        return

    def concurrency(self, max_concurrent: int) -> int:
        """Without a server all that wait share a job."""
        return self._settings.batch_size if self._server is None else self._server.concurrency(max_concurrent)

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        if self._server is not None:
            return await self._server.complete(call, seed, attempt)
        return await self._live.ask(call, seed)

    def price(self, model_name: str) -> PriceTag | None:
        return self.endpoint.price(model_name)

    async def check(self, model_names: Sequence[str]) -> None:
        """Of a job that is only looked after, nothing is asked."""
        if model_names:
            self._refuse_unfit(model_names)
        await asyncio.to_thread(sweep)
        if self._server is not None:
            await self._server.check(model_names)

    def _refuse_unfit(self, model_names: Sequence[str]) -> None:
        command, section = self.endpoint.command or "", f"[providers.{self.name}]"
        if not command:
            raise ProviderError(
                ErrorClass.SYSTEMIC,
                f"Calls of {self.name} are answered by a command of its user's own, which is kept with no study file. Say which: "
                f"--set 'providers.{self.name}.{KEY}=…'.",
            )
        program = arguments_of(command)[0]
        if shutil.which(program) is None:
            words = f"{section} {KEY}: there is no program {program!r} on this machine. Install it, or write its whole path."
            raise ProviderError(ErrorClass.SYSTEMIC, words)
        if MODEL in command and (odd := [name for name in model_names if name.startswith("-")]):
            raise ProviderError(
                ErrorClass.SYSTEMIC, f"{section} {KEY}: the model {odd[0]!r} would be read as an option."
            )
        if self.endpoint.lacks_key:
            raise missing_key(self.endpoint)

    async def close(self) -> None:
        await self._live.close()
        if self._server is not None:
            await self._server.close()
