"""The building blocks of packages that extend Tidepool. docs/plugins.md shows each of them in use.

These names are stable for other packages. Everything else in `tidepool.engine` may change.
"""

from tidepool.engine.call import FREE, Call, Message, PriceTag, Reply, expected_tokens
from tidepool.engine.config.section import Section
from tidepool.engine.config.sections import Config, FrozenConfig, ModelName, ProviderSettings
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.errors import CallFailed, UsageError
from tidepool.engine.inference.measures import BatchValues, Outcome, Sections, Talk
from tidepool.engine.kinds import Kind
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError, ProviderSpec
from tidepool.engine.providers.protocol import Provider as LiveProvider
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import Plan, PlannedCalls
from tidepool.engine.runtime.unit import Unit, UnitPlan
from tidepool.engine.studies.evolution.tasks.verdict import Verdict
from tidepool.engine.studies.mutation.operators import Operator
from tidepool.engine.studies.results import Results
from tidepool.engine.studies.secret_game.detectors.normalise import Folded
from tidepool.engine.studies.study import Study
from tidepool.storage.queries.units import StoredUnit, units_in_pages

__all__ = [
    "FREE",
    "Answer",
    "BatchRun",
    "BatchValues",
    "Call",
    "CallFailed",
    "Config",
    "ErrorClass",
    "Folded",
    "FrozenConfig",
    "Kind",
    "LiveProvider",
    "Message",
    "ModelName",
    "Operator",
    "Outcome",
    "Plan",
    "PlannedCalls",
    "PriceTag",
    "ProviderError",
    "ProviderSettings",
    "ProviderSpec",
    "Reply",
    "Results",
    "Section",
    "Sections",
    "StoredConfig",
    "StoredUnit",
    "Study",
    "Talk",
    "Unit",
    "UnitPlan",
    "UsageError",
    "Verdict",
    "expected_tokens",
    "units_in_pages",
]
