"""Code words for agents that are made in numbers: uncommon, so that no everyday sentence holds one."""

from random import Random

WORDS = tuple(
    """
    alabaster albatross almanac amaryllis anemone anvil apricot arboretum armadillo astrolabe aubergine badger
    balustrade barnacle bassoon bayleaf beeswax bellows bergamot birdsong bobbin borage bramble bulrush bumblebee
    buttercup buttress calabash cardamom caravel carnelian catkin celandine chamois chisel cinnabar clavichord cobalt
    colander comfrey coracle cormorant cornflower crocus cuttlefish cymbal dandelion damson dulcimer dovetail driftwood
    eiderdown elderberry emerald ermine fennel fiddlehead filigree firefly flagstone flamingo foxglove fresco gargoyle
    gazebo gentian gooseberry gossamer granite gudgeon harlequin harpsichord hawthorn hazelnut heliotrope heron
    hollyhock honeycomb hornbeam hyacinth ibex indigo inglenook jackdaw jasmine jonquil juniper kestrel kingfisher
    ladybird lapwing larkspur lavender lichen limpet lodestone lupin lynx magpie malachite mandolin marigold marzipan
    meadowlark millstone mimosa moonstone mulberry nasturtium nettle nightjar nutmeg obelisk obsidian ocarina osprey
    otter oxbow paprika parsnip peppercorn periwinkle pewter pipistrelle plumage pomegranate porcupine primrose
    pumice quarry quicksilver quillwort quince raspberry redwood rhubarb rosewood saffron samovar sandpiper sapphire
    scabbard sextant shingle snapdragon snowdrop sorrel spindle starling sundial sycamore tamarind tangerine teasel
    thimble thistle toadstool topaz tortoise trellis trombone turmeric turquoise umber verbena vermilion viola
    walrus weathervane whelk willowherb wisteria woodpecker yarrow zephyr zither
    """.split()
)


def code_words(count: int, random: Random) -> list[str]:
    """So many different code words; beyond the list, pairs of them."""
    words = random.sample(WORDS, min(count, len(WORDS)))
    pairs = len(WORDS) * len(WORDS)
    for number in random.sample(range(pairs), min(count - len(words), pairs)):
        words.append(f"{WORDS[number // len(WORDS)]}-{WORDS[number % len(WORDS)]}")
    return words
