"""`tidepool.make_env`: a mutation study for a learner of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.sections import Config, FrozenConfig, Study
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.mutation.inputs import settings_of
from tidepool.engine.studies.mutation.operators import FOREIGN

if TYPE_CHECKING:
    from tidepool.engine.studies.mutation.gymnasium_environment import StudyEnv


def make_env(study: Config | Study, database: str | Path = "tidepool.db") -> "StudyEnv":
    """A mutation study as a `gymnasium.vector.VectorEnv` on its real models, for any learner.

    Every question goes through the ledger of a batch in the file. A program that was killed and is started again with the
    same study and the same file goes on with its batch: as long as it repeats itself (the same seeds, the same actions) its
    answers come from the file, the same to the last bit, and cost nothing; where it acts otherwise, new answers are asked.
    Needs the extra `rl`.
    """
    from importlib.util import find_spec

    if find_spec("gymnasium") is None:
        raise UsageError('make_env needs the extra `rl`: pip install "tidepool-lab[rl]" -c constraints.txt')
    path = Path(database)
    config = _led_from_outside(freeze(study, path))
    from tidepool.engine.studies.mutation.foreign import LedBatch
    from tidepool.engine.studies.mutation.gymnasium_environment import StudyEnv

    return StudyEnv(LedBatch(config, path), settings_of(config))


def _led_from_outside(config: FrozenConfig) -> FrozenConfig:
    if config.batch.kind != "mutation":
        raise UsageError(f"make_env needs a study of the kind mutation; this one is of the kind {config.batch.kind}.")
    settings = settings_of(config)
    if settings.policy_content:
        raise UsageError("make_env is for learning: a study with `policy` only tests one. Leave that key out.")
    return config.model_copy(update={"settings": settings.model_copy(update={"learner": FOREIGN, "baselines": []})})
