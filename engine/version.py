"""Which Tidepool this is: kept with every batch, and compared with that of hands on other machines."""

from importlib.metadata import PackageNotFoundError, version


def program_version() -> str:
    try:
        return version("tidepool-lab")
    except PackageNotFoundError:
        return "unknown"
