"""README output of the demonstration: `python -m bench.demo` runs it on its own service and replaces the section."""

from io import StringIO
from pathlib import Path

from app.cli.commands.demo_command import MESSAGES, run_demo
from app.cli.conventions import Terminal
from bench.result_tables import replace_section

WIDTH = 120


def main() -> None:
    """Run the demonstration and write its output into the README."""
    output = StringIO()
    run_demo(None, Terminal(file=output, width=WIDTH))
    text = output.getvalue()
    lines = "\n".join(line.rstrip() for line in text[text.index(MESSAGES[0][0]) :].strip().splitlines())
    readme = Path(__file__).parent.parent / "README.md"
    replace_section(readme, f"```\n{lines}\n```", "<!-- demo -->", "<!-- /demo -->")


if __name__ == "__main__":
    main()
