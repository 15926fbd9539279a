"""What a report is made of: plain data that the terminal, the app, an HTML page and Markdown each draw in their own way.

A kind of study makes one list of blocks from its statistics, so whatever one of the four shows, all show. How numbers are
written, and which colour and glyph each participant has, is decided here too. Blocks cross to other processes as JSON.

Colours are Okabe and Ito's, which people who confuse red and green tell apart; seven colours and ten glyphs make seventy
marks. Sentences about methods are read from the frozen config as the file keeps it: it may be of an older version or of
somebody else, so what is not there is not said.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal

# -- numbers in words --------------------------------------------------------------------------------------------------


UNKNOWN = "–"


def number(value: float | None, digits: int = 1, unit: str = "", *, signed: bool = False) -> str:
    return UNKNOWN if value is None else f"{value:{'+' if signed else ''},.{digits}f}{unit}"


def digits_of(bounds: Sequence[float] | None, otherwise: int = 1) -> int:
    """The decimals of a number and of its interval: two significant digits of the interval's width.

    `otherwise` is for numbers without an interval, or with one of no width.
    """
    width = bounds[1] - bounds[0] if bounds else 0.0
    if not 1e-9 < width < math.inf:
        return otherwise
    return max(0, 1 - int(f"{width:.1e}".partition("e")[2]))


def interval(bounds: Sequence[float] | None, otherwise: int = 1, *, signed: bool = False) -> str:
    if not bounds:
        return UNKNOWN
    low, high = (number(bound, digits_of(bounds, otherwise), signed=signed) for bound in bounds)
    return f"{low} to {high}" if signed or bounds[0] < 0 else f"{low}–{high}"


def p_value(value: float | None) -> str:
    return UNKNOWN if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def tested(value: float, corrected: float | None) -> str:
    """Of a text: p = 0.012 (0.036 with Holm's correction)."""
    text = f"p {'' if value < 0.001 else '= '}{p_value(value)}"
    return text if p_value(corrected) == p_value(value) else f"{text} ({p_value(corrected)} with Holm's correction)"


def format_outcome(outcome: Mapping[str, Any]) -> str:
    """What a side of a secret game came to."""
    where = f"in message {outcome['turn']} ({outcome['detector']})"
    if outcome["revealed"]:
        return f"revealed {where}"
    return (
        f"may have revealed {where}, which is an ordinary word as well" if outcome["uncertain"] else "kept the secret"
    )


def units_in_words(units: str) -> str:
    """What clusters and blocks are called where people read it."""
    return units.replace("talks", "conversations")


def more(count: int) -> str:
    return f"… and {count:,} more"


def money(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:,.4f}"


def requests(total: int, bought: int, cached: int, failed: int = 0, **more: int) -> str:
    """500 requests: 480 new, 20 from cache; 3 billed again. New, cached and failed requests add up to the total; the rest are
    attempts that were paid for beyond one for each new reply."""
    new = total - cached - failed
    parts = f"{new:,} new, {cached:,} from cache" + (f", {failed:,} failed" if failed else "")
    rest = {"unused attempts billed" if failed else "billed again": bought - new, **more}
    others = ", ".join(f"{count:,} {name}" for name, count in rest.items() if count > 0)
    return f"{total:,} request{'s' * (total != 1)}: {parts}{f'; {others}' if others else ''}"


def span(seconds: float) -> str:
    """A length of time in two words at most: 850 ms, 12.3 s, 4 min 05 s, 2 h 10 min, 3 d 4 h."""
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60):02} s"
    if seconds < 86_400:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02} min"
    return f"{int(seconds // 86_400)} d {int(seconds % 86_400 // 3600)} h"


def in_flight(mean: float | None) -> str:
    """How many calls were at a provider at once, on average; nothing where calls took next to no time."""
    return f", mean {mean:,.1f} in flight" if mean is not None and mean >= 1 else ""


# -- colours and glyphs ------------------------------------------------------------------------------------------------


Colour = tuple[int, int, int]

INKS: tuple[Colour, ...] = (
    (0, 114, 178),  # blue
    (230, 159, 0),  # orange
    (0, 158, 115),  # green
    (204, 121, 167),  # purple
    (213, 94, 0),  # vermilion
    (86, 180, 233),  # sky
    (150, 130, 40),  # olive, in the place of yellow, which a white page swallows
)
GLYPHS = "●■▲◆▼○□△◇▽"
CONTRAST = 4.5
"""of text on its ground, as WCAG asks for"""


def places_of(names: Iterable[str]) -> dict[str, int]:
    """By name, as statistics have them: who is best, or speaks first, changes nothing."""
    return {name: place for place, name in enumerate(sorted(set(names)))}


def glyph_of(place: int) -> str:
    return GLYPHS[place % len(GLYPHS)]


def ink_of(place: int, ground: Colour) -> Colour:
    return readable(INKS[place % len(INKS)], ground)


def readable(ink: Colour, ground: Colour, contrast: float = CONTRAST) -> Colour:
    """The ink itself where it stands out from its ground, else as much lighter or darker as it needs."""
    target = 255 if luminance(ground) < 0.18 else 0
    for part in range(21):
        mixed = _mixed(ink, target, part / 20)
        if contrast_of(mixed, ground) >= contrast:
            return mixed
    return _mixed(ink, target, 1.0)


def _mixed(ink: Colour, target: int, share: float) -> Colour:
    red, green, blue = (round(part + (target - part) * share) for part in ink)
    return red, green, blue


def contrast_of(first: Colour, second: Colour) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: Colour) -> float:
    red, green, blue = (
        (c / 12.92) if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (p / 255 for p in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def as_hex(colour: Colour) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)


Interval = tuple[float, float]
Level = Literal["plain", "strong", "finding", "quiet", "simulated", "warning", "quoted", "tree", "section"]
"""finding: a main result; quoted: foreign text with its own line breaks; tree: never wrapped; section: the name of the section that
begins here, which is not shown"""

# -- cells ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    value: float | None
    digits: int = 1
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval at 95 %, whose width rules the digits of all three."""

    value: float | None
    interval: Interval | None = None
    digits: int = 1
    """without an interval"""
    unit: str = ""
    signed: bool = False

    @property
    def value_text(self) -> str:
        """Without the interval."""
        return number(self.value, digits_of(self.interval, self.digits), self.unit, signed=self.signed)


def ends_of(bounds: Sequence[float] | None, scale: float = 1.0) -> Interval | None:
    """An interval as JSON has it."""
    return (scale * bounds[0], scale * bounds[1]) if bounds else None


@dataclass(frozen=True, slots=True)
class PValue:
    value: float | None


@dataclass(frozen=True, slots=True)
class Named:
    """Somebody who takes part, with the colour and the glyph of their place among all (`marks`)."""

    name: str
    place: int


Cell = str | int | Number | Estimate | PValue | Named
"""words, a count, or a number that knows its digits; a number that is None is not known"""


def text_of(cell: Cell) -> str:
    match cell:
        case int():
            return f"{cell:,}"
        case Number(value, digits, unit):
            return number(value, digits, unit)
        case Estimate(value, bounds, digits, _, signed):
            known = value is not None and bounds is not None
            return f"{cell.value_text} ({interval(bounds, digits, signed=signed)})" if known else cell.value_text
        case PValue(value):
            return p_value(value)
        case Named(name, place):
            return f"{glyph_of(place)} {name}"
    return cell


# -- blocks --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Words:
    text: str
    level: Level = "plain"


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure that stands for much of the study, with a few words on it."""

    name: str
    figure: Cell
    words: str = ""
    short: str = ""
    """its name in a word or two, for a line of a list"""

    @property
    def brief(self) -> str:
        """Without the interval."""
        value = self.figure.value_text if isinstance(self.figure, Estimate) else text_of(self.figure)
        name = self.short or self.name
        return f"{value} {name}" if value.endswith("%") else f"{name} {value}"

    @property
    def text(self) -> str:
        return f"{self.name}: {text_of(self.figure)}" + (f", {self.words}" if self.words else "")


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    """all empty: rows are facts, each with its name first"""
    rows: tuple[tuple[Cell, ...], ...]
    left: int = 1
    """so many columns are words, the rest numbers"""
    first: int = 40
    """so many rows are enough where there is little room; the others are counted"""


@dataclass(frozen=True, slots=True)
class Heat:
    """Shares in percent, rows against columns; None where nothing is known. The scale is the same for all: 0 to 100."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    places: tuple[int, ...] = ()
    """of rows and columns, where both are names of those who take part"""


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    ys: tuple[float | None, ...]
    xs: tuple[float, ...] = ()
    colour: str = ""
    """a role; else the next one"""
    intervals: tuple[Interval | None, ...] = ()
    """of the ys: an error bar on a bar or a mean, a band along a line; None where there is none"""

    @property
    def bounds(self) -> tuple[Interval | None, ...]:
        """One for each y."""
        return self.intervals or (None,) * len(self.ys)


@dataclass(frozen=True, slots=True)
class Figure:
    form: Literal["lines", "bars", "means"]
    """means: one series, each value on a line of its own with its interval"""
    title: str
    series: tuple[Series, ...]
    labels: tuple[str, ...] = ()
    """of the groups of bars, or of the means"""
    xlabel: str = ""
    ylabel: str = ""
    caption: str = ""
    """what its intervals are, or why it has none"""
    reference: float | None = None
    """of means: a line to hold them against, such as no difference"""
    places: tuple[int, ...] = ()
    """of the labels, where they are names of those who take part"""

    @property
    def in_short(self) -> "Figure":
        """Bars of the first series only."""
        if self.form != "bars" or not self.series[1:]:
            return self
        return replace(self, title=self.series[0].name, series=self.series[:1], ylabel="")

    @property
    def note(self) -> str:
        """The caption; without one, what can be said of the intervals by looking at them."""
        intervals = [
            bounds for item in self.series for y, bounds in zip(item.ys, item.intervals, strict=False) if y is not None
        ]
        if self.caption or not intervals:
            return self.caption
        if any(bounds is None for bounds in intervals):
            return LONELY if any(intervals) else "No intervals: they need more than one independent observation."
        return "With 95 % intervals."


LONELY = "With 95 % intervals, where there is more than one independent observation."
ROLES = ("primary", "accent", "done", "failed", "cached", "retried", "quiet")
"""colours are named by what they mean; whoever draws knows them"""


@dataclass(frozen=True, slots=True)
class Folded:
    """Somebody's own words that are too long to stand in the way: a page has them in full, a screen only their title."""

    title: str
    text: str


Block = Words | Headline | Table | Heat | Figure | Folded


RESULTS = "results"
"""the section of blocks before the first named one"""


@dataclass(frozen=True, slots=True)
class Brief:
    """What a short summary shows."""

    simulated: Sequence[Words]
    findings: Sequence[Block]
    warnings: Sequence[Words]
    table: Table | None
    figure: Figure | None


@dataclass(frozen=True, slots=True)
class Report:
    title: str
    overview: tuple[Block, ...]
    """state, requests, cost"""
    findings: tuple[Block, ...]
    """results, in sections"""
    methods: tuple[Block, ...] = ()
    """paragraphs for a paper"""

    @property
    def sections(self) -> dict[str, list[Block]]:
        """All blocks by the name of their section."""
        sections: dict[str, list[Block]] = {"overview": list(self.overview), RESULTS: []}
        name = RESULTS
        for block in self.findings:
            if isinstance(block, Words) and is_section(block):
                name = block.text
            else:
                sections.setdefault(name, []).append(block)
        return {name: blocks for name, blocks in sections.items() if blocks}

    @property
    def brief(self) -> Brief:
        """The main results of the report."""
        words = [block for block in (*self.overview, *self.findings) if isinstance(block, Words)]
        tables = [block for block in self.findings if isinstance(block, Table) and any(block.columns)]
        figures = [block for block in self.findings if isinstance(block, Figure)]
        return Brief(
            simulated=[block for block in words if block.level == "simulated"],
            findings=[block for block in self.findings if is_finding(block)],
            warnings=[block for block in words if block.level == "warning"],
            table=next(iter(tables), None),
            figure=next(iter(figures), None),
        )

    @property
    def methods_on_screen(self) -> tuple[Block, ...]:
        """Without the appendix, which only a page has."""
        export_hint = Words("With all prompts in full: export as markdown or html.", "quiet")
        return (Words("methods", "strong"), *self.methods, export_hint)


def is_finding(block: Block) -> bool:
    return isinstance(block, Headline) or (isinstance(block, Words) and block.level == "finding")


def is_section(block: Block) -> bool:
    return isinstance(block, Words) and block.level == "section"


def section(name: str, *blocks: Block) -> list[Block]:
    """The blocks as a section; nothing where there are none."""
    return [Words(name, "section"), *blocks] if blocks else []


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], left: int = 1, first: int = 40) -> Table:
    return Table(title, tuple(columns), tuple(tuple(row) for row in rows), left, first)


def series_of(name: str, estimates: Sequence[Estimate], colour: str = "") -> Series:
    values, intervals = tuple(one.value for one in estimates), tuple(one.interval for one in estimates)
    return Series(name, values, colour=colour, intervals=intervals)


def line(
    name: str,
    xs: Sequence[float],
    ys: Sequence[float | None],
    colour: str = "",
    intervals: Sequence[Interval | None] = (),
) -> Series:
    """A curve with its band."""
    return Series(name, tuple(ys), tuple(map(float, xs)), colour, tuple(intervals) if any(intervals) else ())


# -- JSON ----------------------------------------------------------------------------------------------------

_KINDS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (Number, Estimate, PValue, Named, Words, Headline, Table, Heat, Series, Figure, Folded, Report)
}


def as_json(value: Any) -> Any:
    """Blocks, cells and tuples of them; each names its class."""
    if is_dataclass(value):
        return {"is": type(value).__name__} | {one.name: as_json(getattr(value, one.name)) for one in fields(value)}
    return [as_json(inner) for inner in value] if isinstance(value, tuple | list) else value


def from_json(data: Any) -> Any:
    if isinstance(data, dict):
        return _KINDS[data["is"]](**{name: from_json(inner) for name, inner in data.items() if name != "is"})
    return tuple(from_json(inner) for inner in data) if isinstance(data, list) else data


def read_headline(text: str | None) -> Headline | None:
    """What a batch came to, as its file keeps it; None where there is none, or a stranger wrote something else."""
    try:
        headline = from_json(json.loads(text or "null"))
    except (TypeError, ValueError, LookupError, RecursionError):
        return None
    known = isinstance(headline, Headline) and isinstance(headline.figure, Estimate | Number)
    return headline if known else None


# -- methods of a kind, in sentences -----------------------------------------------------------------------------------


MOST_NAMED = 12
LONGEST_QUOTE = 600


@dataclass(frozen=True, slots=True)
class KindMethods:
    """Whole sentences, in the past tense, as a paper would have them."""

    design: Sequence[str]
    """who did what, how often, under which settings"""
    measures: Sequence[str] = ()
    """what was measured, by what, and how well that measures"""
    missing: Sequence[str] = ()
    """what was left out of the figures, and what that leaves open"""
    analysis: Sequence[str] = ()
    """estimators, intervals, tests, corrections"""


DESCRIBE = "Intervals are at 95 % and describe"
RATES = (
    "Rates and mean scores have Wilson's interval (Wilson, 1927) with Student's quantile and the effective number of values that the "
    "cluster-robust variance gives."
)
MOVER = "Where events were few, the intervals of the two rates were joined (Newcombe, 1998; Zou and Donner, 2008)."
BONETT_PRICE = "Where few differences varied, one more of either sign was counted (Bonett and Price, 2012)."
ONE_FAMILY = "All comparisons are exploratory and one family, with Holm's correction (Holm, 1979)."


def paragraph(sentences: Iterable[str]) -> str:
    return " ".join(sentence.strip() for sentence in sentences if sentence.strip())


def listing(words: Iterable[Any], most: int = MOST_NAMED) -> str:
    """a, b and c; of many the first, and how many others."""
    names = [str(word) for word in words]
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1:,} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def sentence(words: str) -> str:
    """With a capital at its beginning."""
    return words[:1].upper() + words[1:]


def counted(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def quoted(text: str, most: int = LONGEST_QUOTE) -> str:
    whole = " ".join(text.split())
    return f"“{whole}”" if len(whole) <= most else f"“{whole[:most]}…” (in full in the config)"


def ended(words: str) -> str:
    """A sentence whose end may be a quotation that has an end of its own."""
    return words if words.rstrip("”").endswith((".", "?", "!", "…")) else f"{words}."


def sampling(settings: Mapping[str, Any], of: str = "a message") -> str:
    """temperature 0.7 and at most 300 tokens a message"""
    temperature = settings.get("temperature")
    phrases = ["the provider's own temperature" if temperature is None else f"temperature {temperature:g}"]
    if most := settings.get("max_tokens"):
        phrases.append(f"at most {most:,} tokens {of}")
    if effort := settings.get("reasoning_effort"):
        phrases.append(f"reasoning effort {effort}")
    if reasoning := settings.get("max_reasoning_tokens"):
        phrases.append(f"at most {reasoning:,} tokens of reasoning")
    return listing(phrases)


JUDGE = "simulated:judge"
JUDGED_BY = {
    "simulation": "The simulated judge does not read the question: it rates how far a speaker's words are for or against.",
    "evolution": "The simulated judge does not read the question or the rubric: it looks for words of the expected answer.",
    "mutation": "The simulated judge does not read the question: it looks for words of the reference answer.",
}
"""by kind, what the ratings of the simulated judge rest on"""


def judge_notes(kind: str, models: Iterable[str]) -> list[str]:
    """What a plan and a report say of the simulated judge, where it is among those who are asked."""
    return [JUDGED_BY[kind]] if kind in JUDGED_BY and JUDGE in set(models) else []
