"""What a publisher says of a study: title, authors, licence. What is left out has a default, or is told to be missing."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tidepool.engine.errors import UsageError

_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{1,60}")
_ADDRESS = re.compile(r"https?://[^\s<>\"'\\^`{|}]{3,1000}")


@dataclass(frozen=True, slots=True)
class About:
    title: str = ""
    description: str = ""
    authors: tuple[str, ...] = ()
    """`Family, Given` for a person, any other name for a group"""
    license: str = ""
    """its SPDX name, such as CC-BY-4.0, or its address"""
    url: str = ""
    """where the folder will be found"""

    def check(self) -> None:
        if self.license and not (_SPDX.fullmatch(self.license) or _ADDRESS.fullmatch(self.license)):
            raise UsageError("--license wants the SPDX name of a licence, such as CC-BY-4.0, or its https:// address.")
        if self.url and not _ADDRESS.fullmatch(self.url):
            raise UsageError("--url wants the https:// address at which the folder will be found.")
        if any(not author.strip() for author in self.authors):
            raise UsageError("--author wants a name: 'Lovelace, Ada' for a person, any other for a group.")

    @property
    def license_url(self) -> str:
        if not self.license or _ADDRESS.fullmatch(self.license):
            return self.license
        return f"https://spdx.org/licenses/{self.license}.html"

    @property
    def spdx(self) -> str:
        return self.license if _SPDX.fullmatch(self.license) else ""

    def missing(self) -> Iterator[str]:
        """What whoever publishes should say, and how."""
        if not self.authors:
            yield "It names no authors: --author 'Lovelace, Ada', once for each."
        if not self.license:
            yield "It has no licence, so nobody may use it: --license CC-BY-4.0."
        if not self.description:
            yield "It has no description: --description '…', or description in [batch] of the config."
        if not self.url:
            yield "It does not say where it will be found: --url https://…"
