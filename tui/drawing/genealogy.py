"""An evolution's family tree on the terminal: the champion's mothers in a line, each father's line under the child he
gave something to."""

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from tidepool.engine.results.wording import number
from tidepool.engine.studies.evolution.records import Family, Member
from tidepool.tui.drawing.plain import one_line

MOST_LINES = 200
_PROMPT_SHOWN = 60


def print_family(out: Console, family: Family) -> None:
    if not family.champion:
        out.print(Text("no generation is judged yet"))
        return
    ancestors = family.ancestors(family.champion)
    founders = sum(not member.parents for member in ancestors)
    out.print(
        Text(
            f"{len(family.members):,} genomes in {1 + max(m.generation for m in family.members.values()):,} generations; "
            f"the champion has {len(ancestors) - 1:,} ancestors, {founders:,} of them seed prompts"
            if len(ancestors) > 1
            else f"{len(family.members):,} genomes; the champion is a seed prompt"
        )
    )
    tree = Tree(Text("champion", style="bold"), guide_style="dim")
    shown: set[str] = set()
    _grow(tree, family, family.champion, shown)
    out.print(tree)
    if len(ancestors) > len(shown):
        out.print(Text(f"… and {len(ancestors) - len(shown):,} more ancestors: see --json"))


def _grow(tree: Tree, family: Family, genome_id: str, shown: set[str]) -> None:
    """The line of mothers first, so that fathers who belong to it are not told twice."""
    branches = []
    for member in family.mothers(genome_id):
        if member.genome_id in shown:
            tree.add(Text(one_line(f"g{member.generation} {member.genome_id} … in another branch"), style="dim"))
            break
        if len(shown) >= MOST_LINES:
            break
        shown.add(member.genome_id)
        branches.append((tree.add(_line(member)), member))
    for branch, member in branches:
        for father in member.parents[1:]:
            _grow(branch, family, father, shown)


def _line(member: Member) -> Text:
    return Text.assemble(
        (one_line(f"g{member.generation} {member.genome_id}"), "bold"),
        f"  {number(member.fitness, 3)}  {one_line(member.operator)}  ",
        (one_line(member.prompt, _PROMPT_SHOWN - 1), "dim"),
        overflow="ellipsis",
        no_wrap=True,
    )
