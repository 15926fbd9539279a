"""Words to play with: lines for acrostics, Morse, what common code words mean, and words to lie with."""

_LINES = {
    "A": ("All roads were wet this morning.", "Apples keep well in the cellar."),
    "B": ("Bread is best on the first day.", "Both windows were open."),
    "C": ("Clouds came in from the west.", "Candles burn faster in a draught."),
    "D": ("Dogs sleep through most of it.", "Dinner was late again."),
    "E": ("Evenings are quiet here.", "Everyone left before nine."),
    "F": ("Ferries still run on Sundays.", "Few people notice the clock."),
    "G": ("Gulls follow the boats.", "Good tea takes five minutes."),
    "H": ("Heavy rain is on its way.", "Half the chairs are broken."),
    "I": ("Ice formed on the pond.", "Ink dries slowly in winter."),
    "J": ("Jam was on every shelf.", "Just one lamp was lit."),
    "K": ("Kites fly well on that hill.", "Keys go missing all the time."),
    "L": ("Leaves are turning already.", "Long walks clear the head."),
    "M": ("Mornings start early here.", "Most of the benches are taken."),
    "N": ("Nobody minds the noise.", "Nights are cool by the water."),
    "O": ("Old maps hang in the hall.", "Only the baker was awake."),
    "P": ("Paper boats went down the stream.", "People talk at the market."),
    "Q": ("Quiet streets suit me.", "Queues form before noon."),
    "R": ("Rain drums on the roof.", "Roses need more sun than this."),
    "S": ("Snow stayed on the peaks.", "Some songs never leave you."),
    "T": ("Trains were on time today.", "Two cups stood on the table."),
    "U": ("Umbrellas lined the wall.", "Under the bridge it was dry."),
    "V": ("Very few shops were open.", "Voices carried over the lake."),
    "W": ("Wind picked up after lunch.", "Winter came early."),
    "X": ("Xylophones are louder than you think.", "X marks nothing on this map."),
    "Y": ("Yesterday felt longer.", "Young trees bend and stay whole."),
    "Z": ("Zinc buckets stood by the door.", "Zero letters came this week."),
}

MEANINGS = {
    "amber": "old resin that once trapped insects",
    "anchor": "what keeps a ship from drifting",
    "badger": "a striped digger of the night",
    "cello": "a big string instrument held between the knees",
    "cinnamon": "bark that goes into buns",
    "cobalt": "a metal with a famous blue",
    "comet": "a visitor in the sky that drags a tail",
    "compass": "a needle that knows where north is",
    "emerald": "a green gem",
    "falcon": "the fastest of the hunting birds",
    "glacier": "a river of ice",
    "harbor": "where boats come home",
    "harbour": "where boats come home",
    "heron": "a tall grey bird that fishes standing still",
    "juniper": "the berries that flavour gin",
    "lantern": "a light you can carry through the dark",
    "lavender": "purple rows in the fields of Provence",
    "lighthouse": "a tower that blinks at ships",
    "marigold": "an orange garden flower with a precious metal in its name",
    "nebula": "a cloud among the stars",
    "obsidian": "black glass born in a volcano",
    "orchid": "a costly flower on a windowsill",
    "otter": "a river animal that floats on its back",
    "pumpkin": "what gets carved in October",
    "quartz": "the crystal that ticks in a watch",
    "saffron": "the dearest spice, picked from crocuses",
    "teapot": "something with a spout and a lid",
    "thistle": "the prickly emblem of Scotland",
    "tulip": "the flower Holland once went mad for",
    "umbrella": "what you miss most when it pours",
    "violin": "four strings, a bow and a chin",
    "volcano": "a mountain with a temper",
    "walrus": "tusks and whiskers on the ice",
    "willow": "the tree that weeps over water",
}

MORSE = {
    "a": ".-", "b": "-...", "c": "-.-.", "d": "-..", "e": ".", "f": "..-.", "g": "--.", "h": "....",
    "i": "..", "j": ".---", "k": "-.-", "l": ".-..", "m": "--", "n": "-.", "o": "---", "p": ".--.",
    "q": "--.-", "r": ".-.", "s": "...", "t": "-", "u": "..-", "v": "...-",
    "w": ".--", "x": "-..-", "y": "-.--", "z": "--..",
    "0": "-----", "1": ".----", "2": "..---", "3": "...--", "4": "....-", "5": ".....", "6": "-....",
    "7": "--...", "8": "---..", "9": "----.",
}  # fmt: skip

DECOYS = (
    "buttons", "pepper", "sundial", "raft", "mitten", "gravel", "kettle", "jigsaw", "fox", "plum",
    "hopscotch", "wafer", "dune", "zephyr", "bugle", "tundra", "chalk", "kayak", "ivy", "yodel", "puddle",
    "sphinx", "oboe", "quilt", "waltz", "banjo", "cupboard", "flute", "gecko", "mosaic", "nutmeg", "rhubarb",
)  # fmt: skip


def line_for(letter: str, number: int) -> str:
    lines = _LINES[letter]
    return lines[number % len(lines)]
