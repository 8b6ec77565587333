"""What an importer hands to a service."""

import pytest

from app.importers.imported_item import ImportedItem, check, to_date


@pytest.mark.parametrize("date", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_date_that_stands_for_none_is_left_out_and_its_item_kept(date: str) -> None:
    assert to_date(date) is None
    assert check(ImportedItem("a", "A text.", date, {})) == ImportedItem("a", "A text.", None, {})
