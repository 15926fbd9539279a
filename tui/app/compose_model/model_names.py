"""Names of models to offer while one is typed: presets, the simulated voices, and what the providers are known for."""

from functools import cache


@cache
def offered_names() -> tuple[str, ...]:
    from tidepool.engine.config import presets
    from tidepool.engine.config.endpoints import PRESET_ENDPOINTS
    from tidepool.engine.config.user_endpoints import declared_names
    from tidepool.engine.providers.simulated.personas import PERSONAS
    from tidepool.engine.providers.simulated.responders import RESPONDERS
    from tidepool.engine.registries import PROVIDERS

    known = getattr(presets, "KNOWN_MODELS", {})
    return (
        *(f"simulated:{name}" for name in (*PERSONAS, *RESPONDERS)),
        *presets.PRESETS,
        *(f"{provider}:{name}" for provider, names in known.items() for name in names),
        *(f"{provider}:" for provider in dict.fromkeys((*PROVIDERS, *declared_names(), *PRESET_ENDPOINTS))),
    )
