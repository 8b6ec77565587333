"""What is held of links is what the table has, whatever changes while it is asked."""

from contextlib import suppress
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pipeline.store.keyset import KeySet
from pipeline.store.recentlinks import Pair, RecentLinks

KEYS = range(5)
pairs = st.sets(st.tuples(st.sampled_from(KEYS), st.sampled_from("abc")), min_size=1, max_size=4)
keys = st.sets(st.sampled_from(KEYS), min_size=1)


class Asked(RuleBasedStateMachine):
    """One changes the table, and others ask it, who may see it as it was at any moment between."""

    def __init__(self) -> None:
        super().__init__()
        self.table: set[Pair] = {(0, "a"), (1, "b")}
        self.links = RecentLinks(KeySet([0, 1]), capacity=8)
        self.changing = False

    def _seen(self, wanted: list[int]) -> set[Pair]:
        return {pair for pair in self.table if pair[0] in wanted}

    @rule(wanted=keys, more=pairs, when=st.sampled_from(["before", "amid", "after"]), fails=st.booleans())
    def _add_while_somebody_asks(self, wanted: set[int], more: set[Pair], when: str, fails: bool) -> None:
        _, missing = self.links.find(wanted)
        fresh = more - self.table
        with self.links.reading(missing) as early:
            seen_early = self._seen(missing)
            with suppress(OSError), self.links.adding(fresh):
                with self.links.reading(missing) as amid:
                    seen = self._seen(missing)
                    if when == "amid":
                        early(seen_early)
                        amid(seen)
                    self.table |= fresh
                    if when == "after":
                        amid(seen)
                if fails:
                    raise OSError
            if when == "before":
                early(seen_early)

    @rule(wanted=keys, some=pairs)
    def _remove_while_somebody_asks(self, wanted: set[int], some: set[Pair]) -> None:
        _, missing = self.links.find(wanted)
        with self.links.removing(some), self.links.reading(missing) as read:
            seen = self._seen(missing)
            self.table -= some
            read(seen)

    @rule(wanted=keys)
    def _ask(self, wanted: set[int]) -> None:
        _, missing = self.links.find(wanted)
        with self.links.reading(missing) as read:
            read(self._seen(missing))

    @precondition(lambda self: len(self.table) > 3)
    @rule()
    def _clear(self) -> None:
        with self.links.clearing():
            self.table.clear()

    @invariant()
    def what_is_held_is_what_the_table_has(self) -> None:
        found, missing = self.links.find(KEYS)
        assert found == {pair for pair in self.table if pair[0] not in missing}
        assert all((pair in self.links) == (pair in found) for pair in product(KEYS, "abc"))


TestAsked = Asked.TestCase
TestAsked.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)


@given(more=pairs)
@settings(max_examples=20)
def test_no_more_is_held_than_there_is_room_for(more: set[Pair]) -> None:
    links = RecentLinks(KeySet(), capacity=3)
    with links.adding(more):
        pass
    found, missing = links.find(KEYS)
    assert len(found) + len({key for key, _ in more} - {*missing}) <= 3
