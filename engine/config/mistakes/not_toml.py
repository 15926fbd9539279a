"""What is said of a text that is no TOML: what it is instead, or which slip keeps it from being TOML, with the cure."""

import re
from collections.abc import Callable, Iterator
from itertools import chain

from tidepool.engine.config.mistakes.lines import HEADER, Lines
from tidepool.engine.config.mistakes.values import as_toml, value_slip

CURLY = str.maketrans("“”„‟«»‘’‚‛", '""""""""""')
ODD_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2007\u2009\u200a\u200b\u202f\u2060\u3000\ufeff"
_COLON = re.compile(r"""\s*(?P<dash>-\s+)?["']?(?P<key>[\w-]+)["']?\s*:(?:\s+(?P<value>\S.*))?\s*$""")
_AT = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)")
FORM = 'A config is TOML: sections such as [batch], and in them keys such as kind = "secret_game".'


def slip_in(text: str, complaint: str) -> tuple[int, str]:
    """The line, and a sentence. `complaint` is the parser's own."""
    lines = text.splitlines() or [""]
    found = _AT.search(complaint)
    number = int(found[1]) if found and found[1] else len(lines)
    number = min(number, len(lines))
    told = chain(
        _of_another_language(lines), _of_open_value(lines, number, complaint), _of_line(text, number, complaint)
    )
    return next(told, (number, f"this is not valid TOML: {_AT.sub('', complaint).strip()}. {FORM}"))


def _of_another_language(lines: list[str]) -> Iterator[tuple[int, str]]:
    written = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    if not written:
        return
    number, first = written[0]
    if first.startswith("{"):
        yield number, f"this is JSON. {FORM}"
    if first.startswith("```"):
        yield number, "this is a fence of Markdown. Remove it, and the one at the end."
    content = [(at, line) for at, line in written if not line.startswith("#")]
    at, line = content[0] if content else (number, first)
    if line == "---" or ((found := _COLON.match(line)) and not found["value"]):
        yield at, f"this is YAML. {FORM}"
    for at, line in written:
        if line.startswith(("<<<<<<<", ">>>>>>>")):
            yield (
                at,
                "git left both sides of a conflict here. Keep one, and remove the lines <<<<<<<, ======= and >>>>>>>.",
            )


def _of_open_value(lines: list[str], number: int, complaint: str) -> Iterator[tuple[int, str]]:
    """A list or a long text that was not closed is noticed lines later."""
    for quotes in ('"""', "'''"):
        holding = [at for at, line in enumerate(lines, 1) if line.count(quotes) % 2]
        if len(holding) % 2:
            yield holding[-1], f"the text that begins here is not closed. It ends with {quotes}."
    for at in range(number, 0, -1):
        key, equals, value = lines[at - 1].partition("=")
        opened = value.strip()
        if equals and opened.startswith("[") and opened.count("[") > opened.count("]"):
            if not any(line.strip().startswith("]") for line in lines[at:number]):
                yield at, f"the list {key.strip()} is not closed. It ends with ]."
            return
        if equals and opened.startswith("{") and "}" not in opened:
            yield at, f"{key.strip()} = {{ … }} stands on one line, from {{ to }}, without a comma before the }}."
            return
        if at < number and (HEADER.match(lines[at - 1]) or equals):
            return


def _of_line(text: str, number: int, complaint: str) -> Iterator[tuple[int, str]]:
    line = text.splitlines()[number - 1].strip() if text.strip() else ""
    for rule in RULES:
        if words := rule(line):
            yield number, words
    if words := _doubled(text, number, complaint):
        yield number, words
    if words := _of_key(line, text, number):
        yield number, words


def _odd_letters(line: str) -> str:
    found = [letter for letter in ODD_SPACES if letter in line]
    if found:
        return (
            f"it holds a space that is none (U+{ord(found[0]):04X}), as web pages have. Type it anew as a plain space."
        )
    if "＝" in line:
        return f"the wide sign ＝ is no =. Write {line.replace('＝', '=')}"
    straight = line.translate(CURLY)
    if straight != line:
        return f"curly quotes are no quotes here. Write {straight}"
    return ""


def _foreign_comment(line: str) -> str:
    if line.startswith(("//", "/*", ";", "--")) or re.search(r"\s//\s", line):
        return "a comment begins with #."
    return ""


def _colon(line: str) -> str:
    found = _COLON.match(line)
    if found is None:
        return ""
    if not found["value"]:
        return f"a section is written [{found['key']}], and its keys KEY = VALUE."
    value = found["value"].rstrip(",").strip()
    how = f"{found['key']} = {as_toml(value)}"
    return f"between a key and its value stands =, no colon. Write {how}" + (
        ", behind [[agents]] or [[entities]] where it is one of a list." if found["dash"] else ""
    )


def _section(line: str) -> str:
    if not line.startswith("["):
        return ""
    name = re.sub(r"[^\w.]+", "_", line.split("#")[0].strip().strip("[] ")).strip("_")
    double = line.startswith("[[") or name in ("agents", "entities")
    return f"a section is written {f'[[{name}]]' if double else f'[{name}]'}, on a line of its own."


RULES: tuple[Callable[[str], str], ...] = (_odd_letters, _colon, _foreign_comment)


def _doubled(text: str, number: int, complaint: str) -> str:
    if not re.search(r"twice|overwrite|mutate|already", complaint):
        return ""
    line = text.splitlines()[number - 1]
    if header := HEADER.match(line):
        name = header[2]
        if name in ("agents", "entities"):
            return f"there are several of them, so each is written [[{name}]], not [{name}]."
        first = Lines(text).of(tuple(part.strip() for part in name.split(".")))
        return f"[{name}] is there already, in line {first}. Put these keys there, and remove this one."
    key = line.partition("=")[0].strip()
    before = text.splitlines()[: number - 1]
    first = next((at for at in range(len(before), 0, -1) if before[at - 1].partition("=")[0].strip() == key), None)
    section = next((found[2] for found in map(HEADER.match, reversed(before)) if found), "")
    another = f", or write [[{section}]] before the second" if section in ("agents", "entities") else ""
    return f"{key} is there already{f', in line {first}' if first else ''}. Keep one of the two{another}."


def _of_key(line: str, text: str, number: int) -> str:
    """A line that ought to read KEY = VALUE."""
    if words := _section(line):
        return words
    key, equals, value = (part.strip() for part in line.partition("="))
    if not equals:
        word, _, rest = line.partition(" ")
        if not re.fullmatch(r"[\w.-]+", word):
            return ""
        return f"between a key and its value stands =. Write {word} = {as_toml(rest.strip()) if rest else '…'}"
    if not key:
        return f"this is not valid TOML: before the = stands no key. Write KEY = {value or 'VALUE'}"
    if value.startswith("=") or key.endswith(":"):
        return f"one = stands between a key and its value. Write {key.rstrip(': ')} = {value.lstrip('= ')}"
    if re.search(r"[^\w.\"'-]", key):
        joined = re.sub(r"\W+", "_", key).strip("_")
        return f"a key has no spaces or signs in it. Write {joined} = {value}"
    later = "\n".join(text.splitlines()[number:])
    return value_slip(key, value, later)
