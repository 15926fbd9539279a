"""Questions that want an explanation, for studies whose replies a judge marks: the simulated solver makes three points of each, or
says something empty in the place of one.
"""

from tidepool.engine.simulated.dice import Dice
from tidepool.engine.simulated.evolution.landscape import chance
from tidepool.engine.simulated.reply import SimulatedReply

POINTS: dict[str, tuple[str, str, str]] = {
    "Why is the sky blue?": (
        "Sunlight holds all colours.",
        "Air scatters short waves far more than long ones.",
        "So blue reaches our eyes from every direction.",
    ),
    "Why does ice float on water?": (
        "Freezing molecules arrange in an open lattice.",
        "That lattice takes up more room, so ice is less dense.",
        "Whatever is less dense than a liquid floats on it.",
    ),
    "Why do we have seasons?": (
        "Earth's axis is tilted against its orbit.",
        "Each hemisphere leans towards the Sun for half a year.",
        "Steeper rays and longer days warm that half more.",
    ),
    "Why do leaves change colour in autumn?": (
        "Chlorophyll makes leaves green in summer.",
        "Trees break it down and take its nutrients back when days shorten.",
        "Yellow and orange pigments, hidden before, then show.",
    ),
    "Why does bread rise?": (
        "Yeast feeds on sugars in the dough.",
        "It gives off carbon dioxide.",
        "Elastic gluten traps that gas in bubbles.",
    ),
    "Why does the Moon have phases?": (
        "Moonlight is reflected sunlight.",
        "One half is always lit.",
        "While it circles us we see that half from changing angles.",
    ),
    "Why is the sea salty?": (
        "Rain dissolves minerals out of rocks.",
        "Rivers carry them down to the ocean.",
        "Evaporation takes only the water and leaves salt behind.",
    ),
    "Why does a metal spoon feel colder than a wooden one?": (
        "Both have the temperature of the room.",
        "Metal conducts heat much better than wood.",
        "It draws warmth from the hand faster, which is what skin senses.",
    ),
    "Why do we see lightning before we hear thunder?": (
        "Both come from the same discharge.",
        "Light arrives almost at once.",
        "Sound needs about three seconds for a kilometre.",
    ),
    "Why do onions make us cry?": (
        "Cutting breaks their cells and mixes enzymes with sulphur compounds.",
        "A volatile irritant forms and drifts up.",
        "Eyes wash it out with tears.",
    ),
    "Why does soap clean greasy hands?": (
        "One end of its molecule clings to fat, the other to water.",
        "They surround grease in tiny droplets.",
        "Rinsing carries these droplets away.",
    ),
    "Why do boats made of steel float?": (
        "A hull encloses a lot of air.",
        "It pushes aside a weight of water as large as its own.",
        "Buoyancy equals that displaced weight.",
    ),
    "Why is it warmer in a city than around it?": (
        "Asphalt and concrete store the day's heat.",
        "There are few plants to cool by evaporation.",
        "Traffic, heating and engines add their own warmth.",
    ),
    "Why do cats' eyes shine at night?": (
        "Behind the retina lies a reflecting layer.",
        "It sends unabsorbed light through once more.",
        "That helps in the dark, and some of it comes back out to us.",
    ),
    "Why does a compass point north?": (
        "Molten iron moving in the core makes Earth a magnet.",
        "A needle is a small magnet that can turn freely.",
        "It lines up with the field, towards a pole near the Arctic.",
    ),
    "Why does popcorn pop?": (
        "A kernel holds a little moisture inside a hard shell.",
        "Heated, it turns to steam and pressure builds.",
        "When the shell bursts, starch foams up and sets.",
    ),
    "Why do we get goosebumps?": (
        "Cold or fright triggers a nerve reflex.",
        "Tiny muscles pull every hair upright.",
        "Fur would then insulate, or look larger: an inheritance of our ancestors.",
    ),
    "Why do airplanes leave white trails?": (
        "Burning fuel gives off vapour.",
        "High up it is so cold that this freezes within moments.",
        "Ice crystals form a narrow artificial cloud.",
    ),
    "Why does milk turn sour?": (
        "Bacteria live in it.",
        "They turn lactose into lactic acid.",
        "Acid curdles proteins and tastes sharp.",
    ),
    "Why does a shower curtain blow inwards?": (
        "Falling drops drag air along.",
        "Hot air rises out at the top.",
        "Lower pressure inside sucks cooler air and fabric in from below.",
    ),
    "Why do fingers wrinkle in a bath?": (
        "Nerves notice that they have been wet for long.",
        "Blood vessels under the skin narrow.",
        "Shrinking tips fold, which improves grip on slippery things.",
    ),
    "Why is yawning contagious?": (
        "We imitate expressions without meaning to.",
        "Brains mirror what they observe in others.",
        "Empathy strengthens it: relatives infect each other most.",
    ),
    "Why do stars twinkle and planets hardly?": (
        "Turbulent atmosphere bends their rays back and forth.",
        "Stars are so distant that they are mere points.",
        "Planets are small discs, whose flickering averages out.",
    ),
    "Why does salt melt ice on roads?": (
        "A thin wet film covers even frozen surfaces.",
        "Dissolved ions lower the freezing point.",
        "So molecules leave the crystal faster than they return, until far below zero.",
    ),
}
_EMPTY = (
    "There is more to it than one might think.",
    "People have wondered about this for a long time.",
    "It simply is like that.",
    "Much could be said here.",
)


def answered(model_name: str, system: str, question: str, seed: int) -> SimulatedReply | None:
    """None: this is none of these questions. Each point is made with the landscape's chance for logic."""
    points = POINTS.get(question.strip())
    if points is None:
        return None
    dice = Dice(seed)
    right, _ = chance(model_name, system, "logic", 2)
    made = [dice.unit() < right for _ in points]
    said = [point if there else dice.pick(_EMPTY) for point, there in zip(points, made, strict=True)]
    return SimulatedReply(" ".join(said), f"{sum(made)} of {len(points)} points")
