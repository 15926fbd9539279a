"""Describes a plan (requests, cost, time, or errors), a step and a field."""

from collections.abc import Mapping
from typing import Any

from textual.content import Content

from tidepool.tui.app.compose.examination import Examined
from tidepool.tui.app.compose.fields import UNSET, Field, Form, shown
from tidepool.tui.app.compose.outline import words_of_choice
from tidepool.tui.app.widgets.blocks import content_of
from tidepool.tui.drawing.plan import is_exact, plan_table, wave_blocks
from tidepool.tui.drawing.text import count, dollars, one_line, plain, shortened

MOST_WAVES_SHOWN = 12
WIDTH = 44
"""columns, which fit next to a form"""


def in_one_line(examined: Examined) -> Content:
    """Returns the plan in one line, for narrow screens."""
    if examined.complaints:
        complaints = len(examined.complaints)
        return Content.assemble(("× ", "$state-failed"), f"{complaints} error{'s' if complaints > 1 else ''} (F8)")
    plan = examined.plan
    if plan is None:
        return Content("")
    live, batch = dollars(plan["cost_usd_live"]), dollars(plan["cost_usd_batch"])
    figures = [
        f"{count(plan['units'])} {plan['unit_name']}",
        f"{count(plan['wave_count'])} waves",
        f"{'' if is_exact(plan) else 'about '}{count(plan['calls'])} requests",
        "free" if is_free(examined) else f"{live} live, {batch} batch",
    ]
    if keys := ", ".join(variable for _, variable in plan["missing_keys"]):
        return Content.assemble((f"× no key: {keys}", "bold $state-failed"), " · ", " · ".join(figures))
    return Content.assemble(("■ ", "$state-done"), " · ".join(figures))


def in_full(examined: Examined) -> Content:
    if examined.complaints:
        return _complaints(examined)
    plan = examined.plan
    if plan is None:
        return Content("")
    facts = plan_table(plan, free=is_free(examined), further=plan["power"])
    lines = _verdict(plan)
    lines += [Content(shortened(words)) for words in examined.shape]
    lines += [Content(""), content_of(facts, WIDTH)]
    lines += [Content.assemble(("! ", "$warning"), shortened(words)) for words in plan["warnings"]]
    waves = [content_of(block, WIDTH) for block in wave_blocks(plan, MOST_WAVES_SHOWN)]
    return Content("\n").join([*lines, Content(""), *waves])


def _verdict(plan: Mapping[str, Any]) -> list[Content]:
    """Returns whether the study can run, with a glyph and in words, so that colour is not needed."""
    if not plan["missing_keys"]:
        return [Content.assemble(("■ Ready to run", "bold $state-done"), ("  ctrl+r", "$quiet"))]
    return [Content.styled(f"× {words}", "bold $state-failed") for words in key_words(plan)]


def key_words(plan: Mapping[str, Any]) -> list[str]:
    return [
        shortened(
            f"No API key for {title}: {variable} is not set. Set it and restart Tidepool, or choose another model."
        )
        for title, variable in plan["missing_keys"]
    ]


def _complaints(examined: Examined) -> Content:
    title = "Needs fixing (F8)" if examined.line is None else f"Error in line {examined.line}"
    sentences = [Content.assemble(("× ", "$state-failed"), shortened(one.sentence)) for one in examined.complaints]
    return Content("\n\n").join([Content.assemble((title, "bold $state-failed")), *sentences])


def is_free(examined: Examined) -> bool:
    return (
        bool(examined.models) and all(name.startswith("simulated:") for name in examined.models) and not cost(examined)
    )


def cost(examined: Examined) -> float | None:
    return (examined.plan or {}).get("cost_usd")


MOST_DEFAULT = 30
"""cells"""


def marked(faults: int) -> Content:
    """Returns the mark after a step's name, a glyph with words, so that colour is not needed."""
    if not faults:
        return Content.styled(" ✓", "$state-done")
    return Content.styled(f" × {faults} error{'s' if faults > 1 else ''}", "$state-failed")


def help_of(field: Field, value: Any) -> Content:
    """Describes the current field: its key, its form, its default, and its purpose."""
    key = ".".join(str(part) for part in field.path if not isinstance(part, int))
    info = [field.form.value] if field.form not in (Form.WORD, Form.LONG, Form.MODEL, Form.CHOICE, Form.CHOICES) else []
    default = one_line(shown(field.form, field.default))
    if field.required:
        info.append("required")
    elif default and field.default is not UNSET:
        info.append(f"default {shortened(default, MOST_DEFAULT)}")
    if field.form in (Form.MODEL, Form.MODELS):
        info.append("f4 lists models with prices")
    choice = str(field.default if value is UNSET else value)
    meaning = words_of_choice(field, choice) if field.form is Form.CHOICE else ""
    text = "\n".join(filter(None, (plain(field.help), meaning and f"{one_line(choice)}: {meaning}")))
    head = Content.assemble((field.name, "bold"), "  ", (" · ".join((key, *info)), "$quiet"))
    return Content("\n").join((head, Content(text))) if text else head
