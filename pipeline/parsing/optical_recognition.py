"""Optical character recognition of images and scanned PDFs, offline: the `ocr` extra (rapidocr, pypdfium2).

Runs in a worker process that can be killed; a PDF is read a few pages at a time.
"""

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any

PAGES_PER_REQUEST = 2
MAX_PAGES = 300
_DPI_SCALE = 200 / 72
_MAX_SIDE = 2400
"""Pixels; larger images are scaled down, so that a worker's memory suffices."""
_THREADS = 2
_MIDDLE = 127
"""Brightness of 0 to 255 from which what is drawn counts as light."""


class UnreadableImageError(Exception):
    """Data that is not an image or PDF that the libraries open; the message is for people."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A recognized line and the box around it, in pixels."""

    text: str
    left: float
    top: float
    bottom: float


def is_installed() -> bool:
    """Return whether the libraries of the extra are here; imports nothing."""
    return find_spec("rapidocr") is not None and find_spec("pypdfium2") is not None


def is_paged_image(data: bytes) -> bool:
    """Return whether an image may have several pages, as faxes and scans have: a TIFF."""
    return data.startswith((b"II*\x00", b"MM\x00*"))


def recognize_image(data: bytes, index: int = 0) -> str:
    pil = import_module("PIL.Image")
    try:
        image = pil.open(BytesIO(data))
        image.seek(index)
        image = _opaque(import_module("PIL.ImageOps").exif_transpose(image))
    except (OSError, ValueError, SyntaxError, EOFError, pil.DecompressionBombError) as error:
        raise UnreadableImageError(str(error)) from error
    return _recognize(image)


def visible_pages(data: bytes) -> list[int]:
    """Return the indices of the pages of a PDF or image that show anything."""
    if is_paged_image(data):
        return list(range(_count_images(data)))
    return [index for index, page in enumerate(_open_pdf(data)) if next(page.get_objects(max_depth=1), None)]


def recognize_pages(data: bytes, indices: list[int]) -> list[str]:
    if is_paged_image(data):
        return [recognize_image(data, index) for index in indices]
    document = _open_pdf(data)
    texts = []
    for index in indices:
        page = document[index]
        scale = min(_DPI_SCALE, _MAX_SIDE / max(page.get_size()))
        texts.append(_recognize(page.render(scale=scale).to_pil().convert("RGB")))
    return texts


def _count_images(data: bytes) -> int:
    pil = import_module("PIL.Image")
    try:
        return int(getattr(pil.open(BytesIO(data)), "n_frames", 1))
    except (OSError, ValueError, SyntaxError, EOFError, pil.DecompressionBombError) as error:
        raise UnreadableImageError(str(error)) from error


def _opaque(image: Any) -> Any:
    """Put what is transparent on white, or on black if what is drawn is light."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    drawn = image.convert("RGBA")
    brightness = import_module("PIL.ImageStat").Stat(drawn.convert("L"), drawn.getchannel("A")).mean
    ground = import_module("PIL.Image").new("RGBA", drawn.size, "black" if brightness[0] > _MIDDLE else "white")
    return import_module("PIL.Image").alpha_composite(ground, drawn).convert("RGB")


def _open_pdf(data: bytes) -> Any:
    pdfium = import_module("pypdfium2")
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        raise UnreadableImageError(str(error)) from error


def join_lines(lines: list[TextLine]) -> str:
    """Order recognized lines as they are read: rows from the top, each from the left.

    >>> join_lines([TextLine("world", 90, 11, 29), TextLine("Next", 0, 40, 58), TextLine("Hello", 0, 10, 28)])
    'Hello world\\nNext'
    """
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: (line.top + line.bottom) / 2):
        middle = (line.top + line.bottom) / 2
        if rows and middle < rows[-1][0].bottom and middle > rows[-1][0].top:
            rows[-1].append(line)
        else:
            rows.append([line])
    return "\n".join(" ".join(line.text for line in sorted(row, key=lambda line: line.left)) for row in rows)


def _recognize(image: Any) -> str:
    numpy = import_module("numpy")
    image.thumbnail((_MAX_SIDE, _MAX_SIDE))
    found = _engine()(numpy.asarray(image)[:, :, ::-1])
    if found.txts is None:
        return ""
    boxes = [box.tolist() for box in found.boxes]
    return join_lines(
        [
            TextLine(text, min(x for x, _ in box), min(y for _, y in box), max(y for _, y in box))
            for text, box in zip(found.txts, boxes, strict=True)
        ]
    )


@lru_cache(maxsize=1)
def _engine() -> Any:
    """Load the models that the package ships, once in a worker."""
    options = "EngineConfig.onnxruntime"
    return import_module("rapidocr").RapidOCR(
        params={
            "Global.log_level": "critical",
            f"{options}.intra_op_num_threads": _THREADS,
            f"{options}.inter_op_num_threads": 1,
        }
    )
