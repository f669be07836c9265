"""The two networks that come with `rapidocr`, without its code around them: that reduces every picture to 2,000 pixels
first, knows how to download, and takes four times as long to start."""

from importlib.util import find_spec
from pathlib import Path

import onnxruntime

DETECTION = "PP-OCRv6_det_small.onnx"
RECOGNITION = "PP-OCRv6_rec_small.onnx"

_ONLY_FATAL = 4


def open_model(name: str, *, threads: int) -> onnxruntime.InferenceSession:
    """Each takes one array called `x` and gives one."""
    package = find_spec("rapidocr")
    if package is None or package.origin is None:
        raise FileNotFoundError(name)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ONLY_FATAL
    # Pictures come in all sizes: kept for the next one, the memory of each would add up.
    options.enable_cpu_mem_arena = False
    # Threads that wait for work in a loop would take the time of those that have some.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    path = Path(package.origin).parent / "models" / name
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
