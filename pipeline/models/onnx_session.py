"""Sessions of onnxruntime for models that are run one text at a time."""

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
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
