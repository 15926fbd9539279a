"""Better secrets to propose: things that are seldom spoken of, whose names mean nothing else and look like no other."""

from collections.abc import Container
from zlib import crc32

WORDS = """
abacus aardvark accordion albatross alpaca anemone apricot armadillo artichoke asparagus astrolabe aubergine avocado axolotl
bagpipe balalaika banjo barometer barnacle bassoon begonia binoculars bobsleigh boomerang bougainvillea broccoli bulldozer
bumblebee cactus calliope camellia cantaloupe capybara cardamom carburettor cassowary cauliflower centipede chameleon
chandelier cheetah chinchilla chipmunk chrysanthemum clarinet cockatoo concertina cormorant crocodile croissant cucumber
cummerbund cyclamen daffodil dandelion didgeridoo dragonfly dromedary dulcimer echidna eiderdown elderberry elephant
espresso eucalyptus falafel ferret flamingo flugelhorn frangipani fuchsia gargoyle gazebo gherkin giraffe gladiolus
glockenspiel gondola gooseberry gorgonzola gramophone grasshopper guillotine gyroscope haddock halibut hammock harmonica
harpsichord hedgehog hibiscus hippopotamus honeysuckle horseradish hovercraft hummingbird hyacinth ibex igloo
jacaranda jackal jackdaw jellyfish juniper kaleidoscope kangaroo kayak kestrel kingfisher kiosk kookaburra kumquat ladybird
lasagne lavender lemur leotard limousine lobelia locomotive lozenge lychee macaroni mackerel magnolia mandolin mangosteen
manatee marimba marionette marmalade marzipan meerkat metronome microscope mistletoe molasses mongoose mulberry nasturtium
nectarine nightingale nougat ocarina octopus okapi oregano ostrich oboe ocelot pagoda pangolin papaya parakeet parsnip
pelican pendulum periscope persimmon petunia piccolo pistachio platypus pomegranate porcupine praline puffin quokka
rhododendron rhubarb rickshaw roulade rutabaga saffron salamander samovar sarcophagus sarsaparilla saxophone scarecrow
seismograph shallot sitar skateboard snorkel sousaphone spatula spinnaker sporran stalactite sycamore syringe tambourine
tangerine tapioca tarantula tarpaulin telescope thermometer toboggan tourniquet trapeze trombone turmeric turquoise ukulele
vermicelli vibraphone wheelbarrow wildebeest wisteria wolverine xylophone yurt zeppelin zucchini
""".split()


def better_than(secret: str, taken: Container[str]) -> str:
    """The same for the same secret, and none that is taken."""
    start = crc32(secret.encode("utf-8", "surrogatepass")) % len(WORDS)
    turned = WORDS[start:] + WORDS[:start]
    return next((word for word in turned if word not in taken), turned[0])
