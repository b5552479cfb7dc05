"""Train and test: groups stay whole, the split is a function of the items alone."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from marketplace.rules.splitting import Entry, join_groups, split


def entries(n: int, labels: int = 2, per_group: int = 1) -> list[Entry]:
    return [Entry(f"{i}", f"l{i // per_group % labels}", f"g{i // per_group}") for i in range(n)]


def test_a_fifth_of_each_label_is_tested():
    given_items = entries(1000, labels=5)
    sides = split(given_items, salt="s")
    tested = Counter(e.label for e in given_items if sides[e.key] == "test")
    assert tested == dict.fromkeys((f"l{i}" for i in range(5)), 40)


def test_the_order_of_arrival_changes_nothing():
    given_items = entries(300, per_group=3)
    shuffled = random.Random(1).sample(given_items, len(given_items))
    assert split(given_items, salt="s") == split(shuffled, salt="s")
    assert split(given_items, salt="s") != split(given_items, salt="t")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 12)), max_size=60))
def test_no_group_is_cut_in_two(rows):
    given_items = [Entry(str(i), label, str(group)) for i, (label, group) in enumerate(rows)]
    sides = split(given_items, salt="s")
    assert sides.keys() == {e.key for e in given_items}
    for group in {e.group for e in given_items}:
        assert len({sides[e.key] for e in given_items if e.group == group}) == 1


def test_a_label_with_one_group_is_trained_on():
    assert set(split([Entry("1", "a", "g"), Entry("2", "a", "g")], salt="s").values()) == {"train"}


def test_two_items_of_a_label_give_one_to_each_side():
    assert sorted(split(entries(2, labels=1), salt="s").values()) == ["test", "train"]


def test_pairs_join_into_groups():
    groups = join_groups([("a", "b"), ("c", "b"), ("x", "gone")], ["a", "b", "c", "x"])
    assert groups == {"a": "a", "b": "a", "c": "a", "x": "x"}
