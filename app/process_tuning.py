"""Process-wide settings of allocator, garbage collector, threads, LanceDB and Arrow.

Everything here changes how the whole process behaves, so the command line applies it once, before frameworks
are imported, and RECOLLECT_PROCESS_TUNING=false turns all of it off. Each constant says what it brings.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MALLOC_OPTIONS = ((-8, 2), (-3, 128 * 1024), (-1, 4 * 1024 * 1024))
"""M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of <malloc.h>: with 100,000 chunks searched, 450 MB are
resident instead of 835. 4 MB of free memory are kept, because a search would fault in 35 pages anew."""
SWITCH_INTERVAL_SECONDS = 0.0005
"""A publish crosses two threads: beside a computation it takes 0.8 ms, and 26 at the interpreter's 5 ms."""
GC_THRESHOLDS = (100_000, 20, 20)
"""Python's 700, 10, 10 spent a third of a replay in collections that found no cycle."""
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",  # two threads take 8 ms for a scan that one does in 0.2
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # its memory can be returned to the system (release_unused)
    "LANCE_DEFAULT_BATCH_SIZE": "1024",  # compaction of 16,000 documents takes 40 MB more instead of 180
    "LANCE_DEFAULT_IO_BUFFER_SIZE": str(32 * 1024 * 1024),
}
"""Read by libraries when they are loaded; what the operator has set stays."""
UNUSED_CLIENT = "lance_namespace_urllib3_client"
"""The client of REST catalogs: 160 generated models and 366 calls that lancedb names in signatures only.
Importing it takes 0.9 s of CPU and 21 MB."""


def tune_process() -> None:
    """Apply every setting of this module. Call before libraries are imported or start threads."""
    mallopt = None if os.name == "nt" else getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in MALLOC_OPTIONS:
            mallopt(option, value)
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    gc.set_threshold(*GC_THRESHOLDS)
    for name, bound in ENVIRONMENT.items():
        os.environ.setdefault(name, bound)
    if UNUSED_CLIENT not in sys.modules:
        sys.meta_path.insert(0, _StubFinder())


def freeze_startup_objects() -> None:
    """Exempt everything allocated so far from garbage collection: it lives as long as the process."""
    gc.freeze()


class _StubModule(ModuleType):
    """A module in which every public name is an empty class of that name."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _StubFinder(MetaPathFinder, Loader):
    """Finds the unused client and its submodules, and loads an empty stub for each."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the protocol's argument
        target: ModuleType | None = None,  # noqa: ARG002 - the protocol's argument
    ) -> ModuleSpec | None:
        unused = fullname.partition(".")[0] == UNUSED_CLIENT
        return ModuleSpec(fullname, self, is_package=True) if unused else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave the stub empty."""
