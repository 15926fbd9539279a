"""Provider batches as local jobs: a file of calls is written, a program of the user's answers it, its output is read.

Starting is the step that must happen once. It is the claim of the job's folder, which the job's keeper makes and which
succeeds for one of them alone; whoever looks later finds it. Taking an upload back is the same claim, made by us.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from itertools import islice

from tidepool.engine.batch_command import arguments_of, program_of
from tidepool.engine.call import Call
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.prices import PriceTag
from tidepool.engine.providers.endpoint import Endpoint
from tidepool.engine.providers.error_mapping import diagnosed
from tidepool.engine.providers.keys import scrubbed, watched
from tidepool.engine.providers.local_jobs import keeper
from tidepool.engine.providers.local_jobs.folder import JobFolder, is_job_id, jobs_folder
from tidepool.engine.providers.openai.batch_lines import ResultLines, request_lines
from tidepool.engine.providers.openai.request_format import OpenAIRequestFormat
from tidepool.engine.providers.protocol import (
    BatchedCall,
    CreationUnclear,
    ErrorClass,
    Notices,
    ProviderBatchBounds,
    ProviderBatchGone,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderBatchTicket,
    ProviderError,
)

START_SECONDS = 60.0
LATE_SECONDS = 60.0
"""how long an output may take to show after its command has ended: folders of other machines are seen late"""
SHELLS_SIGNAL = 128
"""from this on an exit code tells of a signal"""
ROWS = 500
"""read at a time"""


class LocalJobs:
    bounds = ProviderBatchBounds(max_calls=1_000_000, max_bytes=2_000_000_000)
    uploads = True

    def __init__(
        self,
        endpoint: Endpoint,
        settings: ProviderSettings,
        wire: OpenAIRequestFormat,
        price: Callable[[str], PriceTag | None],
        notices: Notices,
    ) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._wire = wire
        self._notices = notices
        self._seen: set[str] = set()
        """jobs that were there while this run looked after them"""
        self._lines = ResultLines(wire, price, lambda complaint: diagnosed(complaint, endpoint, "a local job"))

    @property
    def command(self) -> str:
        return self._endpoint.command or ""

    def group(self, call: Call) -> str:
        """One file holds calls to one model."""
        return call.model_name

    async def upload(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> str:
        lines = [line async for line in request_lines(self._wire, calls)]
        return await asyncio.to_thread(self._uploaded, ticket.order_id, lines, calls[0].call.model_name)

    def _uploaded(self, order_id: str, lines: list[bytes], model: str) -> str:
        try:
            folder = JobFolder.new(order_id)
            folder.put(lines, {"model": model, "calls": len(lines)})
        except OSError as error:
            raise ProviderError(
                ErrorClass.SYSTEMIC,
                f"The calls of a job cannot be written to {jobs_folder()} ({error.strerror or error}). Make room there, or name "
                "another folder by TIDEPOOL_STATE, then resume.",
            ) from None
        return folder.id

    async def create(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall], upload_id: str) -> str:
        await asyncio.to_thread(self._start, JobFolder(upload_id), calls[0].call.model_name)
        return upload_id

    def _start(self, folder: JobFolder, model: str) -> None:
        files = {"input": str(folder.input), "output": str(folder.output), "model": model}
        turns = jobs_folder() / f"turn-{os.uname().nodename}-{self._endpoint.name}"
        kept = [str(folder.path), str(turns), str(self._settings.batch_jobs), *arguments_of(self.command, **files)]
        try:
            ended = subprocess.run(
                [sys.executable, "-I", "-S", keeper.__file__, *kept],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=self._environment(),
                start_new_session=True,
                timeout=START_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise CreationUnclear("the job's keeper did not say that it began") from None
        except OSError as error:
            raise ProviderError(ErrorClass.HEALS, f"a job cannot be started: {error}") from None
        if ended.returncode == keeper.CLAIMED or (ended.returncode == keeper.TAKEN and folder.was_started):
            return
        words = (
            "it was taken back" if ended.returncode == keeper.TAKEN else ended.stderr.decode("utf-8", "replace")[-500:]
        )
        raise ProviderError(ErrorClass.HEALS, f"a job cannot be started: {scrubbed(words)}")

    def _environment(self) -> dict[str, str]:
        """That of this process, without keys of other providers."""
        others = set(watched()) - set(self._endpoint.key_variables)
        return {name: value for name, value in os.environ.items() if name not in others}

    async def withdraw(self, upload_id: str) -> None:
        if (folder := JobFolder.named(upload_id)) is None:
            raise self._elsewhere(upload_id)
        await asyncio.to_thread(folder.take_back)

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        started = (one.id for one in JobFolder.all_of(ticket.order_id) if one.was_started)
        return next((one for one in started if one not in others), None)

    async def poll(self, remote_id: str) -> ProviderBatchState:
        folder = JobFolder.named(remote_id)
        if folder is None or not folder.was_started:
            if remote_id in self._seen or not is_job_id(remote_id):
                raise ProviderBatchGone(f"there is no such job in {jobs_folder()}")
            raise self._elsewhere(remote_id)
        self._seen.add(remote_id)
        return await asyncio.to_thread(self._state, folder)

    def _elsewhere(self, job_id: str) -> ProviderError:
        """Nothing can be said of a job whose folder is not here, so nothing is asked again by itself."""
        return ProviderError(
            ErrorClass.SYSTEMIC,
            f"The job {job_id} of {self._endpoint.name} is not in {jobs_folder()}: it was started on another machine, with another "
            "TIDEPOOL_STATE, or its folder is gone. What is answered is kept, and nothing is asked again by itself. Resume where it was "
            "started, or bring its folder here; or have its calls asked anew: `tidepool orders BATCH --give-up "
            f"{job_id.rpartition('-')[0]}`.",
        )

    def _state(self, folder: JobFolder) -> ProviderBatchState:
        if folder.code is None and folder.alive:
            if folder.cancelled and (folder.seconds_since(keeper.CANCELLED) or 0.0) > keeper.GRACE:
                folder.kill()
            return ProviderBatchState(False, "running" if folder.runs else "waiting for its turn")
        code = folder.code
        if code is None and folder.elsewhere:
            return ProviderBatchState(False, f"started on {folder.elsewhere}", unclear=True)
        if folder.cancelled:
            return ProviderBatchState(True, "cancelled")
        if code is None or code < 0 or code > SHELLS_SIGNAL:
            self._notices(
                f"The job {folder.id} of {self._endpoint.name} was killed before it ended{self._said(folder)}."
            )
            return ProviderBatchState(True, "killed")
        return self._ended(folder, code)

    def _ended(self, folder: JobFolder, code: int) -> ProviderBatchState:
        if not code and self._awaits_output(folder):
            return ProviderBatchState(False, "waiting for its output")
        if folder.answered:
            if code:
                words = f"The job {folder.id} of {self._endpoint.name} ended with exit code {code}: what it answered is kept"
                self._notices(f"{words}{self._said(folder)}.")
            return ProviderBatchState(True, f"exit code {code}" if code else "completed")
        if not code and not folder.output.exists():
            why = "ended well without an output: a command must not end before its output is whole (sbatch --wait)"
        else:
            why = f"ended with exit code {code} and answered none of its calls"
        return ProviderBatchState(True, f"exit code {code}", 0, f"{program_of(self.command)} {why}{self._said(folder)}")

    def _awaits_output(self, folder: JobFolder) -> bool:
        """It is there in part, or not yet: it may be seen late, or a command that has ended left somebody who writes it."""
        if (since := folder.seconds_since(folder.output.name)) is None:
            return (folder.seconds_since(keeper.RC) or 0.0) < LATE_SECONDS
        return since < min(LATE_SECONDS, 2 * self._settings.poll_interval) and folder.lines < folder.calls

    def _said(self, folder: JobFolder) -> str:
        words = folder.last_words()
        return f"; its last lines: {words}" if words else ""

    async def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        folder = JobFolder.named(remote_id)
        if folder is None:
            raise ProviderBatchGone("its folder is gone")
        rows, model, unreadable = folder.rows(), folder.model, 0
        while some := await asyncio.to_thread(lambda: list(islice(rows, ROWS))):
            for row in some:
                if row is None:
                    unreadable += 1
                else:
                    yield self._lines.read(row, model)
        if unreadable:
            self._notices(
                f"{unreadable:,} lines of the output of the job {remote_id} cannot be read: what they were about is asked again."
            )
        if folder.code == 0:
            folder.input.unlink(missing_ok=True)

    async def cancel(self, remote_id: str) -> None:
        if folder := JobFolder.named(remote_id):
            await asyncio.to_thread(folder.cancel)
