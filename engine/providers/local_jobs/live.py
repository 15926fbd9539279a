"""Calls that go one by one where there is no server: those that are there together share a job.

A wave of one, a small rest and an embedding are such calls. Starting the program takes longer than a few calls, so whoever
comes while a job runs goes with the next. Nothing of it is remembered: after a crash such calls are asked again.
"""

import asyncio
import os
import time
from collections import defaultdict

from tidepool.engine.call import Call
from tidepool.engine.providers.local_jobs.batches import LocalJobs
from tidepool.engine.providers.local_jobs.folder import JobFolder
from tidepool.engine.providers.protocol import (
    Answer,
    BatchedCall,
    CreationUnclear,
    ErrorClass,
    ProviderBatchGone,
    ProviderBatchResult,
    ProviderBatchTicket,
    ProviderError,
)

GATHERING = 0.05
"""seconds that the first of them waits for others"""
LONGEST_LOOK = 2.0

_Group = tuple[str, str]
"""operation and model"""
_Waiting = tuple[Call, int, "asyncio.Future[Answer]"]


class LiveJobs:
    def __init__(self, jobs: LocalJobs, most: int) -> None:
        self._jobs = jobs
        self._most = most
        self._waiting: dict[_Group, list[_Waiting]] = defaultdict(list)
        self._serving: dict[_Group, asyncio.Task[None]] = {}

    async def ask(self, call: Call, seed: int) -> Answer:
        group = (call.operation, call.model_name)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[group].append((call, seed, future))
        if group not in self._serving:
            self._serving[group] = asyncio.create_task(self._serve(group))
        return await future

    async def _serve(self, group: _Group) -> None:
        try:
            await asyncio.sleep(GATHERING)
            while waiting := [one for one in self._waiting.pop(group, []) if not one[2].done()]:
                self._waiting[group] = waiting[self._most :]
                await self._answer(waiting[: self._most])
        finally:
            del self._serving[group]

    async def _answer(self, waiting: list[_Waiting]) -> None:
        order_id = os.urandom(12).hex()
        calls = [BatchedCall(f"{order_id}_{place}", call, seed) for place, (call, seed, _) in enumerate(waiting)]
        try:
            found = await self._ran(order_id, calls)
            outcomes = [_outcome(found.get(one.custom_id)) for one in calls]
        except (ProviderError, CreationUnclear, ProviderBatchGone) as error:
            known = error if isinstance(error, ProviderError) else ProviderError(ErrorClass.HEALS, str(error))
            outcomes = [known] * len(calls)
        for (_, _, future), outcome in zip(waiting, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, ProviderError):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    async def _ran(self, order_id: str, calls: list[BatchedCall]) -> dict[str, ProviderBatchResult]:
        ticket = ProviderBatchTicket(order_id, "", len(calls), time.time())
        upload_id = await self._jobs.upload(ticket, calls)
        try:
            await self._jobs.create(ticket, calls, upload_id)
            look = GATHERING
            while not (state := await self._jobs.poll(upload_id)).ended:
                await asyncio.sleep(look)
                look = min(look * 1.5, LONGEST_LOOK)
            if state.failed_reason is not None:
                words = f"{state.failed_reason}. No call can be answered so: set it right, then resume."
                raise ProviderError(ErrorClass.SYSTEMIC, words)
            return {result.custom_id: result async for result in self._jobs.results(upload_id)}
        finally:
            folder = JobFolder(upload_id)
            if folder.alive:
                folder.cancel()
                folder.kill()
            folder.remove()

    async def close(self) -> None:
        serving = list(self._serving.values())
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


def _outcome(result: ProviderBatchResult | None) -> Answer | ProviderError:
    if result is None:
        return ProviderError(ErrorClass.HEALS, "its job brought no answer")
    if result.answer is not None:
        return result.answer
    return ProviderError(ErrorClass.HEALS if result.heals else ErrorClass.OURS, result.error or "no answer")
