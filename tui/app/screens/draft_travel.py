"""A draft comes and goes: from a template or a file, into a file, and off to run."""

from pathlib import Path

from textual import work

from tidepool.engine.config.toml_files import read_text
from tidepool.engine.errors import TidepoolError
from tidepool.storage.queries.watching import all_watched
from tidepool.tui.app import launching
from tidepool.tui.app.compose_model.desk import Desk
from tidepool.tui.app.compose_model.draft import fresh, read_draft
from tidepool.tui.app.compose_model.edits import value_at
from tidepool.tui.app.compose_model.examining import Examined
from tidepool.tui.app.compose_model.plan_words import cost, is_free, key_words
from tidepool.tui.app.compose_model.running import anchored, config_to_run
from tidepool.tui.app.dialogs.dialog import Confirm
from tidepool.tui.app.dialogs.draft_files import DraftOrigin, OpenDialog, SaveDialog
from tidepool.tui.app.screens.mode_screen import ModeScreen
from tidepool.tui.drawing.plain import one_line
from tidepool.tui.drawing.words import dollars


class DraftTravel(ModeScreen):
    def __init__(self) -> None:
        super().__init__()
        self._desk: Desk | None = None

    @property
    def desk(self) -> Desk:
        if self._desk is None:
            kept = read_draft(self.tidepool.path)
            self._desk = Desk(kept or fresh())
        return self._desk

    @property
    def folder(self) -> Path:
        """Where relative paths of the draft start."""
        source = self.desk.draft.source
        return Path(source).parent if source else Path.cwd()

    def load(self, text: str, source: str = "") -> None:
        """Takes a config as TOML, of another batch or a file."""
        raise NotImplementedError

    async def settled(self) -> str:
        """The text, with every key that was pressed so far."""
        raise NotImplementedError

    async def keep(self) -> None:
        raise NotImplementedError

    def show_source(self) -> None:
        raise NotImplementedError

    def show_examined(self, examined: Examined) -> None:
        raise NotImplementedError

    async def action_next_fault(self) -> None:
        raise NotImplementedError

    @work(group="files")
    async def action_open(self) -> None:
        await self.settled()
        batches = await self.tidepool.file.look(all_watched, self.tidepool.path)
        origin = await self.app.push_screen_wait(OpenDialog(self.desk.draft, batches))
        if origin is None:
            return
        try:
            text = await self._text_of(origin)
        except TidepoolError as error:
            self.tidepool.tell(error)
            return
        self.load(text, str(origin.path.resolve()) if origin.group == "file" and origin.path else "")

    async def _text_of(self, origin: DraftOrigin) -> str:
        """An example names the files beside it, which stay where they are."""
        from tidepool.tui.drawing.config_text import config_of

        if origin.batch is not None:
            return await self.tidepool.file.look(config_of, origin.batch.number)
        if origin.path is None:
            return origin.text or ""
        text = read_text(origin.path)
        return anchored(text, origin.path.parent) if origin.group == "example" else text

    @work(group="files")
    async def action_save(self) -> None:
        text = await self.settled()
        path = await self.app.push_screen_wait(SaveDialog(self.desk.draft.source or self._suggested()))
        if path is None:
            return
        try:
            await self.tidepool.file.do(Path(path).write_text, text, encoding="utf-8")
        except OSError as error:
            self.tidepool.tell(f"{path} cannot be written: {error.strerror}. Choose another place.")
            return
        self.desk.saved(path)
        self.show_source()
        await self.keep()
        self.notify(one_line(f"Saved as {path}."), markup=False)

    def _suggested(self) -> str:
        name = value_at(self.desk.values, ("batch", "name"))
        words = "".join(c if c.isalnum() else "-" for c in name.casefold()) if isinstance(name, str) else ""
        return f"{'-'.join(filter(None, words.split('-')))[:40] or 'study'}.toml"

    @work(group="run", exclusive=True)
    async def action_run(self) -> None:
        text = await self.settled()
        await self.keep()
        examined = await self.tidepool.examiner.examine(text, self.folder, self.tidepool.path)
        self.show_examined(examined)
        if not examined.ready:
            self.notify("Not ready yet: see what is marked.", severity="warning", markup=False)
            await self.action_next_fault()
            return
        if not is_free(examined) and not await self._agreed(examined):
            return
        try:
            path = await self.tidepool.file.do(
                config_to_run, text, self.desk.draft.source, self.folder, launching.log_folder()
            )
        except OSError as error:
            self.tidepool.tell(f"The study cannot be handed to its process: {error.strerror}.")
            return
        self.tidepool.run_config(path, (examined.plan or {})["name"])

    async def _agreed(self, examined: Examined) -> bool:
        plan = examined.plan or {}
        expected = cost(examined)
        price = f"about {dollars(expected)}" if expected is not None else "a price that is not known"
        cap = f"The budget caps it at {dollars(plan['budget_usd'])}." if plan["budget_usd"] else "No budget caps it."
        question = f"This asks {', '.join(examined.models)}: {plan['calls']:,} calls for {price}. {cap}"
        question = "\n\n".join((*key_words(plan), question, *plan["transport"]["words"]))
        agreed = await self.app.push_screen_wait(Confirm(question, "Run", no="Not yet", title="Real models"))
        return bool(agreed)
