"""Files of models that installed packages carry. The packages' code is never imported."""

import hashlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


class PackagedFiles:
    """Files of one folder of a package, found through its list of files, and pinned by their SHA-256."""

    def __init__(self, package: str, version: str, digests: dict[str, str], *, others: str) -> None:
        """`others`: the embedders that do without these files."""
        self._package = package
        self._digests = digests
        self._remedy = f"Install {package} {version} again, or set RECOLLECT_EMBEDDER to {others}."

    def locate(self) -> Path:
        """The folder of the files. Raises FileNotFoundError that says what to do."""
        try:
            listed = distribution(self._package).files or []
        except PackageNotFoundError:
            listed = []
        for file in listed:
            folder = Path(str(file.locate())).parent
            if file.name in self._digests and all((folder / name).is_file() for name in self._digests):
                return folder
        raise FileNotFoundError(f"The package {self._package} lacks {' or '.join(self._digests)}. {self._remedy}")

    def verify(self, path: Path) -> None:
        """Raise ValueError unless a file is the pinned one of its name."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        expected = self._digests[path.name]
        if digest != expected:
            raise ValueError(
                f"{path} has SHA-256 {digest}, not {expected}: it is damaged or of another version. {self._remedy}"
            )
