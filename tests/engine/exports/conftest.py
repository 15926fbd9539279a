from tests.engine.studies.secret_game.conftest import table

__all__ = ["table"]
