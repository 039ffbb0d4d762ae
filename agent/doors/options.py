"""The options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

# As `agent.core.domain` has them, which takes long to import.
ProofLevel = Literal["E0", "E1", "E2", "E3", "E4"]
Integrity = Literal["in-process", "isolated"]

PathArgument = Annotated[
    str | None, typer.Argument(
        metavar="PATH", help="The Python file; - is standard input. A folder, or a test as "
        "`tests/test_a.py::test_b`, means the project that it lies in."
    )
]
ArgvArgument = Annotated[
    list[str] | None, typer.Argument(
        metavar="-- ARGS", help="Arguments of the program; of a project further tests, and "
        "arguments of its pytest."
    )
]
TestsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tests", metavar="EXPR",
        help="Assert code; it sees the program's names, and what the program printed as "
        "`output`. Repeatable.",
    ),
]
TestsFileOption = Annotated[
    Path | None, typer.Option("--tests-file", metavar="FILE", help="A file of tests.")
]
WithOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="PATH",
        help="A file that the program imports, or a package's folder. Repeatable.",
    ),
]
PythonOption = Annotated[
    str | None,
    typer.Option(
        "--python", metavar="PATH",
        help="An interpreter or environment whose packages the program imports.",
    ),
]
DeselectOption = Annotated[
    list[str] | None,
    typer.Option(
        "--deselect", metavar="ID",
        help="A test to leave out, by its name or pytest's id. Repeatable.",
    ),
]
DoctestsOption = Annotated[
    bool, typer.Option("--doctests", help="Count doctests that fail before the repair too.")
]
StdinOption = Annotated[
    str | None,
    typer.Option("--stdin", metavar="TEXT|@FILE", help="The program's standard input."),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on standard output.")
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Every step; tracebacks of faults of ours.")
]
LogOption = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="Write the run's log, for `replay`.")
]
ProofOption = Annotated[
    ProofLevel, typer.Option("--require-proof", help="The least proof that counts as "
                             "healed; what passes as it came needs none.")
]
OwnProofOption = Annotated[
    ProofLevel | None, typer.Option("--require-proof", help="The least proof that counts as healed "
                                    "(default: what the run was started with).")
]
ConfidenceOption = Annotated[
    float | None, typer.Option(
        "--require-confidence", min=0, max=1, metavar="P", help="The least estimated probability "
        "of being right with which a patch counts as healed (default 0.9)."
    )
]
AcceptOption = Annotated[
    bool, typer.Option(
        "--accept-proposed", help="Exit with 0, and write, for a patch that is only proposed."
    )
]
IntegrityOption = Annotated[
    Integrity | None, typer.Option(
        "--require-integrity", help="The least integrity that counts: who could have had a word "
        "in the verdict (default: any that is believed)."
    )
]
ProviderOption = Annotated[
    str | None,
    typer.Option(
        "--provider", metavar="NAME",
        help="Who answers: auto, mock (no model), anthropic, ollama, huggingface, openai, groq ...",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The provider's model, for all its roles."),
]
RoleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role", metavar="ROLE=PROVIDER/MODEL",
        help="Give a role to another model, or to no model: --role critic=mock. Repeatable.",
    ),
]
ForceOption = Annotated[
    bool, typer.Option(
        "--force", help="Let --out, --log, --report and --junit write over a file that is there."
    )
]
TimeoutOption = Annotated[
    float | None, typer.Option(
        "--timeout", min=1, metavar="SECONDS", help="How long a heal may take, models and all "
        "(default 120, and 240 more for models); the search gets its share."
    )
]
TestTimeoutOption = Annotated[
    float, typer.Option(
        "--test-timeout", min=0, metavar="SECONDS", show_default=False,
        help="In a project: how long one test may take (default: `timeout` in [tool.heal], or "
        "120)."
    )
]
TestCommandOption = Annotated[
    str, typer.Option(
        "--test-cmd", metavar="CMD", help="In a project: `python …` or `pytest …` in the "
        "place of its suite; the exit code is the verdict. Slow: each candidate is a fresh run."
    )
]
BudgetOption = Annotated[
    float | None, typer.Option(
        "--budget-usd", min=0, metavar="USD", help="Dollars it may spend on models (default 0.50)."
    )
]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the healed program here; of a "
                              "project the patch.")
]
ReportOption = Annotated[
    Path | None, typer.Option(
        "--report", metavar="FILE", help="In a project: write the heal for a pull request, in "
        "Markdown."
    )
]
JunitOption = Annotated[
    Path | None, typer.Option(
        "--junit", metavar="FILE", help="In a project: write the final suite as JUnit XML."
    )
]
ApplyOption = Annotated[
    bool, typer.Option(
        "--apply", help="Write the repair to PATH; a backup stays beside it, and that of a "
        "project's files in the data folder."
    )
]
CommitOption = Annotated[
    bool, typer.Option(
        "--commit", help="In a project: commit the repair on a new branch heal/…; your branch, "
        "index and files stay as they are, no hook is run, nothing is pushed."
    )
]
RunArgument = Annotated[
    str, typer.Argument(
        metavar="RUN", help="A run's id, or its beginning; see `runs`. Or a file by --log."
    )
]
OnlyOption = Annotated[
    list[str] | None, typer.Option(
        "--only", metavar="PATH", help="In a project: edit nothing but this. Repeatable."
    )
]
ExcludeOption = Annotated[
    list[str] | None, typer.Option(
        "--exclude", metavar="PATH", help="In a project: edit nothing of this. Repeatable."
    )
]
SinceOption = Annotated[
    str, typer.Option(
        "--since", metavar="REV", help="In a project: suspect first what changed since this "
        "commit (default: since the last one)."
    )
]
GrantOption = Annotated[
    bool, typer.Option(
        "--grant", help="In a project: give its tests the variables and folders that [tool.heal] "
        "of its pyproject.toml asks for."
    )
]
