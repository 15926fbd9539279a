"""Opens the providers a batch needs. Each SDK is loaded only when one of its models is called."""

from engine.config import Config, SimulatedSettings
from engine.errors import UsageError
from engine.providers.provider import Provider


def open_provider(name: str, config: Config, batch_id: str) -> Provider:
    settings = config.limits_for(name)
    match name:
        case "simulated":
            from engine.providers.simulated.provider import SimulatedProvider

            assert isinstance(settings, SimulatedSettings)
            return SimulatedProvider(settings, batch_id)
        case _:
            raise UsageError(f"The provider {name!r} is not known.")
