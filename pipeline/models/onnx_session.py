"""Sessions of onnxruntime for models that are run one text at a time."""

from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


def open_session(model: bytes) -> "InferenceSession":
    """A session of one thread: several texts at once keep all cores busy."""
    # Loading the library takes time, which embedders without a network need not spend.
    import onnxruntime  # noqa: PLC0415 - see above

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # a plan of memory for each length of text, which saves no time
    with NamedTemporaryFile(suffix=".onnx") as file:  # a session made from bytes keeps them beside its own copy
        file.write(model)
        file.flush()
        return onnxruntime.InferenceSession(file.name, options, providers=["CPUExecutionProvider"])
