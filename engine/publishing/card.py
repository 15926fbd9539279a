"""The files that describe a published folder: README.md and DATA.md.

Everything is read from the published copy. README.md is a dataset card with the metadata that dataset hubs read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidepool.engine.errors import UsageError
from tidepool.engine.exports import markdown as md
from tidepool.engine.registries import program_version
from tidepool.engine.reports.blocks import counted, listing, sentence
from tidepool.engine.results.batch_summary import Summary
from tidepool.engine.results.methods import SIMULATED_DATA
from tidepool.engine.results.simulated_roles import ALL_SIMULATED, merge_roles, simulated_roles, simulated_words
from tidepool.storage.states import BatchStatus
from tidepool.storage.studies import StoredStudy
from tidepool.storage.text import json_text, one_line, plain
from tidepool.storage.transfer.tables import ExportTable
from tidepool.storage.views import VIEWS, View, ViewColumn, reference_of

_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{1,60}")


@dataclass(frozen=True, slots=True)
class About:
    title: str = ""
    description: str = ""
    authors: tuple[str, ...] = ()
    license: str = ""
    """its SPDX name, such as CC-BY-4.0"""

    def check(self) -> None:
        if self.license and not _SPDX.fullmatch(self.license):
            raise UsageError("--license needs the SPDX name of a licence, such as CC-BY-4.0.")

    def missing(self) -> Iterator[str]:
        """Missing facts, each with the option that adds it."""
        if not self.authors:
            yield "It has no authors. Add each with --author 'Lovelace, Ada'."
        if not self.license:
            yield "It has no licence, so others may not use it. Add one with --license CC-BY-4.0."
        if not self.description:
            yield "It has no description. Add one with --description '…', or with description in [batch] of the config."


FILE = "study.db"
FINISHED = (BatchStatus.COMPLETED, BatchStatus.PARTIAL, BatchStatus.FAILED)


@dataclass(frozen=True, slots=True)
class Publication:
    id: str
    about: About
    study: StoredStudy | None
    batches: tuple[Summary, ...]
    tables: tuple[View, ...]
    rows: Mapping[str, int]
    """of each table"""
    notes: tuple[str, ...] = ()
    """what readers should know before they use it"""

    @property
    def date(self) -> str:
        """The last day on which something happened in it. So the same study makes the same folder on any day."""
        return max((batch.finished_at or batch.created_at or "")[:10] for batch in self.batches) or "1970-01-01"

    @property
    def simulated(self) -> bool:
        return any(batch.simulated for batch in self.batches)

    @property
    def simulated_words(self) -> str:
        """Empty if every answer came from a language model."""
        if not self.simulated:
            return ""
        words = simulated_words(merge_roles(batch["roles"] for batch in self.batches))
        if words == ALL_SIMULATED:
            return SIMULATED_DATA
        return f"{sentence(words)}."

    @property
    def unfinished(self) -> list[str]:
        return [batch.batch_id for batch in self.batches if batch.status not in FINISHED]

    @property
    def keywords(self) -> list[str]:
        kinds = [kind.replace("_", " ") for kind in sorted({batch.kind for batch in self.batches})]
        return ["tidepool", "language model agents", *kinds, *(["simulated"] if self.simulated else [])]


def models_of(batch: Summary) -> list[str]:
    """The requested models, each with the served model in brackets."""
    names = []
    for model in dict.fromkeys(entry["model"] for entry in batch["roles"]):
        served = {entry.served for entry in batch.served_models if entry.model == model} - {model.partition(":")[2]}
        names.append(f"{model} ({', '.join(sorted(served))})" if served else model)
    return names


def described(tables: Iterable[ExportTable]) -> Iterator[View]:
    """The view of each table, with the columns for the study's design."""
    meaning = "Level of this factor of the study's design, in the batch of the row; `replicate` is its repetition."
    for table in tables:
        view = VIEWS[table.name]
        known = {column.name for column in view.columns}
        more = [ViewColumn(name, held, meaning) for name, held in table.columns.items() if name not in known]
        yield replace(view, columns=(*view.columns, *more))


def servers_in(config: Mapping[str, Any]) -> list[str]:
    """Addresses in a config, which its publisher should know about."""
    providers = config.get("providers")
    sections = [one for one in providers.values() if isinstance(one, Mapping)] if isinstance(providers, Mapping) else []
    addresses = [place for one in sections for place in (one.get("base_url"), *(one.get("hosts") or ()))]
    return [str(place) for place in addresses if place]


Value = str | int | bool | Mapping[str, "Value"] | Sequence["Value"]


def yaml(content: Mapping[str, Value]) -> str:
    """One line per key, in YAML's flow style."""
    return "".join(f"{key}: {_flow(value)}\n" for key, value in content.items())


def _flow(value: Value) -> str:
    """Escapes Markdown characters, since a program without support for metadata may show it as Markdown."""
    if isinstance(value, str):
        return re.sub(r"[<>\[\]&]", lambda sign: f"\\u{ord(sign[0]):04x}", json_text(plain(value)))
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_flow(inner)}' for key, inner in value.items())}}}"
    return f"[{', '.join(map(_flow, value))}]" if isinstance(value, Sequence) else json_text(value)


FIRST = ("outcomes", "simulations", "genomes", "training", "messages")
"""the table that a hub shows first: the first of these that has rows"""


def card(published: Publication) -> str:
    return f"---\n{yaml(_head(published))}---\n\n" + "\n\n".join(filter(None, _parts(published))) + "\n"


def _head(published: Publication) -> dict[str, Value]:
    filled = [table for table in published.tables if published.rows[table.name]]
    first = next((name for name in FIRST if published.rows.get(name)), "batches")
    configs: list[Value] = [
        {
            "config_name": table.name,
            "data_files": f"data/{table.name}.parquet",
            **({"default": True} if table.name == first else {}),
        }
        for table in filled
    ]
    return {
        "pretty_name": one_line(published.about.title),
        "license": published.about.license.lower() or "unknown",
        "tags": [word.replace(" ", "-") for word in published.keywords],
        "configs": configs,
    }


def _parts(published: Publication) -> Iterator[str]:
    about = published.about
    yield md.heading(1, about.title)
    yield md.marked("**", published.simulated_words)
    yield md.paragraph(about.description)
    for note in published.notes:
        yield md.line(note)
    yield md.heading(2, "What was run")
    yield from _batches(published)
    yield md.heading(2, "Files")
    yield md.table(("file", "what it is"), _files(published), left=2)
    yield md.heading(2, "Tables")
    rows = [(one.name, f"{published.rows[one.name]:,}", one.meaning.replace("`", "")) for one in published.tables]
    yield md.table(("table", "rows", "what a row is"), rows, left=3)
    yield "DATA.md describes every column."
    yield md.heading(2, "Read the data")
    yield READING
    yield md.heading(2, "Run the study again")
    yield from _again(published)
    yield md.heading(2, "Licence and authors")
    yield md.line(f"Licence: {about.license or 'none is stated, so ask its authors before you use it'}.")
    yield md.line(f"Authors: {'; '.join(about.authors) or 'not named'}.")
    yield md.line(f"Made by tidepool publish of Tidepool {program_version()}; dated {published.date}.")


def _batches(published: Publication) -> Iterator[str]:
    if published.study is not None:
        number = counted(len(published.batches), "batch", "batches")
        yield md.line(f"Study {published.id} has {number}, one for each cell of its design and each replicate.")
    rows = [
        (
            batch.batch_id,
            batch.name,
            batch.kind,
            f"{batch.status}{' (unfinished)' if batch.batch_id in published.unfinished else ''}",
            f"{batch.units.completed:,} of {batch.units.total:,}",
            str(batch.seed),
            "; ".join(models_of(batch)),
            listing(simulated_roles(batch["roles"])),
            " to ".join(dict.fromkeys(moment[:10] for moment in (batch.created_at, batch.finished_at) if moment)),
            batch.version or "unknown",
        )
        for batch in published.batches
    ]
    head = (
        *("batch", "what", "kind", "status", "units completed"),
        *("seed", "models (as served)", "simulated", "when", "Tidepool"),
    )
    yield md.table(head, rows, left=len(head))


def _files(published: Publication) -> list[tuple[str, str]]:
    return [
        (
            FILE,
            "the study itself, one SQLite file. Tidepool opens it, and any SQLite program can read its views",
        ),
        ("data/", "every view of it as Parquet"),
        ("report.html, report.md", "the results and the methods"),
        ("config.toml" if published.study is None else "study.toml", "its config"),
        ("DATA.md", "the meaning of every table and column"),
    ]


READING = f"""```python
import pandas; messages = pandas.read_parquet("data/messages.parquet")
import polars; messages = polars.read_parquet("data/messages.parquet")
import duckdb; duckdb.sql("SELECT speaker, count(*) FROM 'data/messages.parquet' GROUP BY speaker")
```

`datasette {FILE}` shows the file in a browser, and `tidepool --db {FILE}` opens it in Tidepool."""


def _again(published: Publication) -> Iterator[str]:
    what, config = ("the batch", "config.toml") if published.study is None else ("the whole study", "study.toml")
    yield md.line(f"You can run {what} again with the same config and the same seeds. Real models give new answers.")
    yield f"```sh\ntidepool --db again.db run {FILE}#{one_line(published.id)}\ntidepool --db again.db run {config}\n```"
    yield md.line(
        "API keys are read from your environment. Tidepool asks you before it uses servers or code that only this file names."
    )


def dictionary(published: Publication) -> str:
    intro = (
        "# Tables and columns\n\n"
        f"Each table is a view of `{FILE}` and a file in `data/`. A boolean is 0 or 1 in the file, true or false in Parquet. A time is a "
        "text such as `2026-01-31T08:15:30.250Z`, in UTC. JSON is stored as text. `batch_id` joins every table with `batches.id`, "
        "`conversation_id` with `conversations.id`. Columns after those of the view are factors of the study's design, and are only in Parquet.\n"
    )
    views = [replace(table, columns=tuple(map(_in_code, table.columns))) for table in published.tables]
    return "\n".join((intro, *(line for view in views for line in reference_of(view))))


def _in_code(column: ViewColumn) -> ViewColumn:
    """Cleans the name of a factor, which users choose: it must not end its code span or its table cell."""
    return replace(column, name=one_line(column.name).replace("`", "'").replace("|", "\\|"))
