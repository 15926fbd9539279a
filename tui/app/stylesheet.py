"""Textual's stylesheet, with less of the same work done again.

By itself it looks through every rule for every widget it styles, and parses every rule anew whenever a screen brings
some of its own. Here the rules that name a widget are looked up, and what was parsed once is kept.
"""

from typing import Any, NamedTuple

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation
from textual.dom import DOMNode

_PARSED: LRUCache[tuple[object, ...], list[RuleSet]] = LRUCache(256)
"""by text, place and the colours of the theme: a theme that one comes back to is there already"""


class Choice(NamedTuple):
    """The rules that name a widget by its type, its id or one of its classes; their other conditions are looked at later."""

    rules: list[RuleSet]
    by_name: dict[str, list[RuleSet]]


class QuickStylesheet(Stylesheet):
    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._all: list[RuleSet] = []
        self._places: dict[int, int] = {}
        self._choices: dict[frozenset[str], Choice] = {}
        """by the names of a widget, as long as the rules are these"""
        self._choice: Choice | None = None
        """while one widget is styled"""

    @property
    def rules(self) -> list[RuleSet]:
        return super().rules if self._choice is None else self._choice.rules

    @property
    def rules_map(self) -> dict[str, list[RuleSet]]:
        return super().rules_map if self._choice is None else self._choice.by_name

    def apply(self, node: DOMNode, *, animate: bool = False, cache: dict[tuple[Any, ...], Any] | None = None) -> None:
        before, self._choice = self._choice, None  # a widget's parts are styled while it is
        try:
            self._choice = self._chosen(frozenset(node._selector_names))
            super().apply(node, animate=animate, cache=cache)
        finally:
            self._choice = before

    def _chosen(self, names: frozenset[str]) -> Choice:
        if self.rules is not self._all:
            self._all, self._choices = self.rules, {}
            self._places = {id(rule): place for place, rule in enumerate(self._all)}
        if (choice := self._choices.get(names)) is None:
            by_name = {name: self.rules_map[name] for name in names & self.rules_map.keys()}
            wanted = {self._places[id(rule)] for rules in by_name.values() for rule in rules}
            choice = self._choices[names] = Choice([self._all[place] for place in sorted(wanted)], by_name)
        return choice

    def _parse_rules(
        self,
        css: str,
        read_from: CSSLocation,
        is_default_rules: bool = False,
        tie_breaker: int = 0,
        scope: str = "",
    ) -> list[RuleSet]:
        key = (css, read_from, is_default_rules, tie_breaker, scope)
        if key not in self._parse_cache:
            variables = frozenset(self._variables.items())
            try:
                self._parse_cache[key] = _PARSED[key, variables]
            except KeyError:
                self._parse_cache[key] = _PARSED[key, variables] = super()._parse_rules(*key)
        return self._parse_cache[key]

    def reparse(self) -> None:
        """By itself Textual does so with nothing in memory. Rules that cannot be parsed leave those before in their place."""
        self.parse()

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        if not animate and node.styles.base._rules == rules:
            node.notify_style_update()
        else:
            super().replace_rules(node, rules, animate=animate)
