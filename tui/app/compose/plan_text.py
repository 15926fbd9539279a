"""A plan, a step and a field in words: what will be asked, what it costs, how long it takes, or what is wrong."""

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
"""columns, which fit beside a form"""


def in_one_line(examined: Examined) -> Content:
    """For narrow screens."""
    if examined.complaints:
        complaints = len(examined.complaints)
        return Content.assemble(("× ", "$state-failed"), f"{complaints} thing{'s' if complaints > 1 else ''} to mend")
    plan = examined.plan
    if plan is None:
        return Content("")
    live, batch = dollars(plan["cost_usd_live"]), dollars(plan["cost_usd_batch"])
    figures = [
        f"{count(plan['units'])} {plan['unit_name']}",
        f"{count(plan['wave_count'])} waves",
        f"{'' if is_exact(plan) else 'about '}{count(plan['calls'])} calls",
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
    """Whether anything keeps it from running: by a sign and in words, so that no colour is needed."""
    if not plan["missing_keys"]:
        return [Content.assemble(("■ Ready to run", "bold $state-done"), ("  ctrl+r", "$quiet"))]
    return [Content.styled(f"× {words}", "bold $state-failed") for words in key_words(plan)]


def key_words(plan: Mapping[str, Any]) -> list[str]:
    return [
        shortened(
            f"No key for {title}: {variable} is not set. Set it and open Tidepool again, or choose another model."
        )
        for title, variable in plan["missing_keys"]
    ]


def _complaints(examined: Examined) -> Content:
    title = "Not ready yet" if examined.line is None else f"Line {examined.line} cannot be read"
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
    """Behind a step's name; told by a sign and in words, so that no colour is needed."""
    if not faults:
        return Content.styled(" ✓", "$state-done")
    return Content.styled(f" × {faults} fault{'s' if faults > 1 else ''}", "$state-failed")


def help_of(field: Field, value: Any) -> Content:
    """The field one is in, in full: its key, what may stand in it, what stands there by itself, and what it is for."""
    key = ".".join(str(part) for part in field.path if not isinstance(part, int))
    info = [field.form.value] if field.form not in (Form.WORD, Form.LONG, Form.MODEL, Form.CHOICE, Form.CHOICES) else []
    default = one_line(shown(field.form, field.default))
    if field.required:
        info.append("must be given")
    elif default and field.default is not UNSET:
        info.append(f"{shortened(default, MOST_DEFAULT)} if empty")
    if field.form in (Form.MODEL, Form.MODELS):
        info.append("f4 lists models with prices")
    choice = str(field.default if value is UNSET else value)
    meaning = words_of_choice(field, choice) if field.form is Form.CHOICE else ""
    text = "\n".join(filter(None, (plain(field.help), meaning and f"{one_line(choice)}: {meaning}")))
    head = Content.assemble((field.name, "bold"), "  ", (" · ".join((key, *info)), "$quiet"))
    return Content("\n").join((head, Content(text))) if text else head
