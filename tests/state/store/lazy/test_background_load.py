"""Objects that load in the background."""

from collections.abc import Iterator

import pytest

from state.store import AppendLists, Journal
from state.store.lazy.background_load import BackgroundLoad, BackgroundLoadable


def parked_lists() -> tuple[AppendLists[str, int], BackgroundLoad]:
    """Return lists that load in the background in two steps. The second step stores a value in them."""
    lists: AppendLists[str, int] = AppendLists(Journal())
    made = AppendLists[str, int](Journal())
    made.append("a", 7)

    def steps() -> Iterator[None]:
        yield
        lists.raw_attributes().update(vars(made))
        yield

    return lists, BackgroundLoad((lists,), steps())


def test_only_loading_objects_have_slow_attribute_access() -> None:
    # Python accesses every attribute more slowly if the class has this method.
    assert not hasattr(AppendLists, "__getattr__")
    lists, deferred = parked_lists()
    assert (lists.is_loading, hasattr(type(lists), "__getattr__"), isinstance(lists, AppendLists)) == (True, True, True)
    deferred.finish()
    assert (lists.is_loading, type(lists)) == (False, AppendLists)


def test_reading_an_attribute_finishes_the_load() -> None:
    lists, deferred = parked_lists()
    assert list(lists.get("a")) == [7]
    assert deferred.is_done


def test_an_unknown_attribute() -> None:
    lists, deferred = parked_lists()
    with pytest.raises(AttributeError, match="nothing"):
        _ = lists.nothing  # type: ignore[attr-defined]
    assert deferred.is_done
    assert not BackgroundLoadable().is_loading
