"""What an evolution runs that is not Tidepool's: a scorer of the user's own, and code that models write."""

from collections.abc import Sequence
from pathlib import Path

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.tasks.own_scorer import WHERE, find, hash_of, own_scorer
from tidepool.engine.trust.foreign_keys import NOT_TRUSTED


def with_code_frozen(settings: EvolutionSettings, folder: Path | None) -> EvolutionSettings:
    """The hash of the scorer in place, when a batch is made; it lies beside the config, or where one stands."""
    if settings.scorer.startswith(NOT_TRUSTED):
        raise UsageError(
            f"evolution.scorer is {settings.scorer!r}: only a stranger's file named this scorer, and it runs code on this "
            f"machine. If you know the file, write scorer = {settings.scorer.removeprefix(NOT_TRUSTED)!r} yourself.",
            WHERE,
        )
    if (own := own_scorer(settings.scorer)) is None:
        return _with_code_allowed(settings)
    if folder is not None:
        found = hash_of(own, (folder, Path.cwd()), settings.scorer_sha256)
        return settings.model_copy(update={"scorer_sha256": found})
    if not settings.scorer_sha256:
        raise UsageError("The batch's own config names a scorer without its hash, as no frozen one does.", WHERE)
    return settings


def _with_code_allowed(settings: EvolutionSettings) -> EvolutionSettings:
    if _runs_replies(settings) and not settings.allow_code:
        raise UsageError(
            'evolution.task is "python": code that a model writes would be run on this machine. Its time, memory and files are '
            "limited, but it is no sandbox (docs/tasks.md). If you want that, say so in your config: allow_code = true.",
            ("evolution", "allow_code"),
        )
    return settings


def _runs_replies(settings: EvolutionSettings) -> bool:
    return settings.task == "python" and not settings.scorer


def code_in_words(settings: EvolutionSettings) -> tuple[str, ...]:
    if own := own_scorer(settings.scorer):
        return (f"the scorer {own} (sha256 {settings.scorer_sha256[:16]}...), which can read your keys and files",)
    if not _runs_replies(settings):
        return ()
    return (
        'Python that models write (task = "python"); only accidents are prevented: it can read your keys and files',
    )


def code_warnings(settings: EvolutionSettings) -> tuple[str, ...]:
    """For the plan, the dry run and the first lines of a run."""
    return tuple(f"Runs code on this machine: {words}." for words in code_in_words(settings))


def find_code(settings: EvolutionSettings, folders: Sequence[Path]) -> None:
    if own := own_scorer(settings.scorer):
        find(own, settings.scorer_sha256, folders, settings.marking_seconds)
