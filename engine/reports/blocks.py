"""The blocks of a report: plain data that the terminal, the app, HTML pages and Markdown each render in their own way.

A kind of study makes one list of blocks from its statistics, so all four media show the same content. This module also
formats numbers, and assigns a colour and a glyph to each participant. Blocks are sent to other processes as JSON.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish. Seven colours and ten glyphs give
seventy marks. Methods sentences are made from the stored config. It may come from an older version or be untrusted, so
missing keys are skipped.
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
    """Returns the decimals of a number and its interval: two significant digits of the interval's width.

    Returns `otherwise` for a number without an interval, or with an interval of zero width.
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
    """Formats a p-value for running text, such as: p = 0.012 (0.036 with Holm's correction)."""
    text = f"p {'' if value < 0.001 else '= '}{p_value(value)}"
    return text if p_value(corrected) == p_value(value) else f"{text} ({p_value(corrected)} with Holm's correction)"


def format_outcome(outcome: Mapping[str, Any]) -> str:
    """Describes the outcome of one side of a secret game."""
    where = f"in message {outcome['turn']} ({outcome['detector']})"
    if outcome["revealed"]:
        return f"revealed {where}"
    return (
        f"may have revealed {where}, but the secret is also a common word"
        if outcome["uncertain"]
        else "kept the secret"
    )


def units_in_words(units: str) -> str:
    """Returns the displayed name of clusters and blocks."""
    return units.replace("talks", "conversations")


def more(count: int) -> str:
    return f"… and {count:,} more"


def money(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:,.4f}"


def requests(total: int, bought: int, cached: int, failed: int = 0, **more: int) -> str:
    """Formats counts as "500 requests: 480 new, 20 from cache; 3 billed again". New, cached and failed requests add up to
    the total. Other counts are billed attempts beyond one for each new reply."""
    new = total - cached - failed
    parts = f"{new:,} new, {cached:,} from cache" + (f", {failed:,} failed" if failed else "")
    rest = {"unused attempts billed" if failed else "billed again": bought - new, **more}
    others = ", ".join(f"{count:,} {name}" for name, count in rest.items() if count > 0)
    return f"{total:,} request{'s' * (total != 1)}: {parts}{f'; {others}' if others else ''}"


def span(seconds: float) -> str:
    """Formats a duration with at most two units: 850 ms, 12.3 s, 4 min 05 s, 2 h 10 min, 3 d 4 h."""
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
    """Formats the mean number of requests in flight; empty if it is below 1."""
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
    (150, 130, 40),  # olive instead of yellow, which is hard to see on white
)
GLYPHS = "●■▲◆▼○□△◇▽"
CONTRAST = 4.5
"""least contrast of text with its background, as required by WCAG"""


def places_of(names: Iterable[str]) -> dict[str, int]:
    """Numbers the names in alphabetical order, so that a mark does not depend on results or speaking order."""
    return {name: place for place, name in enumerate(sorted(set(names)))}


def glyph_of(place: int) -> str:
    return GLYPHS[place % len(GLYPHS)]


def ink_of(place: int, ground: Colour) -> Colour:
    return readable(INKS[place % len(INKS)], ground)


def readable(ink: Colour, ground: Colour, contrast: float = CONTRAST) -> Colour:
    """Returns the colour, lightened or darkened until its contrast with the background is sufficient."""
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
"""finding: a main result; quoted: text with its own line breaks; tree: never wrapped; section: starts a section with this
name, not displayed"""

# -- cells ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    value: float | None
    digits: int = 1
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval. The width of the interval determines the decimals."""

    value: float | None
    interval: Interval | None = None
    digits: int = 1
    """decimals of a number without an interval"""
    unit: str = ""
    signed: bool = False

    @property
    def value_text(self) -> str:
        """The value without its interval."""
        return number(self.value, digits_of(self.interval, self.digits), self.unit, signed=self.signed)


def ends_of(bounds: Sequence[float] | None, scale: float = 1.0) -> Interval | None:
    """Converts an interval from JSON, multiplied by `scale`."""
    return (scale * bounds[0], scale * bounds[1]) if bounds else None


@dataclass(frozen=True, slots=True)
class PValue:
    value: float | None


@dataclass(frozen=True, slots=True)
class Named:
    """A participant. The place determines the colour and the glyph."""

    name: str
    place: int


Cell = str | int | Number | Estimate | PValue | Named
"""text, a count, or a number with its format; a value of None is unknown"""


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
    """A main number of the study, with a short note."""

    name: str
    figure: Cell
    words: str = ""
    short: str = ""
    """a name of one or two words, for lists of batches"""

    @property
    def brief(self) -> str:
        """The short name and the value, without the interval."""
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
    """all empty: each row is a fact that starts with its name"""
    rows: tuple[tuple[Cell, ...], ...]
    left: int = 1
    """number of text columns; the other columns are numbers"""
    first: int = 40
    """number of rows that a short version shows; the others are counted"""


@dataclass(frozen=True, slots=True)
class Heat:
    """A heat map of percentages on a scale from 0 to 100. None: unknown."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    places: tuple[int, ...] = ()
    """of rows and columns, if both are names of participants"""


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    ys: tuple[float | None, ...]
    xs: tuple[float, ...] = ()
    colour: str = ""
    """one of `ROLES`; empty: the next unused colour"""
    intervals: tuple[Interval | None, ...] = ()
    """of the ys: drawn as error bars of bars and means, and as bands of lines"""

    @property
    def bounds(self) -> tuple[Interval | None, ...]:
        """One interval or None for each y."""
        return self.intervals or (None,) * len(self.ys)


@dataclass(frozen=True, slots=True)
class Figure:
    form: Literal["lines", "bars", "means"]
    """means: one series, with a separate row for each value and its interval"""
    title: str
    series: tuple[Series, ...]
    labels: tuple[str, ...] = ()
    """of the groups of bars, or of the means"""
    xlabel: str = ""
    ylabel: str = ""
    caption: str = ""
    """describes the intervals, or why they are missing"""
    reference: float | None = None
    """of means: the position of a reference line, such as 0 for no difference"""
    places: tuple[int, ...] = ()
    """of the labels, if they are names of participants"""

    @property
    def in_short(self) -> "Figure":
        """The figure for a short report: bar charts keep only their first series."""
        if self.form != "bars" or not self.series[1:]:
            return self
        return replace(self, title=self.series[0].name, series=self.series[:1], ylabel="")

    @property
    def note(self) -> str:
        """The caption, or a default note on the intervals."""
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
"""names of colours by meaning; each renderer maps them to its own colours"""


@dataclass(frozen=True, slots=True)
class Folded:
    """A long quoted text. Pages show it in full, screens only its title."""

    title: str
    text: str


Block = Words | Headline | Table | Heat | Figure | Folded


RESULTS = "results"
"""the section of blocks before the first named one"""


@dataclass(frozen=True, slots=True)
class Brief:
    """The blocks of a short summary."""

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
        """All blocks, by section name."""
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
            findings=[b for b in self.findings if isinstance(b, Headline) or getattr(b, "level", "") == "finding"],
            warnings=[block for block in words if block.level == "warning"],
            table=next(iter(tables), None),
            figure=next(iter(figures), None),
        )

    @property
    def methods_on_screen(self) -> tuple[Block, ...]:
        """The methods without the appendix, which only pages have."""
        export_hint = Words("To see all prompts in full, export as markdown or html.", "quiet")
        return (Words("methods", "strong"), *self.methods, export_hint)


def is_section(block: Block) -> bool:
    return isinstance(block, Words) and block.level == "section"


def section(name: str, *blocks: Block) -> list[Block]:
    """Returns the blocks as a section, or an empty list without blocks."""
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
    return Series(name, tuple(ys), tuple(map(float, xs)), colour, tuple(intervals) if any(intervals) else ())


# -- JSON ----------------------------------------------------------------------------------------------------

_KINDS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (Number, Estimate, PValue, Named, Words, Headline, Table, Heat, Series, Figure, Folded, Report)
}


def as_json(value: Any) -> Any:
    """Converts blocks, cells and tuples of them to JSON objects, each with its class name."""
    if is_dataclass(value):
        return {"is": type(value).__name__} | {one.name: as_json(getattr(value, one.name)) for one in fields(value)}
    return [as_json(inner) for inner in value] if isinstance(value, tuple | list) else value


def from_json(data: Any) -> Any:
    if isinstance(data, dict):
        return _KINDS[data["is"]](**{name: from_json(inner) for name, inner in data.items() if name != "is"})
    return tuple(from_json(inner) for inner in data) if isinstance(data, list) else data


def read_headline(text: str | None) -> Headline | None:
    """Reads the stored headline of a batch. Returns None if it is missing or, in an untrusted file, invalid."""
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
    """Methods sentences for a paper, in the past tense."""

    design: Sequence[str]
    """participants, procedure, numbers of units, settings"""
    measures: Sequence[str] = ()
    """measures, instruments and their accuracy"""
    missing: Sequence[str] = ()
    """excluded data, and the resulting limitations"""
    analysis: Sequence[str] = ()
    """estimators, intervals, tests, corrections"""


DESCRIBE = "Intervals are at 95 % and describe"
RATES = (
    "Rates and mean scores have Wilson's interval (Wilson, 1927) with Student's quantile and the effective number of values that the "
    "cluster-robust variance gives."
)
MOVER = "Where events were few, the intervals of the two rates were joined (Newcombe, 1998; Zou and Donner, 2008)."
BONETT_PRICE = "Where few differences varied, one difference of each sign was added (Bonett and Price, 2012)."
ONE_FAMILY = "All comparisons are exploratory and form one family, with Holm's correction (Holm, 1979)."


def paragraph(sentences: Iterable[str]) -> str:
    return " ".join(sentence.strip() for sentence in sentences if sentence.strip())


def listing(words: Iterable[Any], most: int = MOST_NAMED) -> str:
    """Formats a list as "a, b and c". A long list ends with the number of other items."""
    names = [str(word) for word in words]
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1:,} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def sentence(words: str) -> str:
    """Capitalises the first letter."""
    return words[:1].upper() + words[1:]


def counted(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def quoted(text: str, most: int = LONGEST_QUOTE) -> str:
    whole = " ".join(text.split())
    return f"“{whole}”" if len(whole) <= most else f"“{whole[:most]}…” (in full in the config)"


def ended(words: str) -> str:
    """Adds a full stop, unless the text or a quotation at its end has one."""
    return words if words.rstrip("”").endswith((".", "?", "!", "…")) else f"{words}."


def sampling(settings: Mapping[str, Any], of: str = "a message") -> str:
    """Formats sampling settings, such as: temperature 0.7 and at most 300 tokens a message."""
    temperature = settings.get("temperature")
    phrases = ["the provider's default temperature" if temperature is None else f"temperature {temperature:g}"]
    if most := settings.get("max_tokens"):
        phrases.append(f"at most {most:,} tokens {of}")
    if effort := settings.get("reasoning_effort"):
        phrases.append(f"reasoning effort {effort}")
    if reasoning := settings.get("max_reasoning_tokens"):
        phrases.append(f"at most {reasoning:,} tokens of reasoning")
    return listing(phrases)


JUDGE = "simulated:judge"
JUDGED_BY = {
    "simulation": "The simulated judge does not read the question. It rates how far a speaker's words are for or against.",
    "evolution": "The simulated judge does not read the question or the rubric. It looks for words of the expected answer.",
    "mutation": "The simulated judge does not read the question. It looks for words of the reference answer.",
}
"""by kind: how the simulated judge rates"""


def judge_notes(kind: str, models: Iterable[str]) -> list[str]:
    """Returns the note on the simulated judge for plans and reports, if one of the models is that judge."""
    return [JUDGED_BY[kind]] if kind in JUDGED_BY and JUDGE in set(models) else []
