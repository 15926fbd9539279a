"""The results of query mutation: statistics, report and methods of a batch, and the comparison of several batches.

Batches with the same seed and queries hold out the same queries, so policies are compared query by query. Queries that only
one of them held out are ignored. Runs of one config over several seeds are compared seed by seed.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.contrasts import (
    SEEDS_FOR_A_VERDICT,
    TOO_FEW_PAIRS,
    compared_in_words,
    few_clusters,
    of_pairs,
)
from tidepool.engine.inference.grouped import numpy
from tidepool.engine.inference.intervals import UNIT
from tidepool.engine.inference.measures import BatchValues, Outcome, Sections, number
from tidepool.engine.inference.significance import pairwise
from tidepool.engine.reports.blocks import (
    Block,
    Cell,
    Estimate,
    Figure,
    Headline,
    KindMethods,
    Number,
    PValue,
    Words,
    counted,
    line,
    listing,
    p_value,
    sampling,
    section,
    series_of,
    table,
    tested,
    text_of,
)
from tidepool.engine.reports.seeds import BAND, RunRead, Runs, Score, blocks_over_seeds, groups_of, seed_differences
from tidepool.engine.studies.results import Batch, Exporter, Results, Statistics
from tidepool.storage.queries.learning import training_updates
from tidepool.storage.queries.summary import finding
from tidepool.storage.transfer.tables import ExportContents, steps_table

POLICY = "policy"
REWARD = "held-out reward"
REWARDS = "heldout_rewards"
"""the name under which the file has the policy's mean reward on each held-out query, by the query's fingerprint"""
SMOOTHING = 0.3
"""weight of the newest point in a smoothed curve"""
PAIRED = (
    "Gains are exploratory and computed query by query, with Holm's correction over this table. The best operator was selected on the same queries. "
    f"To compare learners instead of policies, run {SEEDS_FOR_A_VERDICT} seeds of each (`tidepool compare`)."
)
LEARNERS = {
    "bandit": "a contextual bandit",
    "ppo": "proximal policy optimisation (PPO)",
    "random": "a policy that chooses at random",
}
REWARDED = {
    "keyword": "by its words (0 for a refusal, else by its number of different content words)",
    "similarity": "by the cosine similarity of its embedding with that of the reference answer, at least 0",
    "judge": "by {judge}, which saw the question, the reference and the answer",
}
HELD_OUT = (
    "On queries held out from training, these contenders had episodes under the same rules: the policy, a random policy, each operator played "
    "constantly, the unchanged query, and other learners if there were any. The score of a query is the mean reward of its episodes. Means have "
    "Student's 95 % intervals over queries. Gains of the policy over random play, the best constant operator, the unchanged query and other learners "
    "were computed query by query, with Student's 95 % intervals and two-sided tests (if few queries differed, those of Bonett and Price, 2012), "
    "corrected as one exploratory family (Holm, 1979). They describe these policies on queries like these. The best constant operator was "
    "selected on the same queries, which favours it. If it was ahead, its p-value was multiplied by the number of operators."
)
ESTIMAND = "these policies on queries like these"
CURVES = "Rewards during learning are smoothed exponentially (weight 0.3 for the newest update)."


class MutationResults(Results):
    contents = ExportContents(
        views=("messages", "training"), beside_units=("training",), tables=(steps_table,), details="episode"
    )

    def measures(self, sections: Sections) -> list[Outcome]:
        words = "mean reward of the policy on held-out queries"
        return [Outcome(name=REWARD, words=words, bounds=UNIT, per_talk=False, also=("reward",), digits=3)]

    def values(self, connection: sqlite3.Connection, batch: Batch, sections: Sections) -> BatchValues:
        heldout: Mapping[str, Any] = finding(connection, batch["number"], "heldout") or {}
        return BatchValues(of_batch={REWARD: number((heldout.get(POLICY) or {}).get("mean_reward"))})

    def statistics(self, connection: sqlite3.Connection, batch: Batch, config: StoredConfig) -> dict[str, Any]:
        batch_number, settings = batch["number"], config.sections["mutation"]
        training, heldout = (finding(connection, batch_number, name) or {} for name in ("training", "heldout"))
        losses = {"training": training.get("losses", {}), "heldout": heldout.pop("losses", {})}
        baselines = training.get("baselines", {})
        losses.update((name, baseline.pop("losses")) for name, baseline in baselines.items())
        heldout_operators = heldout.pop("operators", None)
        unused = {name: {"uses": 0, "mean_reward": None} for name in settings["operators"]}
        return {
            "learner": "policy" if settings["policy_content"] else settings["learner"],
            "reward": settings["reward"],
            "updates": _smooth(_updates(connection, batch_number)),
            "operators": training.get("operators") or heldout_operators or unused,
            "heldout_operators": heldout_operators or unused,
            "baselines": {name: {**entry, "updates": _smooth(entry["updates"])} for name, entry in baselines.items()},
            "heldout": heldout,
            "masked_steps": sum(loss.get("masked_steps", 0) for loss in losses.values()),
            "fallback_rewrites": sum(loss.get("fallback_rewrites", 0) for loss in losses.values()),
            "phases": losses,
        }

    def estimand(self, statistics: Statistics) -> str:
        return ESTIMAND

    def blocks(self, statistics: Statistics) -> list[Block]:
        return [
            *_heldout(statistics),
            *_lost(statistics),
            *section("learning", *_learning(statistics)),
            *section("operators", *_operators(statistics)),
        ]

    def headline(self, statistics: Statistics) -> Headline | None:
        updates = statistics["updates"]
        if (held_out := super().headline(statistics)) or not updates:
            return held_out
        last = updates[-1]
        reward = Number(last["smoothed"], 3)
        return Headline("training reward", reward, f"{last['env_steps']:,} steps, update {last['update']:,}")

    def figures(self, statistics: Statistics) -> dict[str, Cell]:
        data: dict[str, Cell] = {}
        if heldout := statistics["heldout"]:
            names = {"best_constant": "best constant", "unchanged": "unchanged query"}
            data = {
                "policy on held-out queries": _reward(heldout["policy"]),
                "random on held-out queries": _reward(heldout["random"]),
                "best constant operator on held-out queries": _reward(heldout["best_constant"]),
                "unchanged held-out queries": _reward(heldout["unchanged"]),
                **{f"policy over {names.get(name, name)}": _gain(one) for name, one in heldout["differences"].items()},
                "held-out queries": heldout["queries"],
            }
        data |= {"steps masked": statistics["masked_steps"], "failed rewrites": statistics["fallback_rewrites"]}
        for name, row in statistics["operators"].items():
            data |= {f"{name}: uses": row["uses"], f"{name}: mean reward": Number(row["mean_reward"], 3)}
        return data

    def differences(self, connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
        groups = groups_of(connection, batches, RUNS)
        if len(groups) < len(batches):
            return seed_differences(groups, RUNS)
        rewards = [finding(connection, batch["number"], REWARDS) or {} for batch in batches]
        measure = "reward of the policy on a held-out query"
        return pairwise([batch["id"] for batch in batches], rewards, compared, measure)

    def compared(self, batches: Sequence[Statistics], differences: Sequence[Statistics]) -> list[Block]:
        return blocks_over_seeds(batches, differences, RUNS)

    def methods(
        self, batch: Batch, config: StoredConfig, statistics: Statistics, connection: sqlite3.Connection
    ) -> KindMethods:
        settings = config.sections["mutation"]
        reward = REWARDED.get(settings["reward"], settings["reward"]).format(judge=settings["judge"])
        return KindMethods(
            design=tuple(_design(settings, listing(statistics["operators"]))),
            measures=(f"An answer was rewarded between 0 and 1 {reward}.",),
            missing=tuple(_missing(settings, statistics)),
            analysis=(HELD_OUT, *(() if settings.get("policy_content") else (CURVES,))),
        )

    def formats(self) -> Mapping[str, Exporter]:
        from tidepool.engine.studies.mutation.policy import export_policy

        return {"policy": export_policy}


def _updates(connection: sqlite3.Connection, batch_number: int) -> Iterator[dict[str, Any]]:
    for row in training_updates(connection, batch_number):
        columns = {name: row[name] for name in ("env_steps", "mean_reward", "success_rate")}
        yield {"update": row["update_number"], **columns, **json.loads(row["details"] or "{}")}


def _smooth(updates: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns each update with the running mean of the rewards so far, weighted to the newest."""
    level, rows = None, []
    for update in updates:
        reward = update["mean_reward"]
        level = reward if level is None else level + SMOOTHING * (reward - level)
        rows.append({**update, "smoothed": level})
    return rows


# -- report ------------------------------------------------------------------------------------------------------


def _reward(row: Mapping[str, Any]) -> Estimate:
    return Estimate(row["mean_reward"], row["ci95"] and tuple(row["ci95"]), 3)


def _gain(row: Mapping[str, Any]) -> Estimate:
    return Estimate(row["difference"], row["ci95"] and tuple(row["ci95"]), 3, signed=True)


def _heldout(statistics: Statistics) -> Iterator[Block]:
    if not (heldout := statistics["heldout"]):
        yield Words("The comparison on held-out queries is not done yet.")
        return
    missing = f", {heldout['missing']:,} left out for missing answers" if heldout["missing"] else ""
    words = f"n = {heldout['queries']:,} queries{missing}; reward: {statistics['reward']}"
    yield Headline("reward of the policy on held-out queries", _reward(heldout["policy"]), words, "reward")
    if gain := heldout["differences"].get("unchanged"):
        p_value = gain["p_value_holm"]
        chance = "" if p_value is None else f", {tested(p_value, p_value)}"
        yield Words(f"Gain over the unchanged query: {text_of(_gain(gain))}{chance}.", "finding")
    beside = {name: heldout["others"][name] for name in statistics["baselines"] if name in heldout["others"]}
    contenders: dict[str, tuple[str, Mapping[str, Any]]] = {
        POLICY: (f"policy ({statistics['learner']})", heldout["policy"]),
        "random": ("random", heldout["random"]),
        "best_constant": (f"always {heldout['best_constant']['operator']} (the best)", heldout["best_constant"]),
        "unchanged": ("unchanged query", heldout["unchanged"]),
        **{name: (name, row) for name, row in beside.items()},
    }
    gains = {name: (_gain(row), PValue(row["p_value_holm"])) for name, row in heldout["differences"].items()}
    rows: list[tuple[Cell, ...]] = [
        (words, _reward(row), *gains.get(name, ("", ""))) for name, (words, row) in contenders.items()
    ]
    yield table("reward on held-out queries", ("who", "mean (95 %)", "policy gains (95 %)", "p (Holm)"), rows)
    yield from _beaten(heldout["differences"], contenders)
    if gains:
        yield Words(PAIRED, "quiet")
    labels, shown = zip(*contenders.values(), strict=True)
    series = series_of("mean reward", list(map(_reward, shown)), "primary")
    yield Figure("means", "mean reward on held-out queries", (series,), labels=labels)


def _beaten(
    differences: Mapping[str, Mapping[str, Any]], contenders: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> Iterator[Words]:
    """Yields a warning for each contender that is better than the policy."""
    if any(row["p_value_holm"] is None for row in differences.values()):
        yield Words(f"Gains without a p-value: {TOO_FEW_PAIRS}.", "warning")
    for name, row in differences.items():
        if row["p_value_holm"] is not None:
            verdict = compared_in_words(row["p_value_holm"], row["difference"] or 0.0)
            if verdict.startswith("worse"):
                rival = contenders[name][0] if name in contenders else name
                gain = f"{text_of(_gain(row))}, p = {p_value(row['p_value_holm'])} (Holm)"
                yield Words(f'The policy has a lower mean reward than "{rival}": {gain}.', "warning")


def _lost(statistics: Statistics) -> Iterator[Words]:
    if masked := statistics["masked_steps"]:
        yield Words(f"Left out of training: {counted(masked, 'step')} without an answer.", "quiet")
    if fallen := statistics["fallback_rewrites"]:
        yield Words(f"{counted(fallen, 'rewrite')} had no readable query, so the query stayed unchanged.", "quiet")


def _learning(statistics: Statistics) -> Iterator[Block]:
    if not (updates := statistics["updates"]):
        return
    rivals = {name: one["updates"] for name, one in statistics["baselines"].items()}
    curves = tuple(
        line(
            name,
            [row["env_steps"] for row in rows],
            [row["smoothed"] for row in rows],
            "primary" if rows is updates else "",
        )
        for name, rows in {statistics["learner"]: updates, **rivals}.items()
    )
    caption = "Running means in training, without intervals."
    title, steps = "reward while learning, smoothed", "answered steps"
    yield Figure("lines", title, curves, xlabel=steps, ylabel="mean reward", caption=caption)


def _operators(statistics: Statistics) -> Iterator[Block]:
    """Yields a table of the operators: uses, share of the first and last update, and mean reward."""
    operators, updates = statistics["operators"], statistics["updates"]
    if not any(row["uses"] for row in operators.values()):
        return
    ends = [update["uses"] for update in (*updates[:1], *updates[-1:])] or [{}, {}]
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            row["uses"],
            *(_percent(uses.get(name, 0), sum(uses.values())) for uses in ends),
            Number(row["mean_reward"], 3),
        )
        for name, row in operators.items()
    ]
    yield table("operators", ("operator", "uses", "share at start", "at end", "mean reward"), rows)


def _percent(count: int, total: int) -> Number:
    return Number(100 * count / total if total else None, 0, " %")


# -- methods -----------------------------------------------------------------------------------------------------


def _design(settings: Mapping[str, Any], operators: str) -> Iterator[str]:
    yield (
        f"In each step of an episode, {settings['mutator']} applied one of the operators {operators} to a query. Then "
        f"{settings['target']} answered the resulting query. Both used {sampling(settings, 'an answer')}."
    )
    length = counted(settings["episode_length"], "step")
    yield f"An episode ended after {length}, or with a reward of at least {settings['success']:g}."
    seen = "hashed words" if settings["encoder"] == "hashing" else f"embeddings by {settings['encoder']}"
    if settings.get("policy_content"):
        yield f"A previously trained policy was evaluated. It received queries as {seen}."
    else:
        yield (
            f"The operator was chosen by {LEARNERS.get(settings['learner'], settings['learner'])}, trained over "
            f"{settings['num_env_steps']:,} answered steps in {counted(settings['num_processes'], 'parallel environment')}, with an "
            f"update every {settings['num_processes'] * settings['num_steps']:,} steps. It received queries as {seen}."
        )
        if settings["learner"] == "ppo":
            yield (
                f"PPO used learning rate {settings['learning_rate']:g}, γ {settings['gamma']:g}, λ {settings['gae_lambda']:g}, clip "
                f"{settings['clip']:g}, entropy {settings['entropy']:g}, {counted(settings['ppo_epoch'], 'epoch')} and "
                f"{counted(settings['num_mini_batch'], 'minibatch', 'minibatches')} per update."
            )
    number = len(settings.get("query_list") or ())
    origin = "the built-in set" if settings["queries"] == "builtin" else "a file"
    yield (
        f"Of {f'{number:,} ' if number else ''}queries of {origin}, a share of {settings['heldout']:g} was held out, drawn by the seed. "
        f"Each contender played {counted(settings['repeats'], 'episode')} on each of them."
    )


def _missing(settings: Mapping[str, Any], statistics: Mapping[str, Any]) -> Iterator[str]:
    masked, fallen = statistics["masked_steps"], statistics["fallback_rewrites"]
    if settings.get("on_error") == "refusal":
        yield "A step without an answer counted as a refusal, with a reward of 0."
    elif masked:
        yield f"{counted(masked, 'step')} without an answer {'was' if masked == 1 else 'were'} masked, and the episode ended before it."
    if fallen:
        yield f"{counted(fallen, 'rewrite')} had no readable query, so the query stayed unchanged."
    if lost := (statistics.get("heldout") or {}).get("missing"):
        yield f"{counted(lost, 'held-out query', 'held-out queries')} without an answer for every contender {'was' if lost == 1 else 'were'} left out."


# -- several batches ---------------------------------------------------------------------------------------------


def _values(connection: sqlite3.Connection, batch: sqlite3.Row) -> Iterator[tuple[str, Score]]:
    heldout: Mapping[str, Any] = finding(connection, batch["number"], "heldout") or {}
    learned = {name: row for name, row in heldout.get("others", {}).items() if name == "bandit"}
    data = {name: heldout.get(name) for name in (POLICY, "random", "best_constant", "unchanged")} | learned
    return ((name, Score(row["mean_reward"])) for name, row in data.items() if row and row["mean_reward"] is not None)


def _held_out(connection: sqlite3.Connection, batch: sqlite3.Row) -> frozenset[str]:
    return frozenset(finding(connection, batch["number"], REWARDS) or ())


def _of_run(statistics: Mapping[str, Any]) -> RunRead:
    heldout = statistics["heldout"]
    reward = heldout["policy"]["mean_reward"] if heldout else None
    return RunRead(reward, {row["env_steps"]: row["smoothed"] for row in statistics["updates"]})


RUNS = Runs(
    section="mutation",
    main=POLICY,
    measure="mean reward of a run's policy on held-out queries",
    called_by="learner",
    values=_values,
    held_out=_held_out,
    read=_of_run,
    title="policies on held-out queries, over seeds",
    unit="mean reward",
    noun="queries",
    curves=Figure(
        "lines",
        "reward while learning, over seeds",
        (),
        xlabel="answered steps",
        ylabel="mean reward",
        caption=f"Smoothed. {BAND}",
    ),
    baselines={
        "random": "random play",
        "best_constant": "the best constant operator",
        "unchanged": "the unchanged query",
    },
    flattered=("best_constant",),
    bulky=("query_list", "policy_content"),
)


def compared(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, Any] | None:
    """Compares two batches query by query. Returns None if they have fewer than two answered queries in common."""
    gain = of_pairs(numpy.array([first[query] - second[query] for query in first if query in second]))
    if gain is None or gain.clusters < 2:
        return None
    note = few_clusters(gain.clusters, "queries")
    return {"paired": True, "queries": gain.clusters, **gain.as_json(), "estimand": ESTIMAND, "note": note}
