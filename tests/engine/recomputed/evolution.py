"""The statistics of an evolution from answers.csv and genomes.csv.

No CSV file says which prompt is which finalist. The best seed prompt came about as a seed; a prompt of the random search does
not stand in genomes.csv; the one that is left is the champion.
"""

from typing import Any

import pandas
from statsmodels.stats.proportion import proportion_confint

from tests.engine.recomputed.estimators import FEWEST, LEVEL, correct, paired
from tests.engine.recomputed.studies import Published

SEARCH, HELD_OUT = "search", "judge"


def missing(answers: pandas.DataFrame) -> float:
    """The share of calls that did not come back."""
    return float(answers["reply"].isna().mean())


def recomputed(published: Published) -> dict[str, Any]:
    folder = published.folder
    genomes = pandas.read_csv(folder / "genomes.csv").set_index("genome_id")
    answers = pandas.read_csv(folder / "answers.csv")
    held_out, search = (answers[answers["split"] == split] for split in (HELD_OUT, SEARCH))
    roles = finalists(held_out, genomes)
    scores, *ends = (
        {role: by_problem(held_out, name, unclear) for role, name in roles.items()} for unclear in (None, 0.0, 1.0)
    )
    rows = {role: portrait(answers[answers["genome_id"] == name], genomes, name) for role, name in roles.items()}
    rows["random_search"] |= difference(scores, ends, "random_search")
    tests = [difference(scores, ends, "baseline"), rows["random_search"]]
    correct(tests)
    against = [{"p_value": row.pop("p_value_bounded")} for row in tests]
    correct(against)
    for row, bounded in zip(tests, against, strict=True):
        row["better"] = winner(row["difference"], bounded["p_value_holm"])
    gaps = (scores["champion"] - scores["baseline"]).dropna()
    bred = search[search["genome_id"].isin(genomes.index)]
    return {
        **rows,
        **tests[0],
        "won": list(gaps.index[gaps > 0]),
        "lost": list(gaps.index[gaps < 0]),
        "genomes": {"total": len(genomes), "distinct_prompts": genomes["prompt"].nunique(), "missing": missing(bred)},
    }


def finalists(held_out: pandas.DataFrame, genomes: pandas.DataFrame) -> dict[str, str]:
    """Role → genome."""
    names = list(held_out["genome_id"].unique())
    (by_chance,) = (name for name in names if name not in genomes.index)
    searched = [name for name in names if name in genomes.index]
    (seed,) = (name for name in searched if genomes.loc[name, "operator"] == "seed")
    champion = next((name for name in searched if name != seed), seed)
    return {"champion": champion, "baseline": seed, "random_search": by_chance}


def training_scores(search: pandas.DataFrame) -> pandas.Series:
    """Of replies that came back; one without a mark counts as not right."""
    return search.loc[search["reply"].notna(), "score"].fillna(0.0)


def by_problem(held_out: pandas.DataFrame, genome: str, unclear: float | None = None) -> pandas.Series:
    """The score of the reply to each problem; `unclear` is that of replies without a readable answer, which else do not count."""
    own = held_out[(held_out["genome_id"] == genome) & held_out["reply"].notna()].set_index("problem")
    scores = own["score"].where(own["correct"].notna())
    return scores.dropna() if unclear is None else scores.fillna(unclear)


def portrait(answers: pandas.DataFrame, genomes: pandas.DataFrame, name: str) -> dict[str, Any]:
    """Of the answers of one prompt, in training and held out."""
    search, held_out = (answers[answers["split"] == split] for split in (SEARCH, HELD_OUT))
    came_back = training_scores(search)
    trained = {"accuracy": float(came_back.mean()), "missing": missing(search)}
    row = {
        "genome_id": name,
        "generation": int(search["generation"].min()),
        **accuracy(held_out),
        **trained,
        "components": {**trained, "replies": len(came_back)},
        "models": {model: by_model(own, held_out) for model, own in search.groupby("model")},
    }
    if name in genomes.index:
        own = genomes.loc[name]
        row |= {column: own[column] for column in ("prompt", "operator", "fitness")}
        row["components"] |= {"total": own["fitness"], "words": len(own["prompt"].split())}
        for model in row["models"].values():
            model["fitness"] = own["fitness"]
    return row


def by_model(search: pandas.DataFrame, held_out: pandas.DataFrame) -> dict[str, Any]:
    held = accuracy(held_out[held_out["model"] == search["model"].iloc[0]])
    names = ("validation_accuracy", "validation_ci95")
    return {"accuracy": float(training_scores(search).mean()), **{name: held[name] for name in names}}


def accuracy(answers: pandas.DataFrame) -> dict[str, Any]:
    """Of one reply to each problem; with bounds, in which all replies without a readable answer are wrong, or right."""
    came_back = answers[answers["reply"].notna()]
    scores = came_back["score"].where(came_back["correct"].notna())
    known = scores.dropna()
    return {
        "validation_accuracy": float(known.mean()),
        "validation_ci95": proportion_confint(known.sum(), len(known), alpha=1 - LEVEL, method="wilson"),
        "validation_problems": len(known),
        "validation_missing": missing(answers),
        "unclear": float(scores.isna().mean()),
        "accuracy_bounds": [float(scores.fillna(share).mean()) for share in (0.0, 1.0)],
    }


Scores = dict[str, pandas.Series]
"""by role, of each problem"""


def difference(scores: Scores, ends: list[Scores], other: str) -> dict[str, Any]:
    """Problem by problem, of those that both answered. Bounds: with all unclear replies of the champion wrong and those of the
    other right, and the other way."""
    found = paired((scores["champion"] - scores[other]).dropna())
    worst, best = ends
    lowest, highest = (
        paired((ours["champion"] - theirs[other]).dropna()) for ours, theirs in ((worst, best), (best, worst))
    )
    p_value = found.p_value if found.clusters >= FEWEST["pairs"] else None
    against = lowest if found.difference > 0 else highest
    reversible = against.difference * found.difference <= 0
    return {
        "p_value_bounded": p_value and (1.0 if reversible else max(p_value, against.p_value)),
        "difference_bounds": [lowest.difference, highest.difference],
        "difference": found.difference,
        "difference_ci95": found.interval,
        "p_value": p_value,
        "pairs": found.clusters,
    }


def winner(gain: float, bounded: float | None) -> str | None:
    """By the largest p-value that unclear replies allow, corrected."""
    if bounded is None or bounded > 1 - LEVEL:
        return None
    return "champion" if gain > 0 else "baseline"
