"""The methods text of a batch: paragraphs for a paper, made from the study file alone.

This module writes what all studies have in common: requested and served models, dates, requests, missing data, cost,
version and seed. Each kind describes its design, measures and statistics (`KindMethods`). Pages also have an appendix
with all prompts in full.
"""

import json
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from time import gmtime, strftime
from typing import Any

from tidepool.engine.branching.results import results_of
from tidepool.engine.coding.report import CODES_AS_TRUTH
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.kinds import KINDS, load_kind
from tidepool.engine.reports.blocks import (
    Block,
    Estimate,
    Folded,
    KindMethods,
    Words,
    counted,
    listing,
    money,
    number,
    p_value,
    paragraph,
    text_of,
)
from tidepool.engine.results.simulated_roles import SIMULATED, simulated_parts
from tidepool.engine.runtime.stop_results import stopping_sentences
from tidepool.storage.queries.summary import (
    ModelCalls,
    UsedPrompt,
    distinct_prompts,
    models_used,
    prompts_used,
    transports_used,
)
from tidepool.storage.studies import StoredCell, StoredStudy
from tidepool.storage.text import shortened

MOST_PROMPTS = 200
MOST_FAILURES = 3
MOST_CELLS = 4
"""number of cells, and of models, in the title of a prompt"""
SIMULATED_DATA = (
    "Simulated data: every reply came from Tidepool's simulated provider. No language model was called, so these results are "
    "no evidence about language models."
)

Summary = Mapping[str, Any]


def methods_of(
    connection: sqlite3.Connection, batch: sqlite3.Row, config: StoredConfig, summary: Summary
) -> tuple[Block, ...]:
    """Returns the paragraphs of a batch."""
    digest = sha256(batch["config"].encode("utf-8", "surrogatepass")).hexdigest()
    run_as = f"batch {batch['id']} with seed {batch['seed']}; the SHA-256 of its frozen config is {digest}"
    kind = kind_methods(connection, batch, config, summary["statistics"])
    return method_paragraphs(connection, [batch], summary, kind, run_as)


def kind_methods(
    connection: sqlite3.Connection, batch: sqlite3.Row, config: StoredConfig, statistics: Mapping[str, Any]
) -> KindMethods:
    if batch["kind"] not in KINDS:
        return KindMethods(())
    return results_of(batch).methods(dict(batch), config, statistics, connection)


def method_paragraphs(
    connection: sqlite3.Connection, batches: Sequence[sqlite3.Row], summary: Summary, kind: KindMethods, run_as: str
) -> tuple[Block, ...]:
    """Returns the paragraphs of a batch, or of the batches of a study. A note on simulated replies comes first."""
    numbers = [batch["number"] for batch in batches]
    models = models_used(connection, numbers, branch=any(batch["origin"] is not None for batch in batches))
    name = batches[0]["kind"]
    texts = (
        _simulated(summary["roles"]),
        paragraph(
            (
                *kind.design,
                *_units(summary, load_kind(name).units if name in KINDS else "units"),
                *stopping_sentences(summary["statistics"]),
            )
        ),
        paragraph(_collection(batches, summary, models, transports_used(connection, numbers))),
        paragraph(kind.measures),
        paragraph((*_missing(summary), *kind.missing)),
        paragraph((*kind.analysis, *_drift(summary["statistics"]))) if summary["units"]["completed"] else "",
        paragraph(_coding(summary["statistics"].get("coding"))),
        paragraph(_software(batches[0]["version"], run_as, summary, distinct_prompts(connection, numbers))),
    )
    references = [reference for cited, reference in REFERENCES.items() if any(cited in text for text in texts)]
    shown = (*texts, f"References: {' '.join(references)}" if references else "")
    return tuple(Words(text, "simulated" if position == 0 else "plain") for position, text in enumerate(shown) if text)


def _drift(statistics: Mapping[str, Any]) -> Iterator[str]:
    if run := statistics.get("over_the_run"):
        yield (
            "A change of the main outcome during the run was tested by its correlation with the planned order "
            f"(p = {p_value(run['p_value'])})."
        )


REFERENCES = {
    "Bell and McCaffrey, 2002": "Bell RM, McCaffrey DF (2002) Bias reduction in standard errors for linear regression with multi-stage "
    "samples. Survey Methodology 28:169–181.",
    "Bonett and Price, 2012": "Bonett DG, Price RM (2012) Adjusted Wald confidence interval for a difference of binomial proportions based "
    "on paired data. J Educ Behav Stat 37:479–488.",
    "Chow and Robbins": "Chow YS, Robbins H (1965) On the asymptotic theory of fixed-width sequential confidence intervals for the mean. "
    "Ann Math Stat 36:457–462.",
    "Efron and Stein, 1981": "Efron B, Stein C (1981) The jackknife estimate of variance. Ann Stat 9:586–596.",
    "Holm, 1979": "Holm S (1979) A simple sequentially rejective multiple test procedure. Scand J Stat 6:65–70.",
    "Newcombe, 1998": "Newcombe RG (1998) Interval estimation for the difference between independent proportions. Stat Med 17:873–890.",
    "Wilson, 1927": "Wilson EB (1927) Probable inference, the law of succession, and statistical inference. J Am Stat Assoc 22:209–212.",
    "Zou and Donner, 2008": "Zou GY, Donner A (2008) Construction of confidence limits about effect measures. Stat Med 27:1693–1702.",
}
"""by citation: references that are listed after texts that cite them"""


def prompts_of(connection: sqlite3.Connection, cells: Sequence[StoredCell]) -> list[Block]:
    """Returns the appendix of system prompts in full, the most used first, each with its cells of a study."""
    levels = {cell.batch["number"]: ", ".join(cell.levels.values()) for cell in cells}
    total = distinct_prompts(connection, list(levels))
    if not total:
        return []
    shown = prompts_used(connection, list(levels), MOST_PROMPTS)
    words = (
        f"{counted(total, 'distinct system prompt')}, each with its number of requests. The rest of a request (the conversation "
        "so far, a question, a task) follows from the config and the replies."
    )
    if total > len(shown):
        words += f" The {len(shown):,} most used are given here. The study file has all (table prompt)."
    titles = (_title(position, prompt, levels) for position, prompt in enumerate(shown, 1))
    return [Words(words, "quiet"), *(Folded(title, prompt.text) for title, prompt in zip(titles, shown, strict=True))]


def configs_of(cells: Sequence[StoredCell], study: StoredStudy | None = None) -> list[tuple[str, Any]]:
    """Returns the appendix of configs, by title. The configs of a study differ only in their factors and seeds."""
    config = json.loads(cells[0].batch["config"])
    if study is None:
        return [("Complete config, as stored with the batch", config)]
    return [
        ("Design of the study, with the config as written", study.design),
        (
            f"Complete config of batch {cells[0].batch['id']} ({', '.join(cells[0].levels.values())}). Other cells differ in "
            "their factor levels and seeds",
            config,
        ),
    ]


def _title(position: int, prompt: UsedPrompt, levels: Mapping[int, str]) -> str:
    others = f" and {counted(prompt.speakers - 1, 'other')}" if prompt.speakers > 1 else ""
    speaker_text = f" as {prompt.speaker}{others}" if prompt.speaker else ""
    cells_used = dict.fromkeys(words for number, words in levels.items() if number in prompt.batches)
    where = f" in {listing(cells_used, MOST_CELLS)}" if len(cells_used) < len(set(levels.values())) else ""
    by_model = [f"{calls:,} to {model}" for model, calls in prompt.models.items()]
    models = f" ({listing(by_model, MOST_CELLS)})" if len(by_model) > 1 else f" to {listing(prompt.models)}"
    return f"prompt {position}: {counted(prompt.calls, 'request')}{models}{speaker_text}{where}"


def _simulated(roles: Sequence[Mapping[str, Any]]) -> str:
    simulated, total = sum(role["calls"] for role in roles if role["simulated"]), sum(role["calls"] for role in roles)
    if not simulated:
        return ""
    if simulated == total:
        return SIMULATED_DATA
    return (
        f"Partly simulated data: {counted(simulated, 'request')} of {total:,}, those to the {listing(simulated_parts(roles))}, were "
        "answered by Tidepool's simulated provider, which is not a language model."
    )


def _units(summary: Summary, name: str) -> Iterator[str]:
    units = summary["units"]
    failed = f" and {units['failed']:,} failed" if units["failed"] else ""
    if units["completed"] == units["total"]:
        yield f"All {units['total']:,} {name} were completed."
    else:
        yield f"Of {units['total']:,} {name} planned, {units['completed']:,} were completed{failed}."
    if summary["status"] not in ("completed", "partial", "failed"):
        reason = f" ({summary['reason']})" if summary["reason"] else ""
        noun = "study" if "study_id" in summary else "batch"
        yield f"The {noun} had not ended when this text was made. Its status was {summary['status'].replace('_', ' ')}{reason}."


def _collection(
    batches: Sequence[sqlite3.Row], summary: Summary, models_used: Sequence[ModelCalls], transports: Sequence[str]
) -> Iterator[str]:
    if not models_used:
        return
    served: dict[str, list[str]] = {}
    for entry in summary["served_models"]:
        served.setdefault(entry["model"], []).append(entry["served"])
    models = (
        f"{entry.model} ({counted(entry.calls, 'request')}"
        + (f"; served as {listing(served[entry.model])})" if entry.model in served else ")")
        for entry in models_used
    )
    provider_names = dict.fromkeys(entry.model.partition(":")[0] for entry in models_used)
    providers = listing("the simulated provider" if name == SIMULATED else name for name in provider_names)
    yield f"The models were {listing(models)}."
    if not served and list(provider_names) != [SIMULATED]:
        yield "The providers did not report the versions of the models that replied."
    how = " and ".join(_ROUTES[route] for route in _ROUTES if any(route in entry for entry in transports))
    yield f"Requests went to {providers}{f', {how},' if how else ''} {_when(batches)}."
    if cached := summary["calls"]["cached"]:
        yield f"{counted(cached, 'reply', 'replies')} came from the cache, since the same request had been answered before."


_ROUTES = {"live": "individually", "batch": "through batch APIs"}


def _when(batches: Sequence[sqlite3.Row]) -> str:
    started = _moment(min(batch["created_at"] for batch in batches))
    moments = [batch["finished_at"] for batch in batches]
    if None in moments:
        return f"since {started}"
    ended = _moment(max(moments))
    return f"on {started}" if started == ended else f"between {started} and {ended}"


def _moment(seconds: float) -> str:
    return strftime("%Y-%m-%d %H:%M UTC", gmtime(seconds))


def _missing(summary: Summary) -> Iterator[str]:
    units, calls, replies = summary["units"], summary["calls"], summary["replies"]
    reasons = [
        f"{shortened(str(failure['error']), 200)} ({failure['units'] or failure['calls']:,})"
        for failure in summary["failures"][:MOST_FAILURES]
    ]
    if reasons:
        yield f"Failures had these reasons: {'; '.join(reasons)}."
    problems = [item.format(replies[name]) for name, item in ODD.items() if replies[name]]
    if calls["failed"]:
        problems.insert(0, f"{calls['failed']:,} failed after all retries")
    if problems:
        yield f"Of {counted(calls['total'], 'request')}, {listing(problems)}."
    elif not units["failed"]:
        yield "Every request got a usable reply, and no reply was cut at its length limit."


ODD = {
    "unusable": "{:,} without a usable reply at first, possibly billed",
    "cut": "{:,} cut at their length limit",
    "usage_missing": "{:,} without token counts (maximum assumed)",
}
"""descriptions of replies with a problem"""


def _coding(coding: Any) -> Iterator[str]:
    """Describes hand coding: the sample, the agreement of coders, and the corrected rates."""
    for unit, coded in (coding or {}).items():
        coders = list(coded["coders"])
        yield (
            f"A sample of {coded['sample']:,} {unit} was drawn, stratified by the verdicts of the {coded['instrument']}. "
            f"{counted(len(coders), 'coder')} ({listing(coders)}) coded {coded['coded']:,} of them by hand, blind to the "
            f"verdicts. {coded['unclear']:,} with an unclear code, or with a tie between coders, "
            f"{'was' if coded['unclear'] == 1 else 'were'} excluded."
        )
        for pair in coded["agreement"]:
            if pair["kappa"] is not None:
                yield f"Cohen's κ of {listing(pair['coders'])} was {pair['kappa']:.2f} over {pair['both']:,} {unit}."
        accuracies = [
            f"{name}: sensitivity {row['sensitivity_percentage']:.1f} %, specificity {row['specificity_percentage']:.1f} %"
            for name, row in (coded.get("instruments") or {}).items()
            if None not in (row["sensitivity_percentage"], row["specificity_percentage"])
        ]
        if accuracies:
            yield f"Accuracy of the instruments, compared with the codes and weighted to represent the whole batch: {'; '.join(accuracies)}."
        if (rate := coded.get("corrected")) and rate["corrected_percentage"] is not None:
            yield (
                f"By the verdicts of the {coded['instrument']}, {_share(rate, 'raw')} of {unit} revealed. Corrected by the codes and "
                f"post-stratified on these verdicts, the rate is {_share(rate, 'corrected')}, with a MOVER interval (Zou and Donner, 2008)."
            )
            yield CODES_AS_TRUTH


def _share(row: Mapping[str, Any], name: str) -> str:
    return text_of(Estimate(row[f"{name}_percentage"], row[f"{name}_ci95"], 1, " %"))


def _software(version: str, run_as: str, summary: Summary, prompts: int) -> Iterator[str]:
    tokens, unpriced = summary["tokens"], summary["cost_usd"] is None
    yield f"The study was run with Tidepool {version} as {run_as}."
    cost = "The cost is unknown" if unpriced else f"The cost was {money(summary['cost_usd'])}"
    yield f"It used {number(tokens['input'], 0)} input tokens and {number(tokens['output'], 0)} output tokens. {cost}."
    if prompts:
        yield f"The {counted(prompts, 'distinct system prompt')} {'is' if prompts == 1 else 'are'} given in an appendix."
    yield f"This text was made from the study file with Python {sys.version.split()[0]}."
