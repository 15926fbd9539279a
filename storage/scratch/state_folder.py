"""Where Tidepool keeps what belongs to its user and to no study file."""

import os
from pathlib import Path

FOLDER_VARIABLE = "TIDEPOOL_STATE"
CONFIG_VARIABLE = "TIDEPOOL_CONFIG"


def state_folder() -> Path:
    """TIDEPOOL_STATE, else the user's own state folder. It need not exist yet, and is not absolute where there is no home."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).absolute()
    from platformdirs import user_state_path

    return user_state_path("tidepool")


def config_folder() -> Path:
    """TIDEPOOL_CONFIG, else the user's own config folder: what they wrote themselves. It need not exist."""
    if named := os.environ.get(CONFIG_VARIABLE):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("tidepool")
