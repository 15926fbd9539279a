"""Size limits of everything that a config can hold, shared by the command line, the app and the API.

Each limit is far above what a study needs. A batch at all limits is still checked, planned and started in seconds.
Larger values are typing errors, or come from a file that was made to do harm.
"""

from typing import Annotated

from annotated_types import Ge, Le, MaxLen

UNITS = 1_000_000
"""units in a batch"""
UNITS_BY_API = 100_000
"""units in a batch that is created over HTTP; such a batch takes half a gigabyte in an unattended process"""
WAVES = 1_000
"""messages in a row in one unit"""
GENERATIONS = 5_000
"""generations of an evolution; a plan lists each of them"""
CELLS = 1_000
"""batches of a study: cells times replicates"""
FACTORS = 20
HYPOTHESES = 100

NAME = 500
"""characters in a batch's name"""
TEXT = 100_000
"""characters in a description, an instruction, a prompt or a question"""
CONTEXT = 1_000_000
"""characters in a context, which may be a whole document"""
WORD = 300
"""characters in an id, a model name or a language"""
ADDRESS = 2_000
"""characters in a URL or a path"""
METADATA = 100_000
"""bytes of [batch] metadata, as JSON"""

AGENTS = 500
"""agents of a study; an ordered round of 500 agents has a quarter of a million conversations"""
ENTITIES = 100_000
ATTRIBUTES = 1_000
"""attributes of one entity"""
ITEMS = 100_000
"""items in a list of a config, such as problems or queries"""
SERVERS = 1_000
"""hosts of a pool, or prices of a provider"""

TOKENS = 10_000_000
"""tokens of one reply, reasoning included"""
PER_MINUTE = 10**12
SECONDS = 366 * 24 * 3600.0
"""longest waiting time in seconds, which is a year"""

CONFIG_BYTES = 8 * 2**20
"""bytes of a config file"""
FILE_BYTES = 64 * 2**20
"""bytes of a file that a config names, and of a frozen config with all its content"""
DATA_BYTES = 256 * 2**20
"""bytes of a file of problems"""
ROWS = 1_000_000
"""rows of a file of problems"""
COLUMNS = 5_000
"""columns of a table"""
TABLES = 50_000
"""headers in brackets in a TOML file"""
KEY_PARTS = 100
"""parts of one dotted key"""
PROBLEMS = 200
"""problems of a config that are reported"""

Text = Annotated[str, MaxLen(TEXT)]
Word = Annotated[str, MaxLen(WORD)]
Address = Annotated[str, MaxLen(ADDRESS)]
Share = Annotated[float, Ge(0), Le(1)]
Seconds = Annotated[float, Ge(0), Le(SECONDS)]
PerMinute = Annotated[int, Ge(0), Le(PER_MINUTE)]
Times = Annotated[int, Ge(1), Le(1000)]
"""turns, rounds or repeats"""
