"""CITATION.cff: how the study is cited, in the form that repositories and reference managers read."""

from tidepool.engine.publishing.contents import Publication
from tidepool.engine.publishing.yaml import Value, yaml
from tidepool.storage.text import one_line

NOBODY = "The authors of this study"


def citation(published: Publication) -> str:
    about = published.about
    content: dict[str, Value] = {
        "cff-version": "1.2.0",
        "message": "If you use this dataset, please cite it as below.",
        "type": "dataset",
        "title": one_line(about.title),
        "authors": [_author(name) for name in about.authors] or [{"name": NOBODY}],
        "date-released": published.date,
        "identifiers": [{"type": "other", "value": published.id, "description": "Its id in Tidepool's file"}],
        "keywords": published.keywords,
    }
    if about.description:
        content["abstract"] = about.description
    if about.license:
        content |= {"license": about.spdx} if about.spdx else {"license-url": about.license}
    if about.url:
        content["url"] = about.url
    return yaml(content)


def _author(name: str) -> dict[str, Value]:
    family, comma, given = (part.strip() for part in one_line(name).partition(","))
    return {"family-names": family, "given-names": given} if comma and family and given else {"name": one_line(name)}
