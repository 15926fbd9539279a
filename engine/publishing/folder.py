"""`tidepool publish`: a study as a folder that can be pushed to a dataset hub without changes.

Batches are copied into a separate file first, and everything else is made from this copy. So the parts of the folder agree,
even if the study file changes in the meantime, and private content is removed in one place. The folder appears when it is
complete, and the same study makes the same folder again.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tidepool.engine.errors import FileError, UsageError
from tidepool.engine.exports.export import report_pages
from tidepool.engine.exports.toml import missing_files, study_toml, toml_of, without_paths
from tidepool.engine.providers.replies import ABSOLUTE_PATH
from tidepool.engine.publishing.card import FILE, About, Publication, card, described, dictionary, models_of, servers_in
from tidepool.engine.registries import custom_names, is_custom, section_of
from tidepool.engine.results.summary import summarise
from tidepool.storage.batches import all_batches, find_batch
from tidepool.storage.file import reading, settle, value_of
from tidepool.storage.studies import StoredStudy, cells_of, study_of
from tidepool.storage.transfer.formats import finished_together, write_parquet_tables, write_text
from tidepool.storage.transfer.study_files import copy_to_publish
from tidepool.storage.transfer.tables import joined, tables_of
from tidepool.storage.views import VIEWS


@dataclass(frozen=True, slots=True)
class PublishedFolder:
    folder: Path
    files: tuple[str, ...]
    notes: tuple[str, ...]
    """what is missing, and what to check before publishing"""


Source = tuple[StoredStudy | None, Sequence[sqlite3.Row]]
"""a study with its batches, or one batch"""


def publish(database: Path, reference: str, folder: Path, about: About) -> PublishedFolder:
    """`reference` names a study, or a batch."""
    about.check()
    _refuse_full(folder)
    with reading(database) as connection:
        source = _select(connection, reference)
        batches = source[1]
        designs = _designs(connection, batches)
    notes: list[str] = []
    with finished_together(folder) as scratch:
        copy = scratch / FILE
        configs = {batch["number"]: without_paths(json.loads(batch["config"])) for batch in batches}
        texts = {number: json.dumps(config, ensure_ascii=False) for number, config in configs.items()}
        copy_to_publish(database, texts, copy, _private(database), designs)
        with reading(copy) as connection:
            published = _fill(scratch, connection, source, about, notes)
        settle(copy)
        files = sorted(str(path.relative_to(scratch)) for path in scratch.rglob("*") if path.is_file())
    servers = dict.fromkeys(place for config in configs.values() for place in servers_in(config))
    if servers:
        notes.append(f"Its configs name these servers, which everyone can read after publishing: {', '.join(servers)}.")
    models = dict.fromkeys(model for batch in published.batches for model in models_of(batch))
    if paths := [model for model in models if ABSOLUTE_PATH.match(model.partition(":")[2])]:
        notes.append(
            f"Its configs name these models by their paths, which everyone can read after publishing: {', '.join(paths)}."
        )
    return PublishedFolder(folder, tuple(files), (*published.notes, *notes, *published.about.missing()))


def _refuse_full(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file. Name a new folder with -o.")
    if folder.is_dir() and any(folder.iterdir()):
        raise FileError(f"{folder} is not empty. Nothing in it is overwritten. Name a new folder with -o.")


def _select(connection: sqlite3.Connection, reference: str) -> Source:
    study = study_of(connection, reference)
    if study is None:
        return None, [find_batch(connection, reference)]
    batches = [cell.batch for cell in cells_of(connection, study.id)]
    if not batches:
        raise UsageError(f"Study {study.id} has no batches, so there is nothing to publish.")
    return study, batches


def _private(database: Path) -> dict[str, str]:
    """The user's folders, which a message may contain."""
    folders = (database.absolute().parent, Path.cwd(), Path.home())
    return {f"{folder}/": "…/" for folder in folders if len(folder.parts) > 1}


def _designs(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> dict[str, str]:
    """Designs by the study's id, without paths. A cell that is published alone has the design of its study."""
    designs = {}
    for study_id in filter(None, {batch["study_id"] for batch in batches}):
        if study := study_of(connection, study_id):
            source = study.design.get("source")
            shared = {"source": without_paths(source)} if isinstance(source, Mapping) else {}
            designs[study.id] = json.dumps({**study.design, **shared}, ensure_ascii=False)
    return designs


def _fill(folder: Path, connection: sqlite3.Connection, source: Source, about: About, notes: list[str]) -> Publication:
    copy, study = folder / FILE, source[0]
    rows = all_batches(connection)
    batches = tuple(summarise(copy, row["id"], with_statistics=False) for row in rows)
    (folder / "data").mkdir()
    tables = list(joined(table for row in rows for table in tables_of(connection, row, VIEWS)))
    write_parquet_tables(folder / "data", tables)
    counts = {view: int(value_of(connection, f"SELECT count(*) FROM {view}")) for view in VIEWS}
    study_id = study.id if study else str(rows[0]["id"])
    title = about.title or (study.name if study else rows[0]["name"]) or study_id
    complete = replace(about, title=title, description=about.description or rows[0]["description"] or "")
    published = Publication(study_id, complete, study, batches, tuple(described(tables)), counts)
    if unfinished := published.unfinished:
        note = (
            f"Unfinished: {len(unfinished):,} of {len(batches):,} batches were not finished "
            f"({', '.join(unfinished[:5])}{', …' if len(unfinished) > 5 else ''}). To complete them, run tidepool --db {FILE} resume "
            f"{published.id}."
        )
        published = replace(published, notes=(note,))
    _config(folder, source, notes)
    for suffix, text in report_pages(copy, study, rows[0]).items():
        write_text(folder / f"report{suffix}", text)
    write_text(folder / "DATA.md", dictionary(published))
    write_text(folder / "README.md", card(published))
    return published


def _config(folder: Path, source: Source, notes: list[str]) -> None:
    """Writes the config from the user's own file, where the batch is trusted, so that its servers are included. A config that
    cannot be a separate file is still in the study file."""
    study, batches = source
    if is_custom(kind := batches[0]["kind"]):
        write_text(folder / custom_names(kind)[0], json.loads(batches[0]["config"])[section_of(kind)]["source"])
    try:
        if study is None:
            write_text(folder / "config.toml", toml_of(batches[0]))
            return
        write_text(folder / "study.toml", study_toml(study, batches))
    except UsageError as error:
        notes.append(str(error))
        return
    if files := missing_files(study, batches):
        notes.append(f"study.toml names {', '.join(files)}. Put them into its folder. {FILE} does not need them.")
