"""Models to choose from for a field: what each costs, whether it can be called from here, how long it will live."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidepool.engine.config.sections import Providers
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint
from tidepool.engine.providers.model_list import ListedProvider
from tidepool.tui.app.provider_view.cards import price_words
from tidepool.tui.drawing.text import one_line


@dataclass(frozen=True, slots=True)
class OfferedModel:
    name: str
    """as a config writes it"""
    input: str = ""
    """dollars for a million tokens, in words"""
    output: str = ""
    remark: str = ""
    ready: bool = True
    """whether nothing is missing to call it"""

    def fits(self, words: Sequence[str]) -> bool:
        text = f"{self.name} {self.input} {self.remark}".casefold()
        return all(word in text for word in words)


def offers_of(listed: Iterable[ListedProvider], providers: Providers) -> list[OfferedModel]:
    """The simulated first, which need nothing; then those that can be called, then those without a key."""
    found = [offer for one in listed for offer in _of(one, providers)]
    return sorted(found, key=lambda offer: (not offer.name.startswith("simulated:"), not offer.ready))


def _of(listed: ListedProvider, providers: Providers) -> Iterable[OfferedModel]:
    lacking = listed.key == "missing"
    state = _missing(listed.name, providers) if lacking else "does not answer" if listed.reached is False else ""
    for model in listed.models:
        said = (
            "offline, simulated" if listed.name == "simulated" else state,
            f"until {model.retires}" if model.retires else "",
            f"preset {', '.join(model.presets)}" if model.presets else "",
        )
        yield OfferedModel(
            f"{listed.name}:{one_line(model.name)}",
            price_words(model.input_usd),
            price_words(model.output_usd),
            one_line("; ".join(filter(None, said))),
            not state,
        )


def _missing(name: str, providers: Providers) -> str:
    settings = providers.section(name)
    variable = endpoint_of(name, settings).key_variable if is_endpoint(name, settings) else ""
    return f"no key: {variable}" if variable else "no key"


def narrowed(offers: Sequence[OfferedModel], typed: str) -> list[OfferedModel]:
    """Those that the words fit, by their names first; and what is typed itself where it is a whole name."""
    words = typed.casefold().split()
    found = sorted(
        (offer for offer in offers if offer.fits(words)), key=lambda one: not all(w in one.name for w in words)
    )
    whole = typed.strip()
    if ":" in whole and " " not in whole and not whole.endswith(":") and whole not in [one.name for one in found]:
        found.append(OfferedModel(whole, remark="as you typed it"))
    return found
