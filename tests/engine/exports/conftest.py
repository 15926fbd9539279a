from tests.engine.secret_game.conftest import table

__all__ = ["table"]
