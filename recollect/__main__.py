"""`python -m recollect`, and the entry point of the `recollect` command."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line. Ctrl-C ends it without a traceback, also while modules are imported."""
    try:
        from app.cli.main import app  # noqa: PLC0415 - takes long enough to be interrupted

        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
