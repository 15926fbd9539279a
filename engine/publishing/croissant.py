"""croissant.json: the folder for machines, in the vocabulary by which dataset hubs and loaders know files, tables and columns
(Croissant 1.0 of MLCommons, which is JSON-LD over schema.org)."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any

from tidepool.engine.publishing.citation import NOBODY
from tidepool.engine.publishing.contents import Publication, PublishedTable
from tidepool.storage.text import json_text, one_line, plain
from tidepool.storage.views import ViewColumn

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{
        name: f"cr:{name}"
        for name in (
            "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes isLiveDataset "
            "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
            "subField transform"
        ).split()
    },
}
FORMATS = {
    ".parquet": "application/x-parquet",
    ".db": "application/vnd.sqlite3",
    ".html": "text/html",
    ".md": "text/markdown",
    ".toml": "application/toml",
    ".cff": "application/yaml",
}
TYPES = {"integer": "sc:Integer", "real": "sc:Float", "boolean": "sc:Boolean"}
"""of a column → of a field; JSON and moments are texts in the files"""
MOST_WORDS = 5_000


def croissant(published: Publication, folder: Path, files: Sequence[str]) -> str:
    """`files`: all that lie in the folder, but for this one."""
    about = published.about
    content: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": one_line(about.title),
        "description": plain(_description(published))[:MOST_WORDS],
        "datePublished": published.date,
        "citeAs": one_line(f"{'; '.join(about.authors) or NOBODY} ({published.date[:4]}). {about.title}."),
        "version": "1.0.0",
        "keywords": published.keywords,
        "creator": [{"@type": _kind_of(name), "name": one_line(name)} for name in about.authors],
        "license": about.license_url,
        "url": about.url,
        "isLiveDataset": False,
        "distribution": list(_files(folder, files)),
        "recordSet": [_records(table) for table in published.tables],
    }
    return json_text({key: value for key, value in content.items() if value not in ("", [])}, indent=1) + "\n"


def _description(published: Publication) -> str:
    return " ".join(filter(None, (published.about.description or published.about.title, published.simulated_words)))


def _kind_of(author: str) -> str:
    return "sc:Person" if "," in author else "sc:Organization"


def _files(folder: Path, files: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    for name in files:
        path = folder / name
        with path.open("rb") as stream:
            digest = file_digest(stream, "sha256").hexdigest()
        yield {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "contentSize": f"{path.stat().st_size} B",
            "encodingFormat": FORMATS[path.suffix],
            "sha256": digest,
        }


def _records(table: PublishedTable) -> Mapping[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.meaning,
        "field": [_field(table, column, place) for place, column in enumerate(table.columns, 1)],
    }


def _field(table: PublishedTable, column: ViewColumn, place: int) -> Mapping[str, Any]:
    """A factor's name is somebody's own words: its id is its place."""
    own = column.name if column.name.isidentifier() and column.name.isascii() else f"column_{place}"
    return {
        "@type": "cr:Field",
        "@id": f"{table.name}/{own}",
        "name": one_line(column.name),
        "description": column.meaning,
        "dataType": TYPES.get(column.type, "sc:Text"),
        "source": {"fileObject": {"@id": table.path}, "extract": {"column": column.name}},
    }
