"""README.md: the dataset card, with the head that dataset hubs read; and DATA.md, the dictionary of every table and column."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from tidepool.engine.exports import markdown as md
from tidepool.engine.publishing.contents import FILE, Publication
from tidepool.engine.publishing.yaml import Value, yaml
from tidepool.engine.results.method_words import listing
from tidepool.engine.results.simulated_roles import simulated_roles
from tidepool.storage.text import one_line
from tidepool.storage.views import View, ViewColumn, reference_of

MOST_BATCHES = 200
SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)
FIRST = ("outcomes", "simulations", "genomes", "training", "messages")
"""the table that a hub shows first: the first of these that has rows"""


def card(published: Publication) -> str:
    return f"---\n{yaml(_head(published))}---\n\n" + "\n\n".join(filter(None, _parts(published))) + "\n"


def _head(published: Publication) -> dict[str, Value]:
    filled = [table for table in published.tables if table.rows]
    shown = next((name for name in FIRST if any(table.name == name for table in filled)), "batches")
    largest = max((table.rows for table in filled), default=0)
    configs: list[Value] = [
        {"config_name": table.name, "data_files": table.path, **({"default": True} if table.name == shown else {})}
        for table in filled
    ]
    return {
        "pretty_name": one_line(published.about.title),
        "license": published.about.spdx.lower() or ("other" if published.about.license else "unknown"),
        "tags": [word.replace(" ", "-") for word in published.keywords],
        "size_categories": [next((name for most, name in SIZES if largest < most), "n>10M")],
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
    yield md.heading(2, "What is here")
    yield md.table(("file", "what it is"), _files(published), left=2)
    yield md.heading(2, "Tables")
    yield md.table(("table", "rows", "what a row is"), _tables(published), left=3)
    yield "DATA.md tells every column."
    yield md.heading(2, "To read it")
    yield _reading(published)
    yield md.heading(2, "To run it again")
    yield from _again(published)
    yield md.heading(2, "Licence and citation")
    yield md.line(f"Licence: {about.license or 'none is stated, so ask its authors before you use it'}.")
    yield md.line(f"Authors: {'; '.join(about.authors) or 'not named'}. CITATION.cff says how to cite it.")
    yield md.line(f"Made by tidepool publish of Tidepool {_program()}; dated {published.date}.")


def _batches(published: Publication) -> Iterator[str]:
    if published.study is not None:
        count = len(published.batches)
        yield md.line(
            f"Study {published.id}: {count:,} {'batch' if count == 1 else 'batches'}, a cell of its design each."
        )
    rows = [
        (
            batch.id,
            batch.name,
            batch.kind,
            f"{batch.status}{' (unfinished)' if batch.unfinished else ''}",
            f"{batch.completed:,} of {batch.units:,}",
            str(batch.seed),
            "; ".join(batch.models),
            listing(simulated_roles(batch.roles)),
            " to ".join(dict.fromkeys(filter(None, (batch.created, batch.finished)))),
            batch.version,
        )
        for batch in published.batches[:MOST_BATCHES]
    ]
    head = (
        "batch",
        "what",
        "kind",
        "status",
        "units completed",
        "seed",
        "models (as served)",
        "simulated",
        "when",
        "Tidepool",
    )
    yield md.table(head, rows, left=len(head))
    if len(published.batches) > MOST_BATCHES:
        yield md.line(f"And {len(published.batches) - MOST_BATCHES:,} more: data/batches.parquet has all.")


def _files(published: Publication) -> Iterator[tuple[str, str]]:
    yield (
        FILE,
        "the study itself, one SQLite file: Tidepool opens it, and any program that reads SQLite reads its views",
    )
    yield "data/", "every view of it as Parquet"
    yield "report.html, report.md", "what came out, and how it was done"
    if published.study is not None:
        yield "reports/", "the same of every batch"
        yield "study.toml", "the config of the study"
        yield "configs/", "the config of each batch, complete in itself"
    else:
        yield "config.toml", "its config, complete in itself"
    yield "DATA.md", "what every table and column means"
    yield "croissant.json", "the same for machines (Croissant), with checksums"
    yield "CITATION.cff", "how to cite it"


def _tables(published: Publication) -> Iterator[tuple[str, str, str]]:
    for table in published.tables:
        yield table.name, f"{table.rows:,}", table.meaning.replace("`", "")


def _reading(published: Publication) -> str:
    return (
        "```python\n"
        'import pandas; messages = pandas.read_parquet("data/messages.parquet")\n'
        'import polars; messages = polars.read_parquet("data/messages.parquet")\n'
        "import duckdb; duckdb.sql(\"SELECT speaker, count(*) FROM 'data/messages.parquet' GROUP BY speaker\")\n"
        "```\n\n"
        f"`datasette {FILE}` shows the file in a browser, and `tidepool --db {FILE}` opens it in Tidepool."
    )


def _again(published: Publication) -> Iterator[str]:
    of = "The whole study" if published.study is not None else "The batch"
    config = "study.toml" if published.study is not None else "config.toml"
    yield md.line(f"{of} again, with the same config and the same seeds; models that are not simulated answer anew:")
    yield f"```sh\ntidepool --db again.db --run {FILE}#{one_line(published.id)}\ntidepool --db again.db --run {config}\n```"
    yield md.line(
        "Keys are not in here: they are read from the environment. Servers and code that only this file names are asked about first."
    )


def dictionary(published: Publication) -> str:
    intro = (
        "# Tables and columns\n\n"
        f"Each table is a view of `{FILE}` and a file in `data/`. A boolean is 0 or 1 in the file, true or false in Parquet. A moment is a "
        "text such as `2026-01-31T08:15:30.250Z`, in UTC. JSON is a text. `batch_id` joins every table with `batches.id`, "
        "`conversation_id` with `conversations.id`. A column behind those of its view is a factor of the study's design, and in Parquet alone.\n"
    )
    views = [View(table.name, table.meaning, tuple(map(_in_code, table.columns)), "") for table in published.tables]
    return "\n".join((intro, *(line for view in views for line in reference_of(view))))


def _in_code(column: ViewColumn) -> ViewColumn:
    """A factor's name is somebody's own words: nothing in it may end the code span that it stands in, or the cell."""
    return replace(column, name=one_line(column.name).replace("`", "'").replace("|", "\\|"))


def _program() -> str:
    try:
        return version("tidepool-lab")
    except PackageNotFoundError:
        return "unknown"
