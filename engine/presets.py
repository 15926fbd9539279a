"""Short names for models, and what they stand for today."""

from difflib import get_close_matches

from engine.errors import UsageError

PROVIDERS = ("simulated", "openai", "anthropic", "ollama")

PRESETS = {
    "gpt35": "openai:gpt-5.4-mini",
    "gpt4o_mini": "openai:gpt-4o-mini",
    "claude_haiku": "anthropic:claude-haiku-5-5",
    "claude_sonnet": "anthropic:claude-sonnet-5-5",
    "claude_opus": "anthropic:claude-opus-5-5",
}


def known_model(name: str) -> str:
    """The name as it is, for sections of a config: pydantic tells a ValueError with its key."""
    try:
        resolve_model(name)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return name


def resolve_model(name: str) -> str:
    """PROVIDER:MODEL for a preset or a full name; anything else is an error that names what is near."""
    if name in PRESETS:
        return PRESETS[name]
    provider, colon, model = name.partition(":")
    if colon and provider in PROVIDERS and model:
        return name
    if colon:
        near = get_close_matches(provider, PROVIDERS, n=1)
        hint = f"did you mean {near[0]}:{model or 'MODEL'}?" if near else f"known are {', '.join(PROVIDERS)}."
        raise UsageError(f"{name!r} names no provider that Tidepool knows: {hint}")
    near = get_close_matches(name, PRESETS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"presets are {', '.join(PRESETS)}."
    raise UsageError(f"{name!r} is neither PROVIDER:MODEL nor a preset: {hint}")
