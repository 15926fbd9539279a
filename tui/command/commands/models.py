"""`tidepool models`: lists models, prices and retirement dates, and downloads local models."""

import argparse
import asyncio
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from tidepool.engine.config.endpoints import PRESET_ENDPOINTS, PRESET_TABLE
from tidepool.engine.config.loading import load_config, merge_user_providers
from tidepool.engine.config.sections import Providers
from tidepool.engine.errors import RunError, UsageError
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint, open_provider
from tidepool.engine.providers.model_list import ListedModel, ListedProvider, list_models
from tidepool.engine.providers.ollama import pull_model
from tidepool.engine.providers.protocol import ProviderError
from tidepool.engine.providers.provider import EndpointProvider
from tidepool.tui.command.output import echo, echo_in_place, echo_json
from tidepool.tui.drawing.text import console, one_line, plain_table, shortened

MOST_SHOWN = 40
"""most models without a price that are listed by name"""


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", nargs="?", help="only this provider or endpoint")
    parser.add_argument(
        "--config", metavar="CONFIG.toml", help="use base_url and hosts from the section [providers] of a config"
    )
    parser.add_argument("--pull", metavar="NAME", help="download a model to every Ollama server")


def run(options: argparse.Namespace) -> int:
    providers = merge_user_providers(load_config(options.config).providers if options.config else Providers())
    if options.pull:
        asyncio.run(_pull(options.provider or "ollama", providers, options.pull))
        return 0
    names = (options.provider,) if options.provider else None
    listed = asyncio.run(list_models(providers, names))
    if options.json:
        presets = {name: asdict(preset) for name, preset in PRESET_TABLE.items()}
        echo_json({"providers": [asdict(provider) for provider in listed], "presets": presets})
    else:
        for provider in listed:
            _print(provider)
        rows = [(name, preset.model, preset.note) for name, preset in PRESET_TABLE.items()]
        console().print(plain_table(("preset", "model", "note"), rows, no_wrap=("preset", "model")))
        if not options.provider:
            other_names = [name for name in PRESET_ENDPOINTS if name not in [provider.name for provider in listed]]
            console().print(Text(f"Other endpoints: {', '.join(other_names)} (docs/providers.md)", style="dim"))
    return 0


def _print(listed: ListedProvider) -> None:
    out = console()
    out.print(Text(f"{listed.name} · {listed.where} · key {listed.key}", style="bold"))
    if listed.note:
        out.print(Text(shortened(listed.note), style="yellow"))
    for host in listed.hosts:
        state = f"no reply ({host.silence})" if host.silence else f"{len(host.models):,} models"
        out.print(Text(f"{host.address}: {state}"))
    priced = [model for model in listed.models if model.input_usd or model.output_usd]
    if priced:
        out.print(_table(priced))
    _print_names("free", [model for model in listed.models if model.input_usd == model.output_usd == 0])
    _print_names("price unknown", [model for model in listed.models if model.input_usd is None])
    out.print()


def _print_names(title: str, models: list[ListedModel]) -> None:
    if models:
        names = ", ".join(one_line(model.name) for model in models[:MOST_SHOWN])
        more = f" and {len(models) - MOST_SHOWN} more" if len(models) > MOST_SHOWN else ""
        console().print(Text(f"{title}: {names}{more}"))


def _table(models: list[ListedModel]) -> Table:
    prices = ("$/M in", "$/M out", "batch in", "batch out")
    rows = []
    for model in models:
        costs = (model.input_usd, model.output_usd, model.batch_input_usd, model.batch_output_usd)
        price_texts = ("–" if price is None else "free" if price == 0 else f"{price:g}" for price in costs)
        rows.append((model.name, *price_texts, model.retires or ""))
    return plain_table(("model", *prices, "until"), rows, right=prices, no_wrap=("model",))


async def _pull(endpoint: str, providers: Providers, name: str) -> None:
    """Downloads a model. Progress on stderr is a changing line on a terminal, or one line for each step elsewhere."""
    settings = providers.section(endpoint)
    if not is_endpoint(endpoint, settings) or endpoint_of(endpoint, settings).like != "ollama":
        raise UsageError(f"--pull works only with Ollama servers, and {endpoint} is not one.")
    provider = open_provider(endpoint, settings)
    assert isinstance(provider, EndpointProvider)
    last_line = ""
    try:
        async for step in pull_model(provider, name):
            share = f" {step.completed / step.total:4.0%} of {step.total / 1e6:,.0f} MB" if step.total else ""
            line = one_line(f"{step.host}: {step.status}{share}")
            if line != last_line:
                echo_in_place(line)
            last_line = line
    except ProviderError as error:
        raise RunError(str(error)) from None
    finally:
        await provider.close()
    echo(f"{name} is ready on {', '.join(provider.urls)}")
