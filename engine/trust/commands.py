"""The commands that answer a batch's calls as local jobs, which no study file holds.

They come from the config that the user runs, from `providers.toml` or from `--set`, and are remembered in the trust record for
the batch as it is: a batch that was changed, or comes from elsewhere, has none, whatever its file says.
"""

from collections.abc import Iterable

from tidepool.engine.batch_command import KEY, commands_in, program_of
from tidepool.engine.config.freezing import load_frozen, with_overrides
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.trust.record import trust_record


def keep_commands(batch_id: str, config: FrozenConfig) -> None:
    """With the batch, which is the user's own."""
    if commands := commands_in(config.providers):
        trust_record().keep_commands(batch_id, commands)


def config_of(batch_id: str, frozen: str, changes: Iterable[str] = ()) -> FrozenConfig:
    """The config that a batch goes on with: as its file has it, with the commands of the user's own, and with `--set`."""
    config = load_frozen(frozen)
    if KEY in frozen and trust_record().knows(batch_id, frozen):
        config = with_commands(config, trust_record().commands_of(batch_id))
    return with_overrides(config, changes)


def with_commands(config: FrozenConfig, commands: dict[str, str]) -> FrozenConfig:
    """The same config, in which those sections that had a command have these."""
    providers = config.providers
    had = [name for name in type(providers).model_fields if providers.section(name).batch_command is not None]
    filled = {
        name: providers.section(name).model_copy(update={KEY: commands[name]}) for name in had if name in commands
    }
    return config.model_copy(update={"providers": providers.model_copy(update=filled)}) if filled else config


def programs_to_tell(config: FrozenConfig, models: Iterable[str]) -> list[str]:
    """Which program of this machine answers which models, in words."""
    commands = commands_in(config.providers)
    return [
        f"{model} by local jobs of {program_of(command)}"
        for model in sorted(models)
        if (command := commands.get(model.partition(":")[0]))
    ]


def told_changes(changes: Iterable[str]) -> list[str]:
    """`--set` changes as a file may keep them."""
    return [
        f"{path}=…" if (path := change.partition("=")[0]).strip().endswith(f".{KEY}") else change for change in changes
    ]
