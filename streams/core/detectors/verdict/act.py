"""What a step does to the world: it asks, acts, waits, or only says something (specification 6.2b).

A tool is known by its class (3.5) and by the words of its name, a command by the words of its command line.
Nothing is run and nothing is looked up: the words decide, and what no word tells stays unknown.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import orjson

from streams.core.domain.decision import Decision
from streams.core.domain.settings.tool_classes import ToolClassSettings
from streams.core.domain.tool_class import ToolClass, tool_class


class Act(StrEnum):
    """What a step does.

    Attributes:
        ASKS: it looks at something and changes nothing.
        ACTS: it changes something, such as a file.
        WAITS: it lets time pass.
        SAYS: it calls no tool.
        IDLES: it is a command that does nothing.
        UNKNOWN: no word says what it does.
    """

    ASKS = "asks"
    ACTS = "acts"
    WAITS = "waits"
    SAYS = "says"
    IDLES = "idles"
    UNKNOWN = "unknown"


_ASKS, _ACTS, _WAITS, _SAYS, _IDLES, _UNKNOWN = Act

_LONGEST_NAME = 200
_USED = 1_000
_NAME_PARTS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def _vocabulary(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Words of the names of tools, lower-cased.
ACTING: Final = _vocabulary(
    "append apply book cancel change click close commit copy create delete drag edit email execute"
    " fill goto"
    " hover input insert log message modify move navigate notify order patch pay post press publish"
    " push put"
    " record register remove rename replace reply save scroll select send set submit swipe switch tap"
    " todo"
    " todowrite transfer type update upload upsert write add"
)
ASKING: Final = _vocabulary(
    "browse cat check describe fetch find get glob grep inspect list look lookup ls query read"
    " retrieve scan"
    " search show status view"
)
WAITING: Final = _vocabulary("poll sleep wait")
COMMANDS: Final = _vocabulary("bash cmd exec powershell shell terminal")
#: Whole names, lower-cased, of tools that wait for what runs in the background.
WAITING_TOOLS: Final = _vocabulary("awaitshell await bashoutput bash_output monitor taskoutput task_output")
_WRITES_TO_TERMINAL: Final = "write_stdin"
_NOTHING_TYPED: Final = re.compile(r'"chars":\s*""')
_PERSON: Final = re.compile(
    r"(?:^|_)(?:ask_(?:user|human|followup|question)|request_user)(?:_|$)|^(?:get_)?user_input$"
)

_COMMAND_KEYS: Final = ("command", "cmd", "c", "script")
_BETWEEN_COMMANDS: Final = re.compile(r"&&|\|\||[;|\n(`]")
_MOST_COMMANDS: Final = 40
#: Words before a command that say nothing about what it does.
_BEFORE: Final = _vocabulary("sudo env time then do else nohup command builtin exec xargs !")
#: Commands that change something, and those that do with one of these words behind them.
CHANGING: Final = _vocabulary(
    "rm mv cp mkdir rmdir touch tee chmod chown ln kill pkill killall dd install rsync patch truncate"
    " shred unzip"
    " black"
)
CHANGING_WITH: Final = {
    command: _vocabulary(words)
    for command, words in {
        "git": "add commit push checkout switch merge rebase stash reset revert cherry-pick rm mv clone"
        " pull apply am"
        " restore tag clean init update-ref worktree filter-branch",
        "npm": "i install ci uninstall update publish",
        "pnpm": "i install add remove update publish",
        "yarn": "install add remove publish",
        "bun": "install add remove publish",
        "pip": "install uninstall",
        "pip3": "install uninstall",
        "uv": "add remove sync pip",
        "apt": "install remove update",
        "apt-get": "install remove update",
        "brew": "install uninstall",
        "cargo": "add install fmt fix",
        "go": "get mod install",
        "make": "install clean",
        "docker": "run rm stop start build compose",
        "systemctl": "start stop restart",
        "kubectl": "apply delete create patch scale edit rollout",
        "helm": "install upgrade uninstall",
        "gh": "create merge close edit comment",
        "sed": "-i",
        "perl": "-i -pi",
        "gofmt": "-w",
        "prettier": "--write",
        "ruff": "format --fix",
        "tar": "x -x -xf -xzf xf xzf",
        "curl": "-XPOST -XPUT -XDELETE -XPATCH POST PUT DELETE PATCH",
    }.items()
}
#: Commands that look at something, and the words of git that do.
LOOKING: Final = _vocabulary(
    "cd cat ls head tail grep egrep fgrep rg ag find fd wc pwd stat which file tree awk echo printf"
    " true : less diff"
    " ps df du id whoami date uname sort uniq cut jq test [ sed nl type readlink realpath basename"
    " dirname"
)
GIT_LOOKING: Final = _vocabulary(
    "status log diff show blame branch ls-files ls-tree rev-parse grep remote describe config"
)
#: Commands that do nothing, if they write nowhere.
IDLING: Final = _vocabulary("true : echo printf pwd")
PAUSING: Final = _vocabulary("sleep wait")
_OPENED_TO_WRITE: Final = re.compile(r"open\([^)]*['\"][wa]b?['\"]\)|\.write\(|writeFileSync|write_text")
_WRITES_TO_FILE: Final = re.compile(r"(?<![0-9&<>=-])>{1,2}(?!\s*(?:/dev/null|&\d|\s*$|=))|<<")
_WATCHES: Final = re.compile(r"\bgh\s+run\s+watch\b|\btools\.(?:write_stdin|wait\w*)\b")


def act_of(decision: Decision, settings: ToolClassSettings) -> Act:
    """Return what a step does.

    >>> action = {"status": "success", "tool_call": "Bash", "tool_input": '{"command": "git status && ls"}'}
    >>> known = {"session_id": "", "event_id": "", "meta": {"timestamp": 0}, "identity": {"agent_id": ""}}
    >>> act_of(Decision.of(0, 0, {**known, "action": action}), ToolClassSettings())
    <Act.ASKS: 'asks'>
    """
    tool = decision.tool_call
    if not tool:
        return _SAYS
    if decision.kind != "tool":
        return _UNKNOWN
    if tool.lower() == _WRITES_TO_TERMINAL:
        text = decision.canonical_input
        return _WAITS if '"chars"' not in text or _NOTHING_TYPED.search(text) else _UNKNOWN
    words = _words_of(tool) if len(tool) <= _LONGEST_NAME else frozenset()
    if tool.lower() in WAITING_TOOLS or not WAITING.isdisjoint(words):
        return _WAITS
    match tool_class(tool, settings):
        case ToolClass.write:
            return _ACTS
        case ToolClass.read:
            return _ASKS
        case ToolClass.command:
            return _command(_command_line(decision.canonical_input))
        case _ if not COMMANDS.isdisjoint(words):
            return _command(_command_line(decision.canonical_input))
    if not ACTING.isdisjoint(words):
        return _ACTS
    return _UNKNOWN if ASKING.isdisjoint(words) else _ASKS


def asks_a_person(tool: str | None) -> bool:
    """Tell whether a tool puts a question to a person.

    >>> asks_a_person("AskUserQuestion"), asks_a_person("set_task_user"), asks_a_person("validate_user_input")
    (True, False, False)
    """
    return tool is not None and _is_of_person(tool[:_LONGEST_NAME])


@lru_cache(maxsize=4_096)
def _is_of_person(tool: str) -> bool:
    return _PERSON.search("_".join(part.lower() for part in _NAME_PARTS.split(tool) if part)) is not None


@lru_cache(maxsize=4_096)
def _words_of(tool: str) -> frozenset[str]:
    return frozenset(part.lower() for part in _NAME_PARTS.split(tool) if part)


def _command_line(arguments: str) -> str:
    if arguments[:1] == "{":
        try:
            value: Any = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            return arguments[:_USED]
        for key in _COMMAND_KEYS:
            line = value.get(key)
            if isinstance(line, str):
                return line[:_USED]
            if isinstance(line, list):
                return " ".join(map(str, line))[:_USED]
    return arguments[:_USED]


def _command(line: str) -> Act:
    """Return what a command line does: all of its commands must only look for it to ask."""
    if (".wa" in line or "write_stdin" in line or "gh " in line or "tools." in line) and _WATCHES.search(
        line
    ):
        return _WAITS
    changes = "<<" in line or (">" in line and _WRITES_TO_FILE.search(line) is not None)
    if not changes and ("write" in line or "open(" in line):
        changes = _OPENED_TO_WRITE.search(line) is not None
    acts = [_part(part) for part in _BETWEEN_COMMANDS.split(line, _MOST_COMMANDS)[:_MOST_COMMANDS]]
    if _WAITS in acts:
        return _WAITS
    if changes or _ACTS in acts:
        return _ACTS
    found = {act for act in acts if act is not None}
    if found == {_IDLES}:
        return _IDLES
    return _ASKS if found and _UNKNOWN not in found else _UNKNOWN


def _part(part: str) -> Act | None:
    """Return what one command does, None without one."""
    words = part.split(None, 8)
    while words and (words[0] in _BEFORE or ("=" in words[0] and words[0].partition("=")[0].isidentifier())):
        del words[0]
    if not words:
        return None
    command, rest = words[0], words[1:]
    if command in PAUSING:
        return _IDLES if rest[:1] == ["0"] else _WAITS
    if command in CHANGING:
        return _ACTS
    if command in CHANGING_WITH and not CHANGING_WITH[command].isdisjoint(rest):
        return _ACTS
    if command == "git":
        return _UNKNOWN if GIT_LOOKING.isdisjoint(rest) else _ASKS
    if command in IDLING:
        return _ASKS if "$" in part else _IDLES
    return _ASKS if command in LOOKING else _UNKNOWN
