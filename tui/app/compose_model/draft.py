"""The study that is being written, and what keeps it from being lost.

It lies in a file beside the study file, written while one types, so that leaving, a crash or a power cut cost a second
at most. What another text replaced is kept there too, and so are the sections of the kinds one looked at before.

Such a file may come along with another person's study file. So the trust record remembers what was written here, and any
other draft loses its servers, keys, cluster and code (`trust.foreign_keys`), and the name of the file it is saved to.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import tomlkit

from tidepool.engine.studies.kinds import KINDS, load_kind
from tidepool.engine.trust.foreign_keys import foreign_files, foreign_keys
from tidepool.engine.trust.record import trust_record
from tidepool.tui.app.compose_model.edits import ANYTHING, Put, edited, value_at, values_of
from tidepool.tui.app.compose_model.fields import UNSET
from tidepool.tui.app.kind_screens import installed, template

MOST_EARLIER = 20
MOST_BYTES = 64 * 2**20
OWN_LISTS = {"agents": ("agents", "agent_ids"), "entities": ("entities",)}
"""what goes with a kind of these people besides its own section"""


@dataclass(frozen=True, slots=True)
class Draft:
    text: str
    source: str = ""
    """the file it was loaded from or saved to"""
    set_aside: Mapping[str, str] = field(default_factory=dict)
    """kind → its sections, while another kind is composed"""
    earlier: tuple[str, ...] = ()
    """texts that were replaced, the newest first"""

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text, *self.set_aside.values(), *self.earlier)


def fresh(kind: str = "secret_game") -> Draft:
    return Draft(template(kind))


def kind_of(values: Mapping[str, Any]) -> str | None:
    kind = value_at(values, ("batch", "kind"))
    return kind if isinstance(kind, str) and installed(kind) else None


def replaced(draft: Draft, text: str, source: str = "") -> Draft:
    """Another text in place of the draft, which is kept unless it is a template as it came."""
    if text == draft.text:
        return replace(draft, source=source)
    plain = {template(kind) for kind in KINDS if installed(kind)}
    kept = [one for one in (draft.text, *draft.earlier) if one.strip() and one not in plain and one != text]
    return Draft(text, source, {}, tuple(dict.fromkeys(kept))[:MOST_EARLIER])


def switched(draft: Draft, kind: str) -> Draft:
    """The same study as another kind: its name, service and limits stay, the old kind's sections are set aside."""
    values = values_of(draft.text)
    old = kind_of(values)
    if old == kind:
        return draft
    text, aside = draft.text, dict(draft.set_aside)
    if old is not None:
        aside[old], text = _split(text, old)
    own = aside.pop(kind, None) or _split(template(kind), kind)[0]
    new_name = [Put(("batch", "name"), _template_name(kind))] if old and _named_by_template(values, old) else []
    text = edited(text, [Put(("batch", "kind"), kind), *new_name])
    return replace(draft, text=_joined(text, own), set_aside=aside)


def _template_name(kind: str) -> Any:
    return values_of(template(kind))["batch"]["name"]


def _named_by_template(values: Mapping[str, Any], kind: str) -> bool:
    return bool(value_at(values, ("batch", "name")) == _template_name(kind))


def _joined(text: str, sections: str) -> str:
    """The text with sections added that it does not have; keys of no section go to its top."""
    there, own = values_of(text), values_of(sections)
    double = [name for name in own if name in there]
    loose = [name for name in own if name not in there and not _is_section(own[name])]
    tables = _split_names(sections, [*double, *loose])[1].strip()
    text = edited(text, [Put((name,), own[name]) for name in loose])
    joined = f"{text.rstrip()}\n\n{tables}\n" if tables else text
    return joined if _says(joined, {**own, **there}) else tomlkit.dumps({**own, **there})


def _says(text: str, values: Mapping[str, Any]) -> bool:
    try:
        return values_of(text) == values
    except tomllib.TOMLDecodeError:
        return False


def _is_section(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _split(text: str, kind: str) -> tuple[str, str]:
    """(what belongs to the kind alone, the rest)"""
    return _split_names(text, [kind, *OWN_LISTS.get(load_kind(kind).people or "", ())])


def _split_names(text: str, names: list[str]) -> tuple[str, str]:
    values = values_of(text)
    taken = {name: values[name] for name in names if name in values}
    left = {name: section for name, section in values.items() if name not in taken}
    try:
        document, out = tomlkit.parse(text), tomlkit.document()
        for name in taken:
            out.add(name, document.pop(name))
        if _says(out.as_string(), taken) and _says(document.as_string(), left):
            return out.as_string(), document.as_string()
    except ANYTHING:
        pass
    return tomlkit.dumps(taken), tomlkit.dumps(left)


# -- the file beside -------------------------------------------------------------------------------------


def draft_path(database: Path) -> Path:
    return database.with_name(f"{database.name}.draft")


def read_draft(database: Path) -> Draft | None:
    """None where there is none, or none that can be read."""
    path = draft_path(database)
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        written = path.read_text(encoding="utf-8")
        said = json.loads(written)
        aside = {str(kind): str(text) for kind, text in dict(said.get("set_aside", {})).items() if kind in KINDS}
        earlier = tuple(str(text) for text in list(said.get("earlier", [])))
        draft = Draft(str(said["text"]), str(said.get("source", "")), aside, earlier)
        return draft if trust_record().knows_draft(written) else _foreign(draft)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def keep_draft(database: Path, draft: Draft) -> None:
    """Whole or not at all: a crash while writing leaves the one before."""
    path = draft_path(database)
    new, text = path.with_name(f"{path.name}.new"), json.dumps(asdict(draft))
    if _foreign(draft) != draft:  # else a draft from another person would lose nothing either
        trust_record().keep_draft(path, text)
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def _foreign(draft: Draft) -> Draft:
    """The draft as it is read from another person: without servers, keys, a cluster and code, nor a file to be saved to."""
    aside = {kind: _without_foreign(text) for kind, text in draft.set_aside.items()}
    return Draft(_without_foreign(draft.text), "", aside, tuple(map(_without_foreign, draft.earlier)))


def _without_foreign(text: str) -> str:
    """A text that is not TOML yet might name a server as soon as it is: nothing of it is kept."""
    try:
        values = values_of(text)
        keys = [*foreign_keys(values), *foreign_files(values)]
    except ValueError:
        return ""
    return edited(text, [Put(path, UNSET if value is None else value) for path, value in keys]) if keys else text
