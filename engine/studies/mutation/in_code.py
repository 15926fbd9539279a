"""A query mutation, built in code."""

from typing import Literal

from tidepool.engine.config.section import with_keywords_in_help
from tidepool.engine.config.sections import Study
from tidepool.engine.studies.mutation.config import MutationSettings


@with_keywords_in_help
class Mutation(MutationSettings, Study):
    """A query mutation built in code: a policy learns which rewriting of a query gets the better answer.

    Mutation(target="ollama:llama3.2", learner="bandit")
    """

    settings_type = MutationSettings

    kind: Literal["mutation"] = "mutation"
    """always that"""
