"""A rewriting operator of the mutation: what the model that rewrites is told to do with a query."""

from tidepool.engine.extending import Operator

ASK_FOR_EXAMPLE = Operator("ask_for_example", "Ask the same question, and ask for an example from daily life.")
