"""Which addresses and limits rule: those of the study that is being composed, and the defaults where it says nothing."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tidepool.engine.config.loading import above_the_users
from tidepool.engine.config.sections import Providers, Service
from tidepool.engine.errors import UsageError
from tidepool.tui.app.compose_model.draft import read_draft
from tidepool.tui.app.compose_model.edits import value_at, values_of

SHOWN_LIMITS = {
    "max_concurrent": "calls at once",
    "requests_per_minute": "requests a minute",
    "tokens_per_minute": "tokens a minute",
    "retries": "retries",
    "timeout": "longest call",
    "batch_size": "in a provider batch",
    "budget_usd": "budget",
}


@dataclass(frozen=True, slots=True)
class ProviderRules:
    providers: Providers = field(default_factory=Providers)
    service: Service = field(default_factory=Service)
    fault: str = ""
    """why the draft's own could not be read"""


@dataclass(frozen=True, slots=True)
class Limit:
    key: str
    words: str
    value: str
    origin: str


def rules_in_draft(database: Path) -> ProviderRules:
    draft = read_draft(database)
    return rules_in("" if draft is None else draft.text)


def rules_in(text: str) -> ProviderRules:
    """Reads no more than the two sections: the rest of a draft may well be unfinished."""
    try:
        values = values_of(text)
    except ValueError:
        return ProviderRules(fault="the draft in Compose is no valid TOML")
    try:
        return ProviderRules(
            above_the_users(Providers.model_validate(_section(values, "providers"))),
            Service.model_validate(_section(values, "service")),
        )
    except ValidationError:
        return ProviderRules(fault="the draft in Compose has a mistake in [service] or [providers]")
    except UsageError as error:
        return ProviderRules(fault=str(error))


def _section(values: dict[str, Any], name: str) -> Any:
    section = value_at(values, (name,))
    return section if isinstance(section, dict) else {}


def limits_for(rules: ProviderRules, provider: str) -> list[Limit]:
    """What rules the calls of a provider, and where that is said."""
    own = rules.providers.section(provider)
    limits = []
    for key, words in SHOWN_LIMITS.items():
        if key in own.model_fields_set:
            value, origin = getattr(own, key), f"[providers.{provider}] in Compose"
        else:
            value = getattr(rules.service, key)
            origin = "[service] in Compose" if key in rules.service.model_fields_set else "default"
        limits.append(Limit(key, words, _told(key, value), origin))
    return limits


def _told(key: str, value: float) -> str:
    if key == "budget_usd":
        return f"${value:,.2f}" if value else "no cap"
    if not value and key in ("requests_per_minute", "tokens_per_minute"):
        return "none fixed: headers rule"
    units = {"timeout": " s", "batch_size": " calls at most"}
    return f"{value:,g}{units.get(key, '')}"
