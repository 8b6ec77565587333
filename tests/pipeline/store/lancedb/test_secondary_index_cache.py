"""Secondary index cache: cached entries equal those of the table, whatever changes during a read."""

from contextlib import suppress
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pipeline.store.lancedb.key_filter import KeyFilter
from pipeline.store.lancedb.secondary_index_cache import IndexPair, SecondaryIndexCache

KEYS = range(5)
pairs = st.sets(st.tuples(st.sampled_from(KEYS), st.sampled_from("abc")), min_size=1, max_size=4)
keys = st.sets(st.sampled_from(KEYS), min_size=1)


class ConcurrentReads(RuleBasedStateMachine):
    """Writer, and readers that may see the table as of any moment during a change."""

    def __init__(self) -> None:
        super().__init__()
        self.table: set[IndexPair] = {(0, "a"), (1, "b")}
        self.cache = SecondaryIndexCache(KeyFilter([0, 1]), capacity=8)
        self.changing = False

    def _seen(self, keys_read: list[int]) -> set[IndexPair]:
        return {pair for pair in self.table if pair[0] in keys_read}

    @rule(keys_read=keys, more=pairs, when=st.sampled_from(["before", "amid", "after"]), fails=st.booleans())
    def _add_while_somebody_asks(self, keys_read: set[int], more: set[IndexPair], when: str, fails: bool) -> None:
        _, missing = self.cache.lookup(keys_read)
        fresh = more - self.table
        with self.cache.caching_read(missing) as early:
            seen_early = self._seen(missing)
            with suppress(OSError), self.cache.during_add(fresh):
                with self.cache.caching_read(missing) as amid:
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

    @rule(keys_read=keys, removed=pairs)
    def _remove_while_somebody_asks(self, keys_read: set[int], removed: set[IndexPair]) -> None:
        _, missing = self.cache.lookup(keys_read)
        with self.cache.during_remove(removed), self.cache.caching_read(missing) as read:
            seen = self._seen(missing)
            self.table -= removed
            read(seen)

    @rule(keys_read=keys)
    def _ask(self, keys_read: set[int]) -> None:
        _, missing = self.cache.lookup(keys_read)
        with self.cache.caching_read(missing) as read:
            read(self._seen(missing))

    @precondition(lambda self: len(self.table) > 3)
    @rule()
    def _clear(self) -> None:
        with self.cache.during_clear():
            self.table.clear()

    @invariant()
    def what_is_held_is_what_the_table_has(self) -> None:
        found, missing = self.cache.lookup(KEYS)
        assert found == {pair for pair in self.table if pair[0] not in missing}
        assert all((pair in self.cache) == (pair in found) for pair in product(KEYS, "abc"))


TestAsked = ConcurrentReads.TestCase
TestAsked.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)


@given(more=pairs)
@settings(max_examples=20)
def test_the_cache_is_bounded(more: set[IndexPair]) -> None:
    links = SecondaryIndexCache(KeyFilter(), capacity=3)
    with links.during_add(more):
        pass
    found, missing = links.lookup(KEYS)
    assert len(found) + len({key for key, _ in more} - {*missing}) <= 3
