"""Which settings each model takes, learned from its refusals: a setting it does not take is told once, then left out."""

import re
from collections import defaultdict

from tidepool.engine.providers.error_mapping import ProviderComplaint
from tidepool.engine.providers.protocol import Notices

_NOT_TAKEN = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|extra inputs|not permitted|unexpected|deprecated", re.IGNORECASE
)
_REFUSING = (400, 422)


class UnsupportedSettings:
    def __init__(self, notices: Notices, optional: tuple[str, ...]) -> None:
        self._notices = notices
        self._optional = optional
        """settings that may be left out"""
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    def takes(self, model_name: str, setting: str) -> bool:
        return setting not in self._refused[model_name]

    def refuse(self, model_name: str, setting: str, value: object) -> None:
        if setting not in self._refused[model_name]:
            self._refused[model_name].add(setting)
            self._notices(f"{model_name} takes no {setting}: {setting} = {value} of the study is not sent to it.")

    def learn(self, complaint: ProviderComplaint) -> str | None:
        """The optional setting that this refusal is about, where leaving it out will help."""
        if complaint.status not in _REFUSING or not _NOT_TAKEN.search(f"{complaint.code} {complaint.words}"):
            return None
        for setting in self._optional:
            if complaint.param == setting or re.search(rf"\b{setting}\b", complaint.words):
                return setting
        return None
