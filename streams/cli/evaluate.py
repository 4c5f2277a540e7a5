"""`eddy evaluate`: what the detectors find of what somebody marked."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection
from pathlib import Path

import click

from streams.cli.evaluate_topics import evaluate_interventions, evaluate_labels
from streams.cli.input_options import settings_option
from streams.cli.settings_choice import CHOICE, choose
from streams.cli.settings_file import settings_in_force
from streams.cli.text.evaluation_table import difference_lines, part_lines
from streams.cli.text.progress import watched
from streams.cli.text.screen import echo, echo_json, echo_lines
from streams.cli.variables import brokers_option
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError
from streams.core.evaluation.alarms import DETECTORS
from streams.core.evaluation.difference import ScoreDifference, differences
from streams.core.evaluation.document import difference_document, part_document
from streams.core.evaluation.estimate import DRAWS, SEED
from streams.core.evaluation.evaluation import SourceRows
from streams.core.evaluation.evaluation import evaluate as compare
from streams.core.evaluation.sessions import Gathered, gather
from streams.core.offline import judge
from streams.formats.labelled import Labelled, read

_DETECTORS = "\n".join(f"  {name:15}  {detector.asks}" for name, detector in DETECTORS.items())


@click.command(epilog=f"\b\nDetectors:\n{_DETECTORS}")
@click.argument(
    "labelled",
    metavar="LABELLED...",
    nargs=-1,
    type=click.Path(exists=True, readable=True),
)
@click.option(
    "--detector",
    "detectors",
    metavar="NAME",
    multiple=True,
    type=click.Choice(list(DETECTORS)),
    help="Ask this one; several times for several. All of them when left out.",
)
@click.option(
    "--loop-free",
    "loop_free",
    metavar="PATTERN",
    multiple=True,
    help="Sources whose unlabelled sessions are known not to loop, such as tau_*.",
)
@click.option(
    "--repetitions",
    "least",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Labelled repetitions from which on a session counts as looping.",
)
@settings_option()
@click.option(
    "--against",
    metavar="SETTINGS",
    help=f"Show what changes from this document to --settings, pair by pair: {CHOICE}",
)
@click.option(
    "--labels",
    "of_people",
    is_flag=True,
    help="Say from session-labels how often the alerts of your job were right.",
)
@click.option(
    "--propose",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="With --labels: write settings that exempt tools whose alerts were only ever wrong.",
)
@click.option(
    "--interventions",
    is_flag=True,
    help="Say from the topics of your job what the steps of policies brought.",
)
@brokers_option
@click.option("--rules", "with_rules", is_flag=True, help="Show each rule by itself.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of tables.")
def evaluate(
    *,
    labelled: tuple[str, ...],
    detectors: tuple[str, ...],
    loop_free: tuple[str, ...],
    least: int,
    settings_path: Path | None,
    against: str | None,
    of_people: bool,
    propose: Path | None,
    interventions: bool,
    bootstrap_servers: str | None,
    with_rules: bool,
    as_json: bool,
) -> None:
    """Compare what the detectors raise with what is known of the sessions.

    LABELLED are JSON lines, gzipped or not, or folders of them. Records are decision logs, or recorded
    trajectories, one event per line. A label line names a session_id and says one or more of these:

    \b
      "stuck": "yes", "onset": 12           stuck since that record, from 0 on
      "stuck": "no"                         not stuck
      "solved": true                        whether it solved its task
      "rewards": [0, 0.5, null]             the reward after each record
      "label_source": "human",              a word for each pair of records;
      "action_action": ["Repetition", ...]  Repetition marks the later of the two

    The tables give, for all sources and for each: stuck sessions found, false alarms, the delay from the
    onset in records and in seconds, and the stuck records after the alarm; alarms of solved and of failed
    sessions, and which share of the records and tokens of failed ones comes after the first alarm; whether
    it was right to stop there, so that no later reward is higher; precision, recall and F1 over records and
    sessions whose steps are labelled; alarms per 100 of all sessions. --rules adds each rule.

    Every figure has its 95 % interval. What the files do not say is unknown, not 0. A session without a
    label counts neither as looping nor as healthy, unless its source is named by --loop-free. With --against
    the last tables show figures under --settings less those under the other document, for the same sessions.
    The same files give the same bytes.

    With --labels it reads what people said with `eddy label` or in the console instead of files: which share
    of the labelled alerts was right, by rule, agent and tool. --propose writes settings: `eddy backtest --a
    live --b proposal.json --topic decision-logs` shows what they would change. With
    --interventions it says how many records and tokens a loop took after the first step of a policy, beside
    loops on which no policy acted.

    \b
    Examples:
      eddy evaluate records.jsonl labels.jsonl
      eddy evaluate trajectories/ --loop-free 'tau_*'
      eddy evaluate trajectories/ --detector verdict-warning --rules \\
          --settings strict.json
      eddy evaluate trajectories/ --against strict.json
      eddy evaluate --labels --propose proposal.json
      eddy evaluate --interventions
    """  # noqa: D301
    _check(labelled, propose, of_people=of_people, interventions=interventions)
    if of_people:
        evaluate_labels(bootstrap_servers, propose, as_json=as_json)
        return
    if interventions:
        evaluate_interventions(bootstrap_servers, as_json=as_json)
        return
    found = read(labelled)
    chosen = None if against is None else choose([("--against", against)], None)[0]
    gathered = _gathered(found, settings_in_force(settings_path))
    for problem in gathered.problems:
        echo(f"warning: {printable(problem, 200)}", err=True)
    if not gathered.sessions:
        raise ConfigurationError(
            "Nothing was scored: LABELLED holds no decision log and no event. Check the files."
        )
    names = _in_order(detectors)

    def is_loop_free(source: str) -> bool:
        return any(fnmatch.fnmatchcase(source, pattern) for pattern in loop_free)

    parts = compare(gathered.sessions, names, is_loop_free, least)
    changes: tuple[ScoreDifference, ...] = ()
    if chosen is not None:
        others = _gathered(found, chosen.settings).sessions
        changes = differences(gathered.sessions, others, names, is_loop_free, least)
    if as_json:
        _write_document(parts, changes, least, loop_free)
        return
    for part in parts:
        echo_lines(part_lines(part, with_rules=with_rules))
    if chosen is not None:
        echo_lines(difference_lines(changes, printable(Path(chosen.name).name, 80)))


def _check(labelled: Collection[str], propose: Path | None, *, of_people: bool, interventions: bool) -> None:
    if [bool(labelled), of_people, interventions].count(True) != 1:
        raise click.UsageError(
            "Give files that are LABELLED, or --labels for what people said, or --interventions for what "
            "policies brought."
        )
    if propose is not None and not of_people:
        raise click.UsageError("--propose goes with --labels.")


def _in_order(detectors: Collection[str]) -> list[str]:
    """Return the names that were given in the order of the tables, each once; all if none was given."""
    return [name for name in DETECTORS if name in detectors or not detectors]


def _gathered(found: Labelled, settings: DetectionSettings) -> Gathered:
    entries = watched(found.entries, "judging", total=len(found.entries))
    return gather(judge(entries, settings), found.labels, found.untimed)


def _write_document(
    parts: tuple[SourceRows, ...],
    changes: tuple[ScoreDifference, ...],
    least: int,
    loop_free: tuple[str, ...],
) -> None:
    document = {
        "method": {
            "repetitions_of_a_loop": least,
            "loop_free": list(loop_free),
            "bootstrap": {"of": "sessions", "draws": DRAWS, "seed": SEED},
        },
        "parts": [part_document(part) for part in parts],
        "changes": [difference_document(each) for each in changes],
    }
    echo_json(document, indented=True)
