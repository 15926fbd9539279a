"""Reading a config from a TOML file or from dictionaries. Every mistake is told by key, with what to do.

What comes out is the config as it is written: it may still name files and entries of a library. `freezing` takes them in.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.mistakes.lines import NO_LINES, Lines
from tidepool.engine.config.mistakes.misplaced import misplaced_kind, section_meant, surroundings
from tidepool.engine.config.problems import ConfigProblem, not_a_section, told, validated
from tidepool.engine.config.sections import Config, ConfigOrigin
from tidepool.engine.config.toml_files import apply_override, parse_toml, read_text
from tidepool.engine.config.user_endpoints import with_users_likes
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.kinds import KINDS, load_kind


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """A config from a TOML file, with `--set` values over it, each key checked.

    The files and the library's entries that it names are taken in, and checked, when a batch of it starts.
    """
    path = Path(path)
    text = read_text(path, ceilings.CONFIG_BYTES, is_config=True)
    data = parse_toml(text, str(path))
    changes = list(overrides)
    for override in changes:
        apply_override(data, override)
    lines = Lines(text, (one.partition("=")[0].strip() for one in changes))
    return config_from(with_users_likes(data), source=str(path), folder=path.parent.absolute(), lines=lines)


def config_from(
    data: Mapping[str, Any], *, source: str = "the config", folder: Path | None = None, lines: Lines = NO_LINES
) -> Config:
    """Checks a config given as nested dictionaries; `folder` is where relative paths start, `lines` where keys stand."""
    sections = dict(data)
    for problem in outline_problems(sections):
        raise UsageError(told(source, problem.sentence, lines.of(problem.where)), problem.where)
    kind_name = str(sections["batch"]["kind"])
    kind_section = load_kind(kind_name).settings()
    around = surroundings(Config, kind_name, kind_section, lines)
    settings = validated(kind_section, sections.pop(kind_name), source, (kind_name,), around)
    config = validated(Config, {**sections, "settings": settings}, source, around=around)
    if not config.batch.name:
        config = config.model_copy(update={"batch": config.batch.model_copy(update={"name": kind_name})})
    return config.written_in(ConfigOrigin(source, folder, lines))


def outline_problems(sections: Mapping[str, Any]) -> list[ConfigProblem]:
    """What is wrong with the sections as such: the kind must be known, and its own section there, and no other's."""
    batch = sections.get("batch")
    if isinstance(batch, list):
        return [ConfigProblem(("batch",), not_a_section(("batch",), batch))]
    kind = batch.get("kind") if isinstance(batch, Mapping) else None
    if kind is None:
        if slip := misplaced_kind(sections):
            return [slip]
        return [ConfigProblem(("batch", "kind"), f'[batch] needs kind = "…", one of {", ".join(KINDS)}.')]
    if kind not in KINDS:
        near = get_close_matches(str(kind), KINDS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return [ConfigProblem(("batch", "kind"), f"batch.kind {kind!r} is none of {', '.join(KINDS)}.{hint}")]
    if sections.get(kind) is None:
        if (meant := section_meant(sections, kind, Config.model_fields)) is not None:
            words = f"[{meant}] is no section of a batch of kind {kind!r}. Did you mean [{kind}]?"
            return [ConfigProblem((meant,), words)]
        return [ConfigProblem((kind,), f"the section [{kind}] is missing. Batches of this kind need it.")]
    strange = [name for name in sections if name not in Config.model_fields and name != kind and name in KINDS]
    return [
        ConfigProblem((name,), f"[{name}] does not belong to a batch of kind {kind!r}. Remove it.") for name in strange
    ]
