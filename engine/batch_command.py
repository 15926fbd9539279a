"""The key `batch_command` of [providers.NAME]: a program that answers a file of calls, as `vllm run-batch` does.

It says what is run on this machine, so it is obeyed from the user's own hand alone: no batch keeps it in its file, and one that
stands in a file means nothing. It is an argument list: no shell reads it.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Protocol

from annotated_types import MaxLen
from pydantic import AfterValidator

from tidepool.engine.config import ceilings
from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS, OWN_ENDPOINTS
from tidepool.engine.config.problems import WrongValue

KEY = "batch_command"
ONCE = ("{input}", "{output}")
MODEL = "{model}"
NOT_KEPT = ""
"""what stands in a file in place of a command"""
_PLACE = re.compile(r"\{[^{}]*\}")


def arguments_of(command: str, **values: str) -> list[str]:
    """What is run, with each {place} filled in."""
    return [_PLACE.sub(lambda found: values.get(found[0][1:-1], found[0]), part) for part in shlex.split(command)]


def program_of(command: str) -> str:
    """What a person calls it."""
    return Path(shlex.split(command)[0]).name if command != NOT_KEPT else "a program of its user's"


def _checked(command: str) -> str:
    if command == NOT_KEPT:
        return command
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"this is no list of arguments ({error})") from None
    found = [place for part in parts for place in _PLACE.findall(part)]
    for place in ONCE:
        if found.count(place) != 1:
            raise ValueError(
                f"{place} must stand in it once: vllm run-batch -i {{input}} -o {{output}} --model {{model}}"
            )
    if strange := [place for place in found if place not in (*ONCE, MODEL)]:
        raise ValueError(f"{strange[0]} is none of {', '.join((*ONCE, MODEL))}")
    if _PLACE.search(parts[0]):
        raise ValueError("it must begin with the name of a program")
    if any(_PLACE.search(part) and re.search(r"\s", part) for part in parts):
        raise ValueError(
            "a place such as {input} is an argument of its own: no shell reads this. Put such a line into a script"
        )
    return command


BatchCommand = Annotated[str, MaxLen(ceilings.TEXT), AfterValidator(_checked)]


class _Section(Protocol):
    like: Any
    batch_command: str | None
    batch_api: bool | None


def refuse_misplaced(name: str, section: _Section) -> None:
    """A command stands for an endpoint of one's own that speaks like OpenAI. Raises WrongValue."""
    if section.batch_command is None:
        return
    known = KNOWN_ENDPOINTS.get(name)
    if name in OWN_ENDPOINTS or (section.like or (known.like if known else "")) != "openai":
        raise WrongValue(f'{KEY} is for endpoints of your own that are like = "openai"', name, KEY)
    if section.batch_api:
        raise WrongValue(f"{KEY} takes the place of a batch API: remove batch_api", name, "batch_api")


def commands_in(providers: Any) -> dict[str, str]:
    """The commands of sections [providers.NAME], by name."""
    sections = {name: providers.section(name) for name in type(providers).model_fields}
    return {name: section.batch_command for name, section in sections.items() if section.batch_command}


def without_commands(providers: object) -> Any:
    """Sections as they are written, each command replaced by the word that there was one."""
    if not isinstance(providers, Mapping):
        return providers
    return {
        name: {**keys, KEY: NOT_KEPT} if isinstance(keys, Mapping) and keys.get(KEY) is not None else keys
        for name, keys in providers.items()
    }
