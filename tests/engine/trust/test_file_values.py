"""Every value of a study file, and why it cannot decide where a run sends requests, with which key, or what it executes.

A new config key or column fails here until it has a row. The rules:

DATA     obeyed from any file: it says what is asked, or bounds how. It names no server, key variable, program or cluster.
OWN      obeyed only in the user's own batch: the trust record knows the id together with the hash of the whole config.
SEALED   run as code only with a seal that this user's secret made.
RUNNING  obeyed only while this process runs the batch, and never from what the file held before.
SHOWN    read by reports and screens, not by a run.
"""

from collections import Counter
from enum import StrEnum
from typing import NamedTuple

from sqlmodel import SQLModel

import tidepool.storage.tables  # noqa: F401  (registers the tables)
from tidepool.engine.config.cluster import Cluster
from tidepool.engine.config.sections import (
    Agent,
    Batch,
    Config,
    Design,
    ProviderSettings,
    Service,
    SimulatedSettings,
    StopWhenSure,
)
from tidepool.engine.kinds import KINDS, load_kind
from tidepool.engine.trust.foreign_keys import FILE_KEYS, LIMIT_KEYS, SIMULATED_KEYS


class Rule(StrEnum):
    DATA = "data"
    OWN = "own"
    SEALED = "sealed"
    RUNNING = "running"
    SHOWN = "shown"


class FileValue(NamedTuple):
    place: str
    """a section of the config, or a table of the file"""
    names: str
    """keys or columns, separated by spaces"""
    rule: Rule
    why: str


_ASKED = "what is asked and measured; a model is only a name, and the gate asks about its provider"
_TAKEN_IN = "a frozen config that names a file is refused: files are read when the user runs a config, not from a batch"
_LIMITS = (
    "max_concurrent batch_size requests_per_minute tokens_per_minute retries timeout poll_interval rescue_after cache "
    "budget_usd batch_from outage_patience"
)

CONFIG_VALUES = (
    FileValue("batch", "kind", Rule.DATA, "the registered name of a built-in or installed kind, never a path; the gate asks "
              "before an installed kind runs"),
    FileValue("batch", "name description seed metadata", Rule.DATA, _ASKED),
    FileValue("service", f"name {_LIMITS}", Rule.DATA, "bounded numbers: how fast, how patiently, for how much at most"),
    FileValue("providers", f"{_LIMITS} like batch_api", Rule.DATA, "the same, and which of three API dialects is spoken"),
    FileValue("providers", "latency jitter error_rate fatal_rate enforced_per_minute price_input price_output batch_seconds "
              "batch_error_rate batch_expire_rate batch_refuse", Rule.DATA, "of the simulated provider, which calls nothing"),
    FileValue("providers", "base_url hosts", Rule.OWN, "where requests go"),
    FileValue("providers", "api_key_env", Rule.OWN, "which variable's value goes there"),
    FileValue("providers", "prices", Rule.OWN, "a forged price of zero would lift the budget"),
    FileValue("cluster", "ray hands resources", Rule.OWN, "which cluster is joined; no frozen config holds it"),
    FileValue("design", "replicates mode factors hypotheses", Rule.DATA, "crosses values of the config; dropped from a copy "
              "when a level sets a key that runs code"),
    FileValue("stop", "outcome agent half_width decided difference line", Rule.DATA, "when a run ends before its plan"),
    FileValue("agents", "name model secret memory temperature max_tokens reasoning_effort max_reasoning_tokens instructions",
              Rule.DATA, _ASKED),
    FileValue("agent_ids", "", Rule.DATA, _TAKEN_IN),
    FileValue("entities", "", Rule.DATA, _ASKED),
    FileValue("secret_game", "mode games rounds num_interactions messages_per_interaction pairing targeted_secret "
              "announce_target detection fuzzy_threshold judge reasoning_effort max_reasoning_tokens scoring scenarios",
              Rule.DATA, _ASKED),
    FileValue("simulation", "context interaction_size num_simulations n_turns simulation_rounds model style thoughts language "
              "speaking_order temperature max_tokens reasoning_effort max_reasoning_tokens judge",
              Rule.DATA, _ASKED),
    FileValue("simulation", "context_file entity_file entity_ids", Rule.DATA, _TAKEN_IN),
    FileValue("evolution", "strategy model models mutator proposals preset async_batch_size max_concurrent_requests "
              "genome_batch_size max_concurrent_genomes rate_limit_per_minute async_timeout dynamic enable_async_evaluation "
              "population_size max_generations seed_prompts few_shot fields question_template task judge rubric "
              "labels max_problems validation_problems pass_mark marking_seconds samples temperature "
              "max_tokens reasoning_effort max_reasoning_tokens selection crossover crossover_rate mutation_rate elite_size "
              "weights target_fitness stagnation max_calls racing seed_final random_baseline frozen", Rule.DATA, _ASKED),
    FileValue("evolution", "problems judge_from", Rule.DATA, _TAKEN_IN),
    FileValue("evolution", "scorer scorer_sha256", Rule.OWN, "has code run on this machine"),
    FileValue("mutation", "target mutator encoder judge reward success heldout learner num_processes num_steps num_env_steps "
              "ppo_epoch num_mini_batch learning_rate gamma gae_lambda clip entropy episode_length use_batching operators "
              "on_error baselines repeats temperature max_tokens reasoning_effort max_reasoning_tokens query_list",
              Rule.DATA, _ASKED),
    FileValue("mutation", "queries policy", Rule.DATA, _TAKEN_IN),
    FileValue("mutation", "policy_content", Rule.DATA, "arrays of numbers (safetensors), checked; never a pickle"),
)  # fmt: skip

_COUNTED = "counters: at worst a budget that the config states is spent again"
_TEXT = "text that is shown to models and people, never run or rendered"

COLUMNS = (
    FileValue("batch", "config", Rule.OWN, "see CONFIG_VALUES; its hash is part of the trust record"),
    FileValue("batch", "number id kind seed status study_id replicate imported", Rule.DATA,
              "which batch it is, and how far; its kind must be the config's, and cells of a study are judged together"),
    FileValue("batch", "origin", Rule.OWN, "of a branch: which messages it continues from; its hash is in the trust record"),
    FileValue("batch", "paused host created_at finished_at reason stop_code name description simulated version headline", Rule.SHOWN,
              "rewritten when a run begins; `queued` starts nothing"),
    FileValue("control", "id batch_number at command arguments taken_at", Rule.RUNNING,
              "stop, pause, continue, give up, and limits by `limit_changes` alone; rows that were there before are skipped"),
    FileValue("call", "text seal", Rule.SEALED, "a stored or cached reply is replayed as text; as code only with its seal"),
    FileValue("call", "id unit_id step wave turn speaker model key prompt status truth input_tokens output_tokens cost_usd "
              "seconds source attempts error order_id at finish_reason served_model thought reasoning_tokens usage_missing",
              Rule.DATA, "replayed where `key` is the hash of the very request; imported batches never serve as cache"),
    FileValue("provider_batch", "id batch_number provider lot upload_id remote_id unsure state remote_state calls count wave "
              "content_hash reservation_usd created_at finished_at polled_at", Rule.OWN,
              "ids in the user's account, checked for their form; an answer must carry the custom id of its call, and a file "
              "that is deleted the name of an upload"),
    FileValue("progress", "batch_number units_total units_completed units_failed calls bought cached replayed retried failed "
              "input_tokens output_tokens cost_usd unpriced seconds call_seconds peak_concurrency heartbeat heartbeat_at "
              "in_flight limits in_flight_usd reasoning_tokens cut unusable usage_missing", Rule.DATA, _COUNTED),
    FileValue("wave", "batch_number wave calls failed cached retried seconds transport", Rule.DATA, _COUNTED),
    FileValue("surplus", "id batch_number order_id unit_id step text input_tokens output_tokens cost_usd at reason",
              Rule.DATA, _COUNTED),
    FileValue("unit", "id batch_number sequence_number game round interaction_type participants status error sealed "
              "started_at finished_at details", Rule.DATA, "which units have ended; the rest follows from the config"),
    FileValue("measure", "unit_id position measure participant value cluster", Rule.DATA, "values and labels, shown as text"),
    FileValue("record", "unit_id name position content", Rule.DATA, "JSON: messages of a branch, or of an installed kind"),
    FileValue("answer", "unit_id step generation genome_id split problem sample extracted correct score details", Rule.DATA,
              "marks: a forged one falsifies a result, and runs nothing"),
    FileValue("finding", "batch_number name content", Rule.DATA, "JSON; a trained policy is safetensors, never a pickle"),
    FileValue("prompt", "hash text", Rule.SHOWN, _TEXT),
    FileValue("line", "unit_id step position turn speaker start length thought_start thought_length", Rule.SHOWN, _TEXT),
    FileValue("outcome", "unit_id side mode game agent opponent revealed obtained detector turn start end score verdict "
              "verdict_step scenario secret uncertain model served_model details", Rule.DATA, "what stop rules count"),
    FileValue("judgement", "unit_id place entity rating", Rule.DATA, "what stop rules count"),
    FileValue("sit_out", "batch_number game round agent", Rule.SHOWN, _TEXT),
    FileValue("genome", "batch_number generation genome_id parents operator prompt fitness accuracy missing details",
              Rule.SHOWN, _TEXT),
    FileValue("problem", "batch_number split number question gold", Rule.SHOWN, "a run takes its problems from the config"),
    FileValue("training_update", "batch_number update_number env_steps mean_reward success_rate details", Rule.SHOWN, _TEXT),
    FileValue("code", "unit_id side turn coder agent code weight details at", Rule.SHOWN, "codes that people gave by hand"),
    FileValue("log_line", "id batch_number at level message", Rule.SHOWN, _TEXT),
    FileValue("study", "id name created_at", Rule.DATA, "which cells belong together; each cell runs by its own config"),
    FileValue("study", "design", Rule.OWN, "its source becomes a config again by export; its hash is in the trust record"),
    FileValue("study_cell", "batch_number factor level", Rule.DATA, "names of levels"),
    FileValue("library_agent", "id name definition created_at", Rule.DATA, "an agent of the config; " + _ASKED),
    FileValue("library_entity", "id name type description attributes created_at", Rule.DATA, _TEXT),
    FileValue("library_type", "name definition created_at", Rule.DATA, _TEXT),
)  # fmt: skip

SECTIONS = {
    "batch": {*Batch.model_fields},
    "service": {*Service.model_fields},
    "providers": {*ProviderSettings.model_fields, *SimulatedSettings.model_fields},
    "cluster": {*Cluster.model_fields},
    "design": {*Design.model_fields},
    "stop": {*StopWhenSure.model_fields},
    "agents": {*Agent.model_fields},
    "agent_ids": set[str](),
    "entities": set[str](),
    **{name: {*load_kind(name).settings.model_fields} for name in KINDS.builtin},
}


def listed(values: tuple[FileValue, ...]) -> Counter[tuple[str, str]]:
    return Counter((one.place, name) for one in values for name in one.names.split())


def test_every_key_of_a_config_has_one_row() -> None:
    assert {*SECTIONS} - {*KINDS.builtin} == {*Config.model_fields} - {"settings"}
    assert listed(CONFIG_VALUES) == Counter((place, name) for place, names in SECTIONS.items() for name in names)
    assert {one.place for one in CONFIG_VALUES} == {*SECTIONS}


def test_every_column_of_the_file_has_one_row() -> None:
    tables = SQLModel.metadata.sorted_tables
    assert listed(COLUMNS) == Counter((table.name, column.name) for table in tables for column in table.columns)


def test_what_names_servers_keys_clusters_and_code_is_never_data() -> None:
    rules = {(one.place, name): one.rule for one in CONFIG_VALUES for name in one.names.split()}
    for place, name in (
        *(("providers", key) for key in ("base_url", "hosts", "api_key_env", "prices")),
        *(("evolution", key) for key in ("scorer", "scorer_sha256")),
        *(("cluster", key) for key in Cluster.model_fields),
    ):
        assert rules[place, name] is Rule.OWN
    assert all(one.why for one in (*CONFIG_VALUES, *COLUMNS))


def test_a_copy_keeps_the_keys_of_a_provider_that_are_data_and_no_others() -> None:
    kept = {
        key for one in CONFIG_VALUES if (one.place, one.rule) == ("providers", Rule.DATA) for key in one.names.split()
    }
    assert kept == LIMIT_KEYS | SIMULATED_KEYS
    files = {key for one in CONFIG_VALUES if one.why == _TAKEN_IN for key in one.names.split()}
    assert files - {"entity_ids"} == FILE_KEYS
