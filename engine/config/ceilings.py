"""How large things may be, in one place: command line, app and API refuse the same with the same words.

The figures are far above what a study needs, and low enough that a batch at every one of them is checked, planned and
begun in seconds: whatever is larger is a slip of the hand, or comes from a file that was made to hurt.
"""

from typing import Annotated

from annotated_types import Ge, Le, MaxLen

UNITS = 1_000_000
"""units of a batch"""
UNITS_BY_API = 100_000
"""of a batch that is asked for over HTTP: half a gigabyte, in a process that nobody looks at"""
WAVES = 1_000
"""messages that follow one another in a unit"""
GENERATIONS = 5_000
"""of an evolution: a plan tells them one by one"""
CELLS = 1_000
"""batches of a study: cells times replicates"""
FACTORS = 20
HYPOTHESES = 100

NAME = 500
"""letters of a batch's name"""
TEXT = 100_000
"""letters of a description, an instruction, a prompt, a question"""
CONTEXT = 1_000_000
"""letters of a context, which may be a whole document"""
WORD = 300
"""letters of an id, a model's name, a language"""
ADDRESS = 2_000
"""letters of a URL or a path"""
METADATA = 100_000
"""bytes of [batch] metadata, as JSON"""

AGENTS = 500
"""an ordered round of so many has a quarter of a million conversations"""
ENTITIES = 100_000
ATTRIBUTES = 1_000
"""of one entity"""
ITEMS = 100_000
"""problems, queries, and other lists of a config"""
SERVERS = 1_000
"""hosts of a pool, prices of a provider"""

TOKENS = 10_000_000
"""of one reply, reasoning included"""
PER_MINUTE = 10**12
SECONDS = 366 * 24 * 3600.0
"""of anything that is waited for: a year"""

CONFIG_BYTES = 8 * 2**20
"""of a config file"""
FILE_BYTES = 64 * 2**20
"""of a file that a config names, and of a config that has taken in everything"""
DATA_BYTES = 256 * 2**20
"""of a file of problems"""
ROWS = 1_000_000
"""of a file of problems"""
COLUMNS = 5_000
"""of a table"""
TABLES = 50_000
"""headers in brackets of a TOML file"""
KEY_PARTS = 100
"""words of one dotted key"""
PROBLEMS = 200
"""mistakes of a config that are worded"""

Text = Annotated[str, MaxLen(TEXT)]
Word = Annotated[str, MaxLen(WORD)]
Address = Annotated[str, MaxLen(ADDRESS)]
Share = Annotated[float, Ge(0), Le(1)]
Seconds = Annotated[float, Ge(0), Le(SECONDS)]
PerMinute = Annotated[int, Ge(0), Le(PER_MINUTE)]
Times = Annotated[int, Ge(1), Le(1000)]
"""turns, rounds, repeats"""
