"""How far a provider's list is searched for a batch that may exist: a wrong clock of ours must not end the search early."""

from tidepool.engine.providers.batch_api import EARLIER, ListEnd

HOUR, YEAR = 3600.0, 365 * 86_400.0
NOW = 2_000_000_000.0


def test_a_batch_ordered_while_our_clock_was_ahead_is_searched_for_all_the_same() -> None:
    for ahead in (3 * HOUR, YEAR):
        end = ListEnd(NOW + ahead)
        assert not end.is_behind(NOW + 60), "the newest of the list, made after the one that is looked for"
        assert not end.is_behind(NOW)


def test_what_is_older_than_any_doubt_ends_the_search() -> None:
    end = ListEnd(NOW)
    assert not end.is_behind(NOW + HOUR)
    assert not end.is_behind(None)
    assert end.is_behind(NOW - EARLIER - 1)
