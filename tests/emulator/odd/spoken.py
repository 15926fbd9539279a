"""What odd replies say: the same texts in every provider's form.

The secrets are those of the studies that are run against the emulator: who counts them as revealed has read a thought.
"""

SECRETS = "marigold and lantern"
"""a thought holds them; a message that was said aloud never does"""
THOUGHT = f"The code words here are {SECRETS}; I must keep {SECRETS} to myself."
SAID = "Good evening, and what brings you to the harbour?"
BEYOND = "\ud800 and \udfff stand alone, \x00 too"
"""what JSON can say and UTF-8, or a database, cannot"""

THOUGHTS_IN_TEXT = {
    "think": f"<think>{THOUGHT}</think>\n\n{SAID}",
    "think-twice": f"<think>{THOUGHT}</think>{SAID}<think>{THOUGHT}</think>",
    "think-nested": f"<think>first <think>{THOUGHT}</think> and {THOUGHT}</think>{SAID}",
    "think-unopened": f"{THOUGHT}\n</think>\n\n{SAID}",
    "think-capitals": f"<THINK>{THOUGHT}</THINK>{SAID}",
    "think-long-tag": f"<thinking>{THOUGHT}</thinking>{SAID}",
    "think-with-space": f"\n <think >{THOUGHT}</think >{SAID}",
}
"""answers with a thought inside"""
THOUGHTS_ALONE = {
    "think-only": f"<think>{THOUGHT}</think>\n",
    "think-unclosed": f"<think>{THOUGHT} And then",
    "think-empty": "<think>\n\n</think>\n\n",
}
"""nothing was said aloud"""
