"""What is said about a step and about a field: how many things are wrong, what a key is for, what it may be."""

from typing import Any

from textual.content import Content

from tidepool.tui.app.compose_model.fields import UNSET, Field, Form, shown
from tidepool.tui.app.compose_model.outline import words_of_choice
from tidepool.tui.drawing.text import one_line, plain, shortened

MOST_DEFAULT = 30
"""cells"""


def marked(faults: int) -> Content:
    """Behind a step's name; told by a sign and in words, so that no colour is needed."""
    if not faults:
        return Content.assemble((" ✓", "$state-done"))
    return Content.assemble((f" × {faults} fault{'s' if faults > 1 else ''}", "$state-failed"))


def help_of(field: Field, value: Any = UNSET) -> Content:
    """The field one is in, in full: its key, what may stand in it, what stands there by itself, and what it is for."""
    key = ".".join(str(part) for part in field.path if not isinstance(part, int))
    said = [field.form.value] if field.form not in (Form.WORD, Form.LONG, Form.MODEL, Form.CHOICE, Form.CHOICES) else []
    default = one_line(shown(field.form, field.default))
    if field.required:
        said.append("must be given")
    elif default and field.default is not UNSET:
        said.append(f"{shortened(default, MOST_DEFAULT)} if empty")
    if field.form in (Form.MODEL, Form.MODELS):
        said.append("f4 lists models with prices")
    chosen = str(field.default if value is UNSET else value)
    told = words_of_choice(field, chosen) if field.form is Form.CHOICE else ""
    words = "\n".join(filter(None, (plain(field.help), told and f"{one_line(chosen)}: {told}")))
    head = Content.assemble((field.name, "bold"), "  ", (" · ".join((key, *said)), "$quiet"))
    return Content("\n").join((head, Content(words))) if words else head
