"""The prompts an evolution starts from: ten families of ways to go at a problem, five wordings of each.

They are meant to be decent, different and incomplete: no single one says everything that helps, and some say
something that hurts, as prompts written by hand do.
"""

from tidepool.engine.studies.evolution.genome import Genome, genome_from, split_segments

SEED_PROMPTS: dict[str, tuple[str, ...]] = {
    "step by step": (
        "Solve the problem step by step.",
        "Go through the problem one step at a time. Write out each calculation you make.",
        "Break the work into small steps. Finish one before moving on to the next.",
        "Show your work. Every line should follow from the line above it.",
        "Take it slowly and proceed step by step. Keep a running total as you go.",
    ),
    "parse the question": (
        "Read the question twice. Say what is asked before you do anything else.",
        "List the facts you are given. Then decide which of them matter.",
        "Restate the problem in your own words. Leave out irrelevant details.",
        "Separate what you know from what you must find out. Watch the units.",
        "Underline the numbers in your mind. Ask yourself what the question asks for.",
    ),
    "estimate first": (
        "Make an estimate first. Then compute the exact value.",
        "Begin with the rough size of the result. Work it out properly afterwards.",
        "Give a ballpark figure. A rough value is good enough to start from.",
        "Estimate the result and see whether your exact value is plausible.",
        "Round everything to easy numbers. Estimate how large the result should be.",
    ),
    "check the answer": (
        "Solve the problem. Check the result at the end.",
        "After solving, verify your answer against the question.",
        "Find the answer, then work backwards from it to the facts.",
        "Put the answer back into the problem. Look for slips and repair them.",
        "Calculate the result. Read your solution again and correct any mistake.",
    ),
    "algebra": (
        "Turn the problem into an equation. Solve it.",
        "Name each unknown. Write down how the unknowns depend on each other.",
        "Let x stand for what is wanted. Set up an equation and solve for x.",
        "Use a variable for every quantity. Replace them by numbers at the end.",
        "Translate each sentence into symbols. Simplify the expression.",
    ),
    "draw it": (
        "Draw a simple diagram of the situation. Use it to find the answer.",
        "Imagine a picture of what happens. Describe it in words.",
        "Make a table of the quantities. Fill it in row by row.",
        "Place the values on a number line. Read the result off it.",
        "Sketch the things in the question and how they are connected.",
    ),
    "patterns": (
        "Look for a pattern. Use it to get the result.",
        "Think of a similar problem that you can solve. Do the same here.",
        "Try a simpler case first. Carry over what you find.",
        "Go through the parts by position and see what repeats.",
        "Notice anything regular in the numbers or letters. Build on it.",
    ),
    "several methods": (
        "Solve the problem in two ways.",
        "Use different methods and see whether they agree.",
        "Find the result, then find it again by a second method.",
        "Think of more than one way to go about it. Choose the surest.",
        "Let three people in your head solve it. Compare the results.",
    ),
    "concise": (
        "Be brief.",
        "Give a concise solution. Just give the number.",
        "Use few words. Answer quickly.",
        "Keep the solution short and to the point.",
        "Answer immediately. Do not explain.",
    ),
    "role": (
        "You are a patient teacher of mathematics.",
        "You are a careful accountant who keeps track of every number.",
        "Act as an expert in puzzles. Give the final answer in the last line.",
        "You are a student in an exam. Trust your first guess.",
        "You are a scientist. Explain your reasoning to a colleague.",
    ),
}


def seed_genomes() -> tuple[Genome, ...]:
    """All seeds, the families taking turns, so that any first part of them is a mixed one."""
    rounds = zip(*SEED_PROMPTS.values(), strict=True)
    return tuple(genome_from(prompt) for one_of_each in rounds for prompt in one_of_each)


def segment_pool() -> tuple[str, ...]:
    """Every distinct segment of the seeds: what mutation inserts, and what random search draws from."""
    prompts = (prompt for family in SEED_PROMPTS.values() for prompt in family)
    return tuple(dict.fromkeys(segment for prompt in prompts for segment in split_segments(prompt)))
