"""An evolution's family to walk in: the champion and whom it descends from, then everybody by generation.

Only what is opened is read: a family of thousands costs as much as the branches one looks at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static, Tree
from textual.widgets.tree import TreeNode

from tidepool.engine.results.blocks import more, number
from tidepool.engine.studies.evolution.records import Member, members_named, members_of_generation, mothers_of
from tidepool.tui.app.background import while_open
from tidepool.tui.drawing.text import changes, one_line, shortened

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

MOST_OF_A_GENERATION = 500
PROMPT_SHOWN = 48
MOST_MOTHERS = 300


@dataclass(frozen=True, slots=True)
class FamilyNode:
    member: Member
    in_line: bool = False
    """a mother in the line of her child: only fathers are left to open"""

    @property
    def others(self) -> tuple[str, ...]:
        """Parents who stand in no line above."""
        return self.member.parents[1:]


Place = FamilyNode | int | None
"""what a node stands for: a prompt, a generation by its number, or words"""


class FamilyTree(Tree[Place]):
    """The tree itself: right opens a branch, left closes it or goes to its child."""

    BINDINGS = [
        Binding("right", "open_branch", "Open", show=False),
        Binding("left", "close_branch", "Close", show=False),
    ]
    show_root = False
    auto_expand = True

    def action_open_branch(self) -> None:
        if self.cursor_node is not None:
            self.cursor_node.expand()

    def action_close_branch(self) -> None:
        node = self.cursor_node
        if node is not None and node.is_expanded and node.allow_expand:
            node.collapse()
        elif node is not None and node.parent is not None and not node.parent.is_root:
            self.move_cursor(node.parent)


class FamilyPane(Container):
    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._batch = 0
        self._kin: Mapping[str, Any] = {}

    def compose(self) -> ComposeResult:
        yield FamilyTree("family", id="kin")
        with VerticalScroll(id="kin-text", can_focus=False):
            yield Static(Content("working it out …"), id="kin-told")

    def focus(self, scroll_visible: bool = True) -> Self:
        self.query_one(FamilyTree).focus(scroll_visible)
        return self

    @property
    def selected(self) -> str | None:
        """The id of the prompt under the cursor."""
        node = self.query_one(FamilyTree).cursor_node
        return node.data.member.genome_id if node is not None and isinstance(node.data, FamilyNode) else None

    @property
    def _app(self) -> "TidepoolApp":
        return cast("TidepoolApp", self.app)

    async def open(self, batch_number: int, kin: Mapping[str, Any]) -> None:
        """`kin`: champion and baseline by id, with what is known of them on held-out problems, and the generations."""
        if batch_number == self._batch and kin == self._kin:
            return
        self._batch, self._kin = batch_number, kin
        tree = self.query_one(FamilyTree)
        tree.clear()
        if not kin["champion"]:
            self.query_one("#kin-told", Static).update(Content("no generation is judged yet"))
            return
        named = await self._named([name for name in (kin["champion"], kin["baseline"]) if name])
        for role in ("champion", "baseline"):
            if (member := named.get(kin[role])) is not None and (role == "champion" or kin[role] != kin["champion"]):
                self._add(tree.root, member, ROLES[role])
        for generation, prompts, best in kin["generations"]:
            told = f"generation {generation}: {prompts:,} prompt{'s' * (prompts != 1)}, best {number(best, 3)}"
            tree.root.add(Text(told), data=generation)
        if tree.root.children:
            tree.root.children[0].expand()
            tree.move_cursor(tree.root.children[0])

    async def _named(self, ids: Sequence[str]) -> dict[str, Member]:
        found = await self._app.file.look(members_named, self._batch, ids)
        return {member.genome_id: member for member in found}

    def _add(self, node: TreeNode[Place], member: Member, role: str = "", *, in_line: bool = False) -> None:
        kinsman = FamilyNode(member, in_line)
        opens = kinsman.others if in_line else member.parents
        (node.add if opens else node.add_leaf)(_line(member, role), data=kinsman)

    # -- what is opened ----------------------------------------------------------------------------------

    @on(Tree.NodeExpanded)
    @work(group="kin")
    async def _opened(self, event: Tree.NodeExpanded[Place]) -> None:
        node, place, batch = event.node, event.node.data, self._batch
        if node.children or place is None:
            return
        if isinstance(place, FamilyNode):
            fathers = await self._named(place.others)
            mothers = () if place.in_line else await self._app.file.look(mothers_of, batch, place.member, MOST_MOTHERS)
            with while_open(self.app):
                self._show_parents(node, [fathers[name] for name in place.others if name in fathers], mothers)
        else:
            found = await self._app.file.look(members_of_generation, batch, place, MOST_OF_A_GENERATION)
            with while_open(self.app):
                self._show_generation(node, place, found)

    def _show_parents(self, node: TreeNode[Place], fathers: Sequence[Member], mothers: Sequence[Member]) -> None:
        """The line of mothers side by side, as it would run off the screen else; each father opens a line of his own."""
        if not node.children:
            for member in fathers:
                self._add(node, member, "father")
            for member in mothers:
                self._add(node, member, "mother", in_line=True)

    def _show_generation(self, node: TreeNode[Place], generation: int, found: Sequence[Member]) -> None:
        if node.children:
            return
        for member in found:
            self._add(node, member)
        told = {number: prompts for number, prompts, _ in self._kin["generations"]}
        if (left := told.get(generation, 0) - len(found)) > 0:
            node.add_leaf(Text(f"{more(left)}: see show --genealogy --json", style="dim"))

    @on(Tree.NodeHighlighted)
    @work(group="kin-told", exclusive=True)
    async def _looked(self, event: Tree.NodeHighlighted[Place]) -> None:
        if not isinstance(event.node.data, FamilyNode):
            return
        member = event.node.data.member
        parents = await self._named(member.parents)
        mother = parents.get(member.parents[0]) if member.parents else None
        with while_open(self.app):
            self.query_one("#kin-told", Static).update(member_text(member, mother, self._kin))
            self.query_one("#kin-text", VerticalScroll).scroll_home(animate=False)


ROLES = {"champion": "champion", "baseline": "best seed prompt"}


def _line(member: Member, role: str) -> Text:
    return Text.assemble(
        (f"{role}  " if role else "", "bold" if role in ROLES.values() else "dim"),
        (one_line(f"g{member.generation} {member.genome_id}"), "bold"),
        f"  {number(member.fitness, 3)}  {one_line(member.operator)}  ",
        (one_line(member.prompt, PROMPT_SHOWN), "dim"),
        no_wrap=True,
    )


def member_text(member: Member, mother: Member | None, kin: Mapping[str, Any]) -> Content:
    """Where it comes from, what it is worth, its prompt, and what was changed in its mother's."""
    role = next((f", {ROLES[name]}" for name in ROLES if kin.get(name) == member.genome_id), "")
    lines = [
        Content.styled(one_line(f"generation {member.generation}, {member.genome_id}{role}"), "bold $primary"),
        _fact("operator", one_line(member.operator)),
        _fact("fitness", f"{number(member.fitness, 3)}{_gain(member, mother)}, on training problems, which chose it"),
    ]
    if member.accuracy is not None:
        lines.append(_fact("training", number(100 * member.accuracy, 1, " % right")))
    if held_out := kin.get("held_out", {}).get(member.genome_id):
        lines.append(_fact("held out", one_line(held_out)))
    if member.parents:
        lines.append(_fact("parents", one_line(", ".join(member.parents))))
    if member.missing:
        lines.append(_fact("missing", number(100 * member.missing, 1, " % of its answers")))
    lines += [Content(""), Content(shortened(member.prompt, 20_000))]
    if mother is not None and mother.prompt != member.prompt:
        lines += [Content(""), Content.styled("what became of its mother's prompt", "bold"), _changed(mother, member)]
    return Content("\n").join(lines)


def _fact(name: str, words: str) -> Content:
    return Content.assemble((f"{name:<9} ", "$quiet"), words)


def _gain(member: Member, mother: Member | None) -> str:
    if mother is None or mother.fitness is None or member.fitness is None:
        return ""
    return f" ({number(member.fitness - mother.fitness, 3, signed=True)} over its mother)"


def _changed(mother: Member, member: Member) -> Content:
    """New words are underlined, those that are gone struck through: both show without colours."""
    styles = {"kept": "", "gone": "$quiet strike", "new": "$state-done underline"}
    pieces = [(f"{shortened(text, 10_000)} ", styles[change]) for change, text in changes(mother.prompt, member.prompt)]
    return Content.assemble(*pieces)
