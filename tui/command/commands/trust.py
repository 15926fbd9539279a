"""`tidepool trust`: the servers and batches that this machine trusts, listed and changed. No key is ever kept."""

import argparse
import re

from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.errors import NotFound, UsageError
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.trust.adoption import adopt
from tidepool.engine.trust.origins import ServerOrigin, origin_of
from tidepool.engine.trust.record import TrustedServer, trust_record
from tidepool.engine.trust.servers import servers_named
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.tui.command.saying import say, say_json

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "add", "remove"))
    parser.add_argument("what", nargs="?", metavar="SERVER|BATCH", help="http://HOST:PORT, or a batch of the file")
    parser.add_argument(
        "--key", action="append", metavar="VARIABLE", help="the variable whose key may go to the server; repeatable"
    )
    parser.epilog = "A batch is trusted with the config it has now: changed by anybody else, it is a stranger again."


def run(options: argparse.Namespace) -> int:
    if options.action == "list":
        _list(options)
    elif not options.what:
        raise UsageError(f"tidepool trust {options.action}: name a server (http://HOST:PORT) or a batch.")
    elif "://" in options.what:
        _change_server(options, _origin(options.what))
    else:
        _change_batch(options)
    return 0


def _list(options: argparse.Namespace) -> None:
    servers, batches = trust_record().servers(), trust_record().batches()
    if options.json:
        rows = {
            "servers": [{"server": str(one.origin), "key": one.key_variable or None} for one in servers],
            "batches": [{"id": one.id, "config": one.config_hash} for one in batches],
        }
        say_json(rows)
        return
    if not servers and not batches:
        say("nothing yet: batches that are made here are added by themselves")
    for server in servers:
        say(f"server {server.origin}  {server.key_variable or 'without a key'}")
    for batch in batches:
        say(f"batch  {batch.id}  config {batch.config_hash[:12]}")


def _origin(address: str) -> ServerOrigin:
    origin = origin_of(address)
    if origin is None:
        raise UsageError("This is no address of a server: write http://HOST:PORT, without a name or password.")
    return origin


def _change_server(options: argparse.Namespace, origin: ServerOrigin) -> None:
    for variable in options.key or ():
        if not _VARIABLE.fullmatch(variable):
            raise UsageError(
                "--key wants the name of a variable, such as OPENAI_API_KEY; the key itself is never kept."
            )
    if options.action == "remove":
        removed = sum(trust_record().forget_server(origin, variable) for variable in options.key or [None])
        if not removed:
            raise NotFound(f"The server {origin} is not in the trust record. `tidepool trust list` shows what is.")
        say(f"no longer trusted: {origin}")
        return
    for variable in options.key or [""]:
        trust_record().add_server(TrustedServer(origin, variable))
    say(f"trusted: {origin} {'with ' + ' and '.join(options.key) if options.key else 'without a key'}")


def _change_batch(options: argparse.Namespace) -> None:
    if options.action == "remove":
        say(f"no longer trusted: {_forgotten(options.what)}")
        return
    with reading(options.db) as connection:
        batch = find_batch(connection, options.what)
    config = load_frozen(batch["config"])
    named = servers_named(config, load_kind(config.batch.kind).models(config))
    adopt(options.db, batch["id"], batch["config"])
    say(f"trusted: batch {batch['id']}, which asks")
    for line in [one.in_words for one in named] or ["nobody but the providers' own servers"]:
        say(f"  {line}")


def _forgotten(reference: str) -> str:
    """By its id, or a beginning that fits one batch alone; its file need not be there any more."""
    ids = sorted({one.id for one in trust_record().batches() if one.id.startswith(reference)})
    found = [reference] if reference in ids else ids
    if not found:
        raise NotFound(f"No batch {reference!r} is in the trust record. `tidepool trust list` shows what is.")
    if len(found) > 1:
        raise NotFound(f"{reference!r} fits several batches ({', '.join(found[:9])}): give more of the id.")
    trust_record().forget_batch(found[0])
    return found[0]
