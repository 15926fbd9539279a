"""A value that is no TOML: how it was meant, and how it is written."""

import json
import re
import tomllib

YES, NO = {"true", "yes", "on"}, {"false", "no", "off"}
NOTHING = {"none", "null", "nil", "undefined", "nan", "n/a"}


def as_toml(value: str) -> str:
    """The value as one would have to write it."""
    bare = value.strip()
    if _is_value(bare):
        return bare
    if bare.lower() in YES | NO:
        return "true" if bare.lower() in YES else "false"
    return as_number(bare) or json.dumps(bare.strip("\"'"), ensure_ascii=False)


def value_slip(key: str, value: str, later: str) -> str:
    """A sentence about the value of a key; `later` is the text behind its line."""
    if not value or value.startswith("#"):
        return f"{key} has no value. Write one behind the =, or remove the line."
    if _is_value(value):
        return ""  # whatever it is, it is not the value
    for sign, name in ((",", "comma"), (";", "semicolon")):
        if value.endswith(sign):
            return f"no {name} stands at the end of a line. Write {key} = {as_toml(value.rstrip(',; '))}"
    if value[0] in "\"'":
        return _text_slip(key, value, later)
    bare = value.split(" #")[0].strip()
    if " //" in value:
        return "a comment begins with #."
    if bare.lower() in NOTHING:
        return f"TOML has no {bare}. Leave {key} out, and its default holds."
    if number := as_number(bare):
        return f"{bare} is no number of TOML. Write {key} = {number}"
    if bare.lower() in YES | NO:
        return f"it is true or false, in small letters. Write {key} = {as_toml(bare)}"
    return f"text stands in quotes. Write {key} = {as_toml(bare)}"


def _text_slip(key: str, value: str, later: str) -> str:
    quote = value[0]
    if value.count(quote) % 2:
        over = ' Text over several lines stands between """ and """.'
        return f"the quote of {key} is left open. Close it on the same line: {key} = {value}{quote}.{over}"
    if quote == '"' and "\\" in value:
        straight = value.replace("\\", "/")
        return f"in quotes \\ means something of its own. Write {key} = {straight}, or put the text in 'single quotes'."
    return f"behind the text of {key} stands something more. Keep one text in quotes; a comment begins with #."


def as_number(value: str) -> str:
    """A number as people write it; empty where it is none."""
    bare = value.replace(" ", "").lstrip("$€£+")
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", bare):
        bare = bare.replace(",", "")
    if re.fullmatch(r"\d*[.,]?\d+%", bare):
        return f"{float(bare[:-1].replace(',', '.')) / 100:g}"
    found = re.fullmatch(r"(-?)(\d*)(?:[.,](\d*))?(?:[a-z]{1,7})?", bare, flags=re.IGNORECASE)
    if found is None or not (found[2] or found[3]):
        return ""
    whole = found[1] + (found[2].lstrip("0") or "0")
    return whole if found[3] is None else f"{whole}.{found[3] or '0'}"


def _is_value(text: str) -> bool:
    try:
        return set(tomllib.loads(f"x = {text}")) == {"x"}
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return False
