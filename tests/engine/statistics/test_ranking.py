from tidepool.engine.statistics.ranking import standings


def test_the_best_mean_comes_first_and_a_clear_order_is_certain():
    found = standings({"Bo": {0.0: 90, 3.0: 10}, "Ada": {0.0: 10, 3.0: 90}, "Cy": {0.0: 50, 3.0: 50}})
    assert [(standing.name, standing.rank, standing.rank_interval) for standing in found] == [
        ("Ada", 1, (1, 1)),
        ("Cy", 2, (2, 2)),
        ("Bo", 3, (3, 3)),
    ]
    assert (found[0].mean, found[0].best_probability) == (2.7, 1)
    assert found[0].interval[0] < 2.7 < found[0].interval[1]


def test_a_close_race_is_told_as_one():
    found = standings({"Ada": {0.0: 10, 1.0: 11}, "Bo": {0.0: 11, 1.0: 10}})
    assert [standing.rank_interval for standing in found] == [(1, 2), (1, 2)]
    assert 0.5 < found[0].best_probability < 0.9


def test_equal_means_share_a_rank():
    found = standings({"Ada": {1.0: 5}, "Bo": {1.0: 9}, "Cy": {0.0: 3}})
    assert [(standing.name, standing.rank) for standing in found] == [("Ada", 1), ("Bo", 1), ("Cy", 3)]
    assert found[0].best_probability == found[1].best_probability == 1


def test_contenders_without_values_are_left_out_and_the_order_of_entry_is_no_matter():
    assert standings({"Ada": {}}) == []
    one = {"Ada": {0.0: 4, 1.0: 5}, "Bo": {0.0: 5, 1.0: 5}, "Cy": {}}
    assert standings(one) == standings(dict(reversed(one.items())))
