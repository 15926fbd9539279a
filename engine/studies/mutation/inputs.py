"""The inputs of a mutation study, from its settings: file contents, rules, training, queries, a saved policy."""

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from tidepool.engine.config.sections import ConfigSections
from tidepool.engine.config.toml_files import named_file
from tidepool.engine.errors import UsageError, located
from tidepool.engine.studies.mutation.config import MutationSettings, WrittenQuery
from tidepool.engine.studies.mutation.environment import EpisodeRules
from tidepool.engine.studies.mutation.learners import require_extra
from tidepool.engine.studies.mutation.operators import with_noop
from tidepool.engine.studies.mutation.policy import PolicyCard, SavedPolicy, load_policy, policy_bytes, read_policy
from tidepool.engine.studies.mutation.queries import BUILTIN, Query, check_queries, load_queries


def with_files(settings: MutationSettings, folder: Path | None) -> MutationSettings:
    """Reads the queries and the policy into the config, so that a resume needs no file. Checks them as far as possible."""
    if settings.query_list and (settings.policy_content or not settings.policy):
        return settings
    queries = _read_queries(settings, folder)
    content = _read_policy_file(settings, folder)
    frozen = settings.model_copy(update={"query_list": queries, "policy_content": content})
    saved = saved_policy(frozen)
    if saved is not None:
        _check_policy(saved.card, settings)
        heldout_for(saved.card, queries_of(frozen))
    elif settings.learner == "ppo":
        require_extra()
    return frozen


def _read_queries(settings: MutationSettings, folder: Path | None) -> list[WrittenQuery]:
    if settings.query_list:
        with located("mutation", "query_list"):
            check_queries(queries_of(settings), "mutation.query_list")
        return settings.query_list
    source = settings.queries if settings.queries == BUILTIN else str(_find_file(settings.queries, folder, "queries"))
    with located("mutation", "queries"):
        queries = load_queries(source, references_needed=settings.reward != "keyword")
    return [WrittenQuery(query=query.text, reference=query.reference, kind=query.kind) for query in queries]


def _find_file(name: str, folder: Path | None, key: str) -> Path:
    """Beside the config, else in the working folder, for `--set mutation.policy=…`."""
    path = Path(name).expanduser()
    in_folder = named_file(str(path), folder, "mutation", key)
    return path if not in_folder.exists() and path.exists() else in_folder


def _read_policy_file(settings: MutationSettings, folder: Path | None) -> str:
    if settings.policy_content or not settings.policy:
        return settings.policy_content
    path = _find_file(settings.policy, folder, "policy")
    with located("mutation", "policy"):
        saved = load_policy(path)
    return base64.b64encode(policy_bytes(saved)).decode()


def _check_policy(card: PolicyCard, settings: MutationSettings) -> None:
    if card.operators != tuple(settings.operators):
        raise UsageError(
            f"The policy chooses among {', '.join(card.operators)}, in this order, but mutation.operators lists others.",
            ("mutation", "operators"),
        )
    if card.encoder != settings.encoder:
        raise UsageError(
            f'The policy reads queries encoded by "{card.encoder}", but mutation.encoder is "{settings.encoder}". '
            f'Set encoder = "{card.encoder}".',
            ("mutation", "encoder"),
        )


def rules_of(settings: MutationSettings) -> EpisodeRules:
    return EpisodeRules(
        settings.episode_length, settings.success, settings.reward, settings.on_error, tuple(settings.operators)
    )


def queries_of(settings: MutationSettings) -> tuple[Query, ...]:
    return tuple(Query(written.query, written.reference, written.kind) for written in settings.query_list)


def saved_policy(settings: MutationSettings) -> SavedPolicy | None:
    if not settings.policy_content:
        return None
    source = settings.policy or "mutation.policy_content"
    with located("mutation", "policy" if settings.policy else "policy_content"):
        try:
            content = base64.b64decode(settings.policy_content, validate=True)
        except (binascii.Error, ValueError):
            raise UsageError(f"{source}: not a usable policy, because it is not base64.") from None
        return read_policy(content, source)


def heldout_for(card: PolicyCard, queries: Sequence[Query]) -> tuple[Query, ...]:
    """The queries that may test a policy: those that it was not trained on."""
    trained_on = set(card.trained_on)
    unknown = tuple(query for query in queries if query.fingerprint not in trained_on)
    if not unknown:
        message = "The policy was trained on all of these queries, so none is left to test it."
        raise UsageError(message, ("mutation", "policy"))
    return unknown


def heldout_episodes(settings: MutationSettings, queries: int) -> int:
    """Episodes of the comparison: the policy, random play, other learners, and each operator as a constant policy."""
    learned = [name for name in settings.stated_baselines() if name != "random"]
    return queries * settings.repeats * (2 + len(learned) + len(with_noop(settings.operators)))


def settings_of(config: ConfigSections) -> MutationSettings:
    return cast(MutationSettings, config.settings)
