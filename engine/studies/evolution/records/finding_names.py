"""Under which names an evolution keeps what it finds: those who read it need nothing of what plays it."""

GENERATION = "generation/"
RESULT = "result"
VALIDATION = "validation"
