"""The provider accounts of a run: opened and checked before anything is spent, closed at its end."""

from collections.abc import Iterable

from tidepool.engine.config.endpoints import refuse_retired
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.catalogue import open_provider
from tidepool.engine.providers.protocol import ProviderError
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.cluster_section import Cluster
from tidepool.engine.runtime.remote_provider import RemoteProvider
from tidepool.engine.runtime.worker_pool import AwaitStop, WorkerPool
from tidepool.storage.text import watch


class OpenAccounts:
    def __init__(
        self,
        models: Iterable[str],
        config: FrozenConfig,
        cluster: Cluster | None = None,
        await_stop: AwaitStop | None = None,
    ) -> None:
        """`cluster`: who makes the live calls; None: this process itself. Nobody is waited for once `stopped` comes back."""
        self._config = config
        self._cluster = cluster
        self._await_stop = await_stop
        self.workers: WorkerPool | None = None
        self._models = sorted(models)
        self.by_provider: dict[str, Account] = {}

    async def __aenter__(self) -> "OpenAccounts":
        watch()
        try:
            for model in self._models:
                refuse_retired(model)
            if self._cluster is not None:
                from tidepool.engine.runtime.ray_cluster import start_workers

                self.workers = await start_workers(self._cluster, self._await_stop)
                self.workers.on_change = self._fit_to_workers
            for name in sorted({model.partition(":")[0] for model in self._models}):
                limits = self._config.limits_for(name)
                provider = open_provider(name, limits)
                if self.workers is not None:
                    provider = RemoteProvider(provider, self.workers)
                self.by_provider[name] = Account(provider, limits)
                await provider.check([self._name(model) for model in self._models if model.startswith(f"{name}:")])
            self._fit_to_workers()
            self._refuse_blind_budget()
        except ProviderError as error:
            await self.__aexit__()
            raise UsageError(str(error)) from error
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        for account in self.by_provider.values():
            account.outage.close()
            await account.provider.close()
        if self.workers is not None:
            await self.workers.close()

    def _fit_to_workers(self) -> None:
        """Servers beside hands come and go with them."""
        for account in self.by_provider.values() if self.workers is not None else ():
            account.limiter.change(max_concurrent=account.provider.concurrency(account.settings.max_concurrent))

    def name_batch(self, batch_id: str) -> None:
        for account in self.by_provider.values():
            account.provider.serve(batch_id)

    def simulated(self, providers: Iterable[str]) -> bool:
        return any(self.by_provider[name].provider.simulated for name in providers)

    def _refuse_blind_budget(self) -> None:
        for model in self._models:
            provider = model.partition(":")[0]
            price = self.by_provider[provider].price(self._name(model))
            if price is None and (self._config.service.budget_usd or self._config.budget_of(provider)):
                raise UsageError(
                    f"budget_usd is set, but the price of {model} is not known, so the budget could not be "
                    "kept. Remove the budget, choose a model whose price `tidepool models` shows, or declare it: "
                    f"[providers.{provider}] prices."
                )

    @staticmethod
    def _name(model: str) -> str:
        return model.partition(":")[2]
