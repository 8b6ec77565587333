"""Long descriptions of the installed packages: real text that is on every machine."""

from importlib.metadata import Distribution, distributions

MIN_CHARACTERS = 200


def package_descriptions() -> list[tuple[str, str]]:
    """List (name, long description) of every installed distribution that has one, sorted by name.

    Leaves out recollect itself, whose README changes with every measurement.
    """
    described = {dist.metadata["Name"]: _long_description(dist) for dist in distributions()}
    described.pop("recollect", None)
    return sorted((name, text) for name, text in described.items() if len(text) > MIN_CHARACTERS)


def _long_description(distribution: Distribution) -> str:
    header, _, body = (distribution.read_text("METADATA") or "").partition("\n\n")
    return body.strip() if "Description-Content-Type" in header else ""
