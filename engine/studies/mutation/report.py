"""The report of a mutation: rewards on held-out queries, learning curves, operators; and what a running one shows so far."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.inference.contrasts import SEEDS_FOR_A_VERDICT, TOO_FEW_PAIRS, compared_in_words
from tidepool.engine.reports.blocks import (
    COUNTS,
    Block,
    Cell,
    Estimate,
    Figure,
    Headline,
    Number,
    Series,
    Table,
    Words,
    line,
    table,
    text_of,
)
from tidepool.engine.studies.mutation.statistics import (
    HeldOutRewards,
    MutationStatistics,
    Reward,
    RewardDifference,
    RewardGain,
    UpdateStatistics,
)

MOST_UPDATES = 12
BAND = "The bands are Student's 95 % intervals of the smoothed means, over episodes."
PAIRED = (
    "Differences are taken query by query, with Student's 95 % intervals and tests, and Holm's correction over these "
    "comparisons. They are about this one policy: that its learner does better than another takes at least "
    f"{SEEDS_FOR_A_VERDICT} seeds of each (`tidepool compare`)."
)


def blocks(statistics: Mapping[str, Any]) -> list[Block]:
    stats = MutationStatistics.from_json(statistics)
    return [
        *_heldout(stats),
        Words(
            f"{stats.masked_steps:,} steps masked (their answers were lost), "
            f"{stats.fallback_rewrites:,} rewrites fell back to the query as it was",
            "quiet",
        ),
        *_learning(stats),
        *_operators(stats),
    ]


def figures(statistics: Mapping[str, Any]) -> dict[str, Cell]:
    stats = MutationStatistics.from_json(statistics)
    data: dict[str, Cell] = {}
    if heldout := stats.heldout:
        data |= {
            "policy on held-out queries": _reward(heldout.policy),
            "random on held-out queries": _reward(heldout.random),
            "best constant operator there": _reward(heldout.best_constant),
            **({"unchanged query": _reward(heldout.unchanged)} if heldout.unchanged else {}),
            "policy over random": _gain(heldout.policy_over_random),
            "policy over best constant": _gain(heldout.policy_over_best_constant),
            **{f"policy over {name}": _gain(gain) for name, gain in _further(heldout).items()},
            "held-out queries": heldout.queries,
        }
    data |= {"steps masked": stats.masked_steps, "rewrites that fell back": stats.fallback_rewrites}
    for name, row in stats.operators.items():
        data |= {f"{name}: uses": row.uses, f"{name}: mean reward": Number(row.mean_reward, 3)}
    return data


def _reward(row: Reward) -> Estimate:
    return Estimate(row.mean_reward, row.ci95, 3)


def _gain(row: RewardGain) -> Estimate:
    return Estimate(row.difference, row.ci95, 3, signed=True)


def _further(heldout: HeldOutRewards) -> dict[str, RewardDifference]:
    """Differences beside those that every batch has."""
    return {name: gain for name, gain in (heldout.differences or {}).items() if name not in ("random", "best_constant")}


def _contenders(stats: MutationStatistics, heldout: HeldOutRewards) -> dict[str, tuple[Reward, RewardGain | None]]:
    """Who met the held-out queries, and what the policy gains over each."""
    further = _further(heldout)
    data: dict[str, tuple[Reward, RewardGain | None]] = {
        f"policy ({stats.learner})": (heldout.policy, None),
        "random": (heldout.random, heldout.policy_over_random),
        f"always {heldout.best_constant.operator} (the best)": (
            heldout.best_constant,
            heldout.policy_over_best_constant,
        ),
    }
    if heldout.unchanged:
        data["unchanged query"] = heldout.unchanged, further.get("unchanged")
    return data | {
        name: (heldout.others[name], further.get(name)) for name in stats.baselines if name in heldout.others
    }


def _heldout(stats: MutationStatistics) -> Iterator[Block]:
    if not (heldout := stats.heldout):
        yield Words("not yet compared on held-out queries")
        return
    missing = f", {heldout.missing:,} left out because answers are missing" if heldout.missing else ""
    yield Words(f"on {heldout.queries:,} held-out queries, never trained on{missing} (reward {stats.reward})")
    comparison = f"random play {text_of(_reward(heldout.random))}"
    yield Headline("reward of the policy on held-out queries", _reward(heldout.policy), comparison, "reward")
    contenders = _contenders(stats, heldout)
    rows: list[tuple[Cell, ...]] = [
        (name, _reward(row), _gain(gain) if gain else "") for name, (row, gain) in contenders.items()
    ]
    yield table("reward on held-out queries", ("who", "mean reward (95 %)", "policy gains (95 %)"), rows)
    yield from _verdicts(heldout)
    means, bounds = zip(*((row.mean_reward, row.ci95) for row, _ in contenders.values()), strict=True)
    series = Series("mean reward", means, colour="primary", intervals=bounds)
    yield Figure("means", "mean reward on held-out queries", (series,), labels=tuple(contenders))


def _verdicts(heldout: HeldOutRewards) -> Iterator[Block]:
    """One line a baseline; that the policy was beaten stands out."""
    names = {
        "random": "random play",
        "best_constant": f"always {heldout.best_constant.operator}, picked on these very queries",
        "unchanged": "the unchanged query",
    }
    for name, difference in (heldout.differences or {}).items():
        against = names.get(name, f"the {name} that ran beside it")
        p_value = difference.p_value_holm
        verdict = TOO_FEW_PAIRS if p_value is None else compared_in_words(p_value, difference.difference or 0.0)
        beaten = verdict.startswith("worse")
        text = f"{'beaten: ' if beaten else ''}policy against {against}: {text_of(_gain(difference))}, {verdict}"
        yield Words(text, "warning" if beaten else "plain")
    if heldout.differences:
        yield Words(PAIRED, "quiet")


def _learning(stats: MutationStatistics) -> Iterator[Block]:
    if not (updates := stats.updates):
        return
    baselines = {name: baseline.updates for name, baseline in stats.baselines.items()}
    yield from learning_figures({stats.learner: updates, **baselines})
    last = updates[-1]
    yield Words(
        f"update {last.update}: mean reward {last.mean_reward:.3f}, {100 * last.success_rate:.0f} % of its episodes ended well"
    )
    yield updates_table(updates)


def learning_figures(learners: Mapping[str, Sequence[UpdateStatistics]]) -> Iterator[Figure]:
    """Of the learner, which comes first, and of those that ran beside it."""
    first, *others = learners
    updates = learners[first]
    yield Figure(
        "lines",
        "reward while learning, smoothed",
        (_curve(first, updates, "primary"), *(_curve(name, learners[name]) for name in others)),
        xlabel="answered steps",
        ylabel="mean reward",
        caption=BAND,
    )
    steps, bounds = [update.env_steps for update in updates], [update.success_rate_ci95 for update in updates]
    ended = line("share", steps, [update.success_rate for update in updates], "accent", bounds)
    caption = "The band is Wilson's 95 % interval over the episodes that ended."
    yield Figure("lines", "episodes that end well (share)", (ended,), xlabel="answered steps", caption=caption)


def _curve(name: str, updates: Sequence[UpdateStatistics], colour: str = "") -> Series:
    steps, band = [update.env_steps for update in updates], [update.smoothed_ci95 for update in updates]
    return line(name, steps, [update.smoothed for update in updates], colour, band)


def updates_table(updates: Sequence[UpdateStatistics]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (f"{row.update}", row.env_steps, Number(row.mean_reward, 3), Number(100 * row.success_rate, 0, " %"))
        for row in updates
    ]
    columns = ("update", "answered steps", "mean reward", "episodes that ended well")
    return table("updates", columns, rows, left=0, first=MOST_UPDATES)


def _operators(stats: MutationStatistics) -> Iterator[Block]:
    """How often each operator was played, at first and in the end, and what it brought."""
    total = sum(row.uses for row in stats.operators.values())
    if not total:
        return
    ends = [update.uses or {} for update in (*stats.updates[:1], *stats.updates[-1:])] or [{}, {}]
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            row.uses,
            _percent(row.uses, total),
            *(_percent(uses.get(name, 0), sum(uses.values())) for uses in ends),
            Number(row.mean_reward, 3),
        )
        for name, row in stats.operators.items()
    ]
    yield table("operators", ("operator", "uses", "share", "at first", "at last", "mean reward"), rows)
    series = Series("uses", tuple(float(row.uses) for row in stats.operators.values()))
    title = "how often each operator is used"
    yield Figure("bars", title, (series,), labels=tuple(stats.operators), caption=COUNTS)


def _percent(count: int, total: int) -> Number:
    return Number(100 * count / total if total else None, 0, " %")
