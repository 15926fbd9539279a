"""The list of what a run reads from a file is complete: a new config key or column needs a row that says why it is safe."""

from collections import Counter

from sqlmodel import SQLModel

import tidepool.storage.schema.study_tables
import tidepool.storage.schema.tables  # noqa: F401  (registers the tables)
from tidepool.engine.config.design import Design
from tidepool.engine.config.sections import Agent, Batch, Config, ProviderSettings, Service, SimulatedSettings
from tidepool.engine.config.stop import StopWhenSure
from tidepool.engine.runtime.cluster_section import Cluster
from tidepool.engine.studies.kinds import KINDS, load_kind
from tidepool.engine.trust.file_values import COLUMNS, CONFIG_VALUES, FileValue, Rule

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
    **{name: {*load_kind(name).settings().model_fields} for name in KINDS.own},
}


def listed(values: tuple[FileValue, ...]) -> Counter[tuple[str, str]]:
    return Counter((one.place, name) for one in values for name in one.names.split())


def test_every_key_of_a_config_has_one_row() -> None:
    assert {*SECTIONS} - {*KINDS.own} == {*Config.model_fields} - {"settings"}
    assert listed(CONFIG_VALUES) == Counter((place, name) for place, names in SECTIONS.items() for name in names)
    assert {one.place for one in CONFIG_VALUES} == {*SECTIONS}


def test_every_column_of_the_file_has_one_row() -> None:
    tables = SQLModel.metadata.sorted_tables
    assert listed(COLUMNS) == Counter((table.name, column.name) for table in tables for column in table.columns)


def test_what_names_servers_keys_clusters_and_code_is_never_data() -> None:
    rules = {(one.place, name): one.rule for one in CONFIG_VALUES for name in one.names.split()}
    for place, name in (
        *(("providers", key) for key in ("base_url", "hosts", "api_key_env", "prices")),
        *(("evolution", key) for key in ("allow_code", "scorer", "scorer_sha256")),
        *(("cluster", key) for key in Cluster.model_fields),
    ):
        assert rules[place, name] is Rule.OWN
    assert all(one.why for one in (*CONFIG_VALUES, *COLUMNS))
