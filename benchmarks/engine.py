"""The engine's rows of the performance table, with the sizes of the promises."""

from collections.abc import Iterator

from tidepool.engine.bench import Measurement, measure


def prove() -> Iterator[Measurement]:
    yield from measure(lambda text: print(f"   … {text}", flush=True), full=True)


if __name__ == "__main__":
    for figure in prove():
        print(figure)
