"""Folders that hold data when the settings name none, and what a running service leaves in them for commands."""

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

from platformdirs import user_data_path

CHECKOUT = Path(__file__).parents[1]
LOCAL_FOLDER = Path(".recollect")
ADDRESS_FILE = "address"
ADMIN_KEY_FILE = "admin.key"


def default_data_dir() -> Path:
    """Return `.recollect` in a checkout or where it exists already, else a folder of this user."""
    return LOCAL_FOLDER if (CHECKOUT / "pyproject.toml").is_file() or LOCAL_FOLDER.is_dir() else user_data_dir()


def user_data_dir() -> Path:
    """Return the folder where this platform keeps a user's data of recollect."""
    return user_data_path("recollect", appauthor=False)


def data_dirs_of_services() -> list[Path]:
    """List the folders in which a service may run that was started without settings, the nearest first."""
    return [LOCAL_FOLDER, user_data_dir()]


def write_address(folder: Path, url: str) -> None:
    """Record the address of the service that runs on a data directory."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ADDRESS_FILE).write_text(f"{url}\n")


def read_address(folder: Path) -> str | None:
    """Return the address that the last service on a data directory recorded; None for one of another machine.

    Commands send their key there, and a folder that somebody downloaded may hold any address.
    """
    address = _first_line(folder / ADDRESS_FILE)
    return address if address is not None and _is_of_this_machine(address) else None


def write_admin_key(folder: Path, secret: str) -> None:
    """Keep the generated admin key for commands of this user; nobody else may read the file."""
    path = folder / ADMIN_KEY_FILE
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{secret}\n")


def read_admin_key(folder: Path) -> str | None:
    """Return the admin key that the first service on a data directory generated, if this user may read it."""
    return _first_line(folder / ADMIN_KEY_FILE)


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None


def _is_of_this_machine(url: str) -> bool:
    """Return whether a service could listen at the host of an address here."""
    try:
        host = urlsplit(url).hostname
        if host is None:
            return False
        for family, kind, protocol, _, place in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as trial:
                trial.bind(place)
    except (OSError, ValueError):
        return False
    return True
