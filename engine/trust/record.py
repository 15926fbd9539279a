"""The trust record: what this user trusts. It is outside every study file, so a file can never grant trust to itself.

A batch is identified by its id together with the hash of its frozen config, since a copy may be changed. The record also has the drafts
that were written here, the folder with the code of a batch, and the secret for the seals of replies. It never contains API keys. If it
cannot be written, or if other users could have written it, that is reported once, and trust is kept in memory for this process.

Seals protect batches that run code. A reply is passed to the user's scorer, and a reply from a file could contain
anything. So each reply is stored with a keyed hash, made with a secret that no study file has. A reply runs only if it came
from a provider in this process, or if its seal is valid.
"""

import hmac
import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

from tidepool.engine.errors import FileError, NotTrusted
from tidepool.storage.file import refuse_writable_by_others, replace_file, state_folder

FILE_NAME = "trust.json"
BUSY_SECONDS = 10
OTHERS_ANY = 0o077
MOST_DRAFTS = 3
"""stored versions of each draft, since the file may have the previous one"""

Section = dict[str, Any]
"""one entry for each batch, draft or folder, by id; most have the hashes of configs, each with its time"""
Sections = dict[str, Section]
_OF_CONFIGS = ("batch", "draft")
T = TypeVar("T")


def config_hash(config: str) -> str:
    """The hash of the frozen config, exactly as stored in the file."""
    return sha256(config.encode("utf-8", "surrogatepass")).hexdigest()


def report_problems_to(report: Callable[[str], None] | None) -> None:
    """Sets who reports that the record cannot be used; without a function, it is reported on stderr."""
    global _report
    _report = report or _on_stderr


def _on_stderr(words: str) -> None:
    print(f"warning: {words}", file=sys.stderr)


_report: Callable[[str], None] = _on_stderr


def trust_record() -> "TrustRecord":
    """This user's record, one for the whole process."""
    folder = state_folder()
    with _opening:
        return _records.setdefault(folder, TrustRecord(folder))


class TrustRecord:
    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._lock = threading.Lock()
        self._warned = False
        self._unwritten: Sections = {}
        """entries that could not be written, kept until the process ends"""

    def mark_trusted(self, configs: Mapping[str, str]) -> None:
        """Marks these batches, by id, as the user's own with these configs."""

        def mark(sections: Sections) -> None:
            for batch_id, config in configs.items():
                _add(sections, "batch", batch_id, config)

        self._write(mark)

    @contextmanager
    def renewing(self, changes: Mapping[str, tuple[str, str]]) -> Iterator[None]:
        """Wraps a rewrite of configs by Tidepool, by batch: before and after. Both configs are trusted until the file has the
        new one, so the batch stays the user's own if the process is killed in between."""
        self.mark_trusted({batch_id: after for batch_id, (_, after) in changes.items()})
        yield

        def forget_old(sections: Sections) -> None:
            for batch_id, (before, after) in changes.items():
                if before != after:
                    _section(sections, "batch").get(batch_id, {}).pop(config_hash(before), None)

        self._write(forget_old)

    def knows(self, batch_id: str, config: str) -> bool:
        return (batch_id, config_hash(config)) in self._pairs("batch")

    def batches(self) -> list[tuple[str, str]]:
        """Ids with the hashes of their configs, oldest first."""
        return self._pairs("batch")

    def forget_batch(self, batch_id: str) -> int:
        """Forgets a batch with all its configs and returns their number. Raises an error if that is impossible."""
        return self._write(lambda sections: len(_section(sections, "batch").pop(batch_id, ())), must_persist=True) or 0

    def store_folder(self, batch_id: str, folder: Path) -> None:
        """Stores the folder of a batch's config with code, since no study file sets it."""
        where = str(folder.resolve())
        self._write(lambda sections: _section(sections, "folder").update({batch_id: where}))

    def folders_of(self, batch_id: str) -> list[Path]:
        return [Path(str(sections["folder"][batch_id])) for sections in self._read() if batch_id in sections["folder"]]

    def secret(self) -> bytes:
        """Created on first use. Without it, stored replies have to be trusted again."""
        new = os.urandom(32).hex()
        self._write(lambda sections: _section(sections, "secret").setdefault("seals", new))
        known = (sections["secret"].get("seals") for sections in self._read())
        return bytes.fromhex(str(next(filter(None, known), new)))

    def store_draft(self, location: Path, text: str) -> None:
        """Records that this text of a draft was typed here or derived from one. The place only says which texts it replaces."""
        draft = config_hash(str(location.absolute()))

        def store(sections: Sections) -> None:
            _add(sections, "draft", draft, text)
            texts = _section(sections, "draft")[draft]
            for older in sorted(texts, key=texts.__getitem__)[:-MOST_DRAFTS]:
                del texts[older]

        self._write(store)

    def knows_draft(self, text: str) -> bool:
        """Whether the draft is known, in any place."""
        return config_hash(text) in {draft_hash for _, draft_hash in self._pairs("draft")}

    def _pairs(self, section: str) -> list[tuple[str, str]]:
        """Ids with hashes, oldest first."""
        entries = [
            (at, entry_id, config)
            for sections in self._read()
            for entry_id, configs in sections[section].items()
            for config, at in configs.items()
        ]
        return [(entry_id, config) for _, entry_id, config in sorted(entries)]

    def _read(self) -> list[Mapping[str, Section]]:
        """The record, which reading does not create, and the entries that could not be written."""
        with self._lock:
            found = [self._unwritten]
            try:
                self._refuse_no_home()
                if os.path.lexists(self.path):
                    found.append(self._load())
            except (OSError, ValueError) as error:
                self._warn(error)
            return [defaultdict(dict, sections) for sections in found]

    def _load(self) -> Sections:
        """Raises OSError or ValueError if this user did not write the record."""
        self._refuse_what_others_wrote()
        try:
            sections = json.loads(self.path.read_bytes())
            well_formed = all(isinstance(section, dict) for section in sections.values())
            hashes = [configs for name in _OF_CONFIGS for configs in sections.get(name, {}).values()]
            if not well_formed or not all(isinstance(at, float) for configs in hashes for at in configs.values()):
                raise ValueError
        except (ValueError, AttributeError, RecursionError):
            raise ValueError("it is damaged") from None
        return cast(Sections, sections)

    def _write(self, change: Callable[[Sections], T], *, must_persist: bool = False) -> T:
        """`must_persist`: raise an error if the change cannot be written."""
        with self._lock:
            try:
                return self._change_file(change)
            except (OSError, ValueError) as error:
                if must_persist:
                    raise FileError(
                        f"The trust record {self.path} cannot be changed ({_why(error)}). Fix its permissions, or name "
                        "another folder with TIDEPOOL_STATE."
                    ) from None
                self._warn(error)
            return change(self._unwritten)

    def _change_file(self, change: Callable[[Sections], T]) -> T:
        """Creates the record if it is missing, readable by its owner only, and replaces it atomically."""
        from filelock import FileLock

        self._refuse_no_home()
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(self.path.with_suffix(".lock"), timeout=BUSY_SECONDS, mode=0o600):
            sections = self._load() if os.path.lexists(self.path) else {}
            result = change(sections)
            replace_file(self.path, json.dumps(sections).encode())
        return result

    def _refuse_no_home(self) -> None:
        """Without a home folder, the path is relative, and would depend on the working folder."""
        if not self.path.is_absolute():
            raise FileNotFoundError(0, "this user has no home folder")

    def _refuse_what_others_wrote(self) -> None:
        if self.path.is_symlink():
            raise PermissionError("it is a symbolic link, which could point to an outdated record")
        refuse_writable_by_others(self.path)
        if self.path.stat().st_mode & OTHERS_ANY:
            self.path.chmod(0o600)

    def _warn(self, error: Exception) -> None:
        if self._warned:
            return
        self._warned = True
        _report(
            f"the trust record {self.path} cannot be used ({_why(error)}). Trust is kept for this "
            "process only. You can name another folder with TIDEPOOL_STATE."
        )


_records: dict[Path, TrustRecord] = {}
_opening = threading.Lock()


def _why(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _section(sections: Sections, name: str) -> Section:
    return sections.setdefault(name, {})


def _add(sections: Sections, name: str, entry_id: str, config: str) -> None:
    _section(sections, name).setdefault(entry_id, {})[config_hash(config)] = time.time()


class ReplySeals:
    def __init__(self) -> None:
        self._secret = trust_record().secret()
        self._texts: set[bytes] = set()
        """hashes of replies that may run"""

    def received(self, key: bytes, text: str) -> bytes:
        """The seal to store with a reply that a provider just gave to the request with this key."""
        self._texts.add(_hash(text))
        return self._seal(key, text)

    def admits(self, key: bytes, text: str, seal: bytes | None) -> bool:
        """Whether this user received the stored reply to exactly this request."""
        fits = isinstance(seal, bytes) and hmac.compare_digest(seal, self._seal(key, text))
        if fits:
            self._texts.add(_hash(text))
        return fits

    def refuse_unknown(self, text: str) -> None:
        """Called before the text runs, or is passed to a scorer."""
        if _hash(text) not in self._texts:
            raise NotTrusted(
                "A stored reply was changed, or was received on another machine, so it was not run as code. If you know its "
                "origin, stop the batch, trust it as it is now (tidepool trust add BATCH) and resume it."
            )

    def _seal(self, key: bytes, text: str) -> bytes:
        return hmac.digest(self._secret, _hash(text) + key, "sha256")


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
