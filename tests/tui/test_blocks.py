"""Pages of results as the screen lays them out."""

from tidepool.engine.reports.blocks import Heat, table
from tidepool.tui.app.widgets.blocks import content_of


def test_a_long_table_is_cut_and_says_so_without_widening_its_columns() -> None:
    lines = content_of(
        table("waves", ("wave", "calls"), [(str(n), "5") for n in range(324)], left=0)
    ).plain.splitlines()
    assert lines[:3] == ["waves", "wave  calls", "   0      5"]
    assert lines[-1] == "… and 124 more" and len(lines) == 203


def test_on_a_narrow_screen_words_give_way_and_figures_stand_whole() -> None:
    rows = [("always change_perspective (the best)", "0.452 (0.383–0.520)", "+0.273 (+0.191 to +0.355)")]
    block = table("", ("who", "mean reward (95 %)", "policy gains (95 %)"), rows)
    narrow, wide = (content_of(block, room).plain.splitlines() for room in (76, 160))
    assert all(len(line) <= 76 for line in narrow) and narrow[1].endswith("  +0.273 (+0.191 to +0.355)")
    assert narrow[2].startswith("(the best)") and wide[1].startswith(rows[0][0])


def test_a_heat_map_is_as_wide_as_its_room_and_says_what_it_leaves_out() -> None:
    names = ("guarded", "bargainer", "talkative", "playful", "trusting")
    heat = Heat("how often", names, names, (tuple(100.0 * (place % 2) for place in range(5)),) * 5)
    for room in (30, 42, 58, 200):
        lines = content_of(heat, room).plain.splitlines()
        assert max(map(len, lines)) <= room
        assert all("100 %" in line for line in lines[2:7])
    assert content_of(heat, 42).plain.splitlines()[2].count("%") == 5
    assert content_of(heat, 30).plain.splitlines()[-2] == "… and 2 more"
    assert content_of(heat, 30).plain.splitlines()[-1].split()[-2:] == ["100", "%"], "what the shades mean"
