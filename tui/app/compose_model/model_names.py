"""Names of models to offer while one is typed: presets, the simulated voices, and what the providers are known for."""

from functools import cache


@cache
def offered_names() -> tuple[str, ...]:
    from tidepool.engine.config import endpoints as presets
    from tidepool.engine.config.endpoints import PRESET_ENDPOINTS
    from tidepool.engine.config.loading import declared_names
    from tidepool.engine.registries import PROVIDERS
    from tidepool.engine.simulated.responders import RESPONDERS
    from tidepool.engine.simulated.secret_game.personas import PERSONAS

    known = getattr(presets, "KNOWN_MODELS", {})
    return (
        *(f"simulated:{name}" for name in (*PERSONAS, *RESPONDERS)),
        *presets.PRESETS,
        *(f"{provider}:{name}" for provider, names in known.items() for name in names),
        *(f"{provider}:" for provider in dict.fromkeys((*PROVIDERS, *declared_names(), *PRESET_ENDPOINTS))),
    )
