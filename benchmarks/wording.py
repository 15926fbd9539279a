"""Checks the wording of docs and code: words to avoid, long sentences, and how often pages address the reader.

`python -m benchmarks.wording` checks everything and prints each problem; paths as arguments check only these.
"""

import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = [path for folder in ("engine", "storage", "tui", "tidepool") for path in sorted((ROOT / folder).rglob("*.py"))]
SENT = {"prompts.py", "rewrites.py", "ordinary.py", "secret_game.py"}
"""files of texts that models receive, send or are searched for; their wording is part of the results"""
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))

AVOIDED = (
    r"told|nobody|whoever|folk|anew|lacks?|lacking|forerunners?",
    r"stands?( for)?|stood|standing|strangers?'?s?|somebody|hands off",
    r"talks?|talked",  # say "conversation"
    r"(?:lets?|let) go|g(?:oes|one|o) on with|(?:come|came|comes) to (?:its|their|an) end",
    r"drawn again|said otherwise|(?:is|are) none|honest(?:ly|y)?|hereby",
    r"what becomes of|far hands?|as it is written|of their own accord|held against",
)
WORDS = re.compile(rf"\b(?:{'|'.join(AVOIDED)})\b", re.IGNORECASE)
ALLOWED = re.compile(
    r"stand(?:s|ing)? (?:in|error|alone)|talk(?:s|ed)? to\b|is none of|\bstandard\b|(?-i:\bis None\b)|\btalks=|`[^`]*`"
    r"|\{[^{}]*\}|^[\"'][\w#-]+[\"']$|, or none\b",
    re.IGNORECASE,
)

MOST_WORDS = 30
"""of a sentence in the docs"""
LEAST_YOU, MOST_COLONS = 10, 10
"""per 1,000 words of all docs together"""
GENERATED = {"config.md", "data.md", "adversarial_servers.md", "untrusted_files.md"}
"""tables made from the code; only their words are checked"""


def prose(text: str) -> str:
    """A page without code blocks, tables, headings, HTML and link targets; each list item is a sentence."""
    text = re.sub(r"^```.*?^```|<!--.*?-->|<[^>\n]+>", "", text, flags=re.S | re.M)
    text = re.sub(r"^(?:\||#|>|    ).*$", "", text, flags=re.M)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", text))
    return re.sub(r"^\s*(?:[-*]|\d+\.) (.*)$", r"\n\1", text, flags=re.M)


def sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", prose(text)):
        yield from re.split(r"(?<=[.!?])[\"”)*]*\s+(?=[A-Z`\[“*])|:\s*\n", " ".join(paragraph.split()))


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text: of code its strings and comments, of other files every line."""
    if path.suffix != ".py":
        yield from enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        return
    wanted = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in wanted:
                yield from enumerate(token.string.splitlines(), token.start[0])


def avoided_words(path: Path) -> Iterator[str]:
    for number, line in texts_of(path):
        for found in WORDS.finditer(ALLOWED.sub(" ", line)):
            yield f"{path.relative_to(ROOT)}:{number}: avoid “{found[0]}”"


def long_sentences(path: Path) -> Iterator[str]:
    for sentence in sentences(path.read_text(encoding="utf-8")):
        if (count := len(sentence.split())) > MOST_WORDS:
            yield f"{path.relative_to(ROOT)}: {count} words: {sentence[:90]}…"


def rates(paths: list[Path]) -> tuple[float, float, int]:
    """“you” and colons or semicolons per 1,000 words, and the number of words."""
    text = "\n\n".join(prose(path.read_text(encoding="utf-8")) for path in paths)
    words = len(text.split())
    you, colons = (len(re.findall(pattern, text, re.IGNORECASE)) for pattern in (r"\byou(?:r|rs|rself)?\b", "[:;]"))
    return 1000 * you / max(1, words), 1000 * colons / max(1, words), words


def main(arguments: list[str]) -> int:
    everything = [*DOCS, *(path for path in CODE if path.name not in SENT), *EXAMPLES]
    chosen = [Path(one).resolve() for one in arguments] or everything
    problems = [problem for path in chosen for problem in avoided_words(path)]
    pages = [path for path in chosen if path.suffix == ".md" and path.name not in GENERATED]
    problems += [problem for page in pages for problem in long_sentences(page)]
    if pages:
        you, colons, words = rates(pages)
        print(f"{words:,} words of prose; per 1,000: {you:.1f} “you”, {colons:.1f} colons and semicolons")
        if you < LEAST_YOU or colons > MOST_COLONS:
            problems.append(f"docs need at least {LEAST_YOU} “you” and at most {MOST_COLONS} colons per 1,000 words")
    print("\n".join(problems) if problems else "wording: no problem found")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
