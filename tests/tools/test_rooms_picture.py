"""The picture of the rooms is drawn from the import contracts."""

from tools.rooms_picture import PICTURE, ROOT, draw


def test_the_picture_shows_today_s_contracts() -> None:
    assert PICTURE.read_text("utf-8") == draw(), "run `python -m tools.rooms_picture`"


def test_every_folder_and_module_of_a_layered_package_is_a_room() -> None:
    for package in ("app", "api", "connectors", "pipeline"):
        for path in (ROOT / package).iterdir():
            is_room = path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists())
            if is_room and not path.name.startswith("_"):
                assert f">{path.stem}</text>" in draw(), f"{package}/{path.name} is in no contract"
