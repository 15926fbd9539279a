"""Which keys of a foreign config are obeyed. A new key fails here until somebody has decided whether a file may set it."""

from tidepool.engine.config.cluster import Cluster
from tidepool.engine.config.sections import Config, ProviderSettings, SimulatedSettings
from tidepool.engine.kinds import KINDS, load_kind
from tidepool.engine.trust.foreign_keys import FILE_KEYS, LIMIT_KEYS, SIMULATED_KEYS

OWN = {"base_url", "hosts", "api_key_env", "prices"}
"""where requests go, with which key, and prices, which could lift the budget: obeyed only in the user's own batch"""


def test_a_copy_keeps_the_keys_of_a_provider_that_are_limits_and_no_others() -> None:
    assert {*ProviderSettings.model_fields, *SimulatedSettings.model_fields} == OWN | LIMIT_KEYS | SIMULATED_KEYS
    assert not OWN & (LIMIT_KEYS | SIMULATED_KEYS)


def test_a_config_has_no_further_section_that_could_name_servers_or_code() -> None:
    data = {"batch", "service", "design", "stop", "agents", "agent_ids", "entities", "settings"}
    assert {*Config.model_fields} - data == {"providers", "cluster"}
    assert {*Cluster.model_fields} == {"ray", "hands", "resources"}, "no frozen config holds it"


def test_keys_that_read_files_or_run_code_are_known() -> None:
    fields = {key for name in KINDS.builtin for key in load_kind(name).settings.model_fields}
    files = {key for key in fields if key.endswith(("_file", "_from"))} | {"problems", "queries", "policy"}
    assert files == FILE_KEYS
    assert {key for key in fields if key.startswith("scorer")} == {"scorer", "scorer_sha256"}
