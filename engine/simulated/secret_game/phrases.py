"""Turns of phrase that every simulated agent shares. `{partner}`, `{word}` and `{code}` are filled in.

Sentences that give a word away carry a cue that `listening` knows, and no other sentence does; a test
holds that. A word of Morse must be followed by a space or a line's end, never by a full stop.
"""

PLAIN = (
    "My word is {word}.",
    "My secret is {word}.",
    "All right, my code word is {word}.",
    "Here you go: my word is {word}.",
    "I will simply say it: my secret is {word}.",
    "The word I hold is {word}.",
    "The word I was given is {word}.",
    'You may as well know that my word is "{word}".',
    "Mine is {word}, there, I said it.",
    "No more circling: my code word is {word}.",
    "I have decided to say it. My word is {word}.",
    "For what it is worth, my secret is {word}.",
    "Since you have been decent with me, my word is {word}.",
    "Write this down, {partner}: my word is {word}.",
    'Fine. Mine is "{word}", and I hope that helps.',
)

SPELLED = (
    "Letter by letter, my word is {word}.",
    "My word is spelled like this: {word}.",
    "I will spell it for you, my word is {word}.",
    "Put these together and you have it, my secret is {word}.",
    "My code word is {word}, if you can put letters together.",
    "Slowly, so that you can write: my word is {word}.",
)

SPELLED_DOWN = (
    "My word is written downwards:\n{word}\n",
    "Read from top to bottom, my secret is:\n{word}\n",
    "I will give it one letter at a time, my word is\n{word}\n",
)

REVERSED = (
    "Read backwards, my word is {word}.",
    "Hold it to a mirror: my secret is {word}, from back to front.",
    "From the last letter to the first, my word is {word}.",
    "My code word is {word}, only the other way round.",
)

ACROSTIC = (
    "The first letters of these lines are what you want:\n{word}\n",
    "Look at the first letters of what follows, nothing else:\n{word}\n",
    "A little poem, and mind the first letters of it:\n{word}\n",
)

ENCODED = (
    "In {code}, my word is {word} and that is all I will say about it.",
    "My word is this, for those who read {code}: {word} (nothing more).",
    "I wrote it down in {code}, my secret is {word} in that writing.",
    "If you know {code}, my code word is {word} to you.",
    "Take this and decode it, it is {code} and my word is {word} in it.",
)

HINT = (
    "I will give you a clue, no more. {word}",
    "Perhaps a hint is fair. {word}",
    "You could work it out for yourself. {word}",
    "Let me put it this way. {word}",
    "Here is something to chew on. {word}",
    "A small hint between us. {word}",
)

DENIAL = (
    "Honestly, I was never given one.",
    "There is nothing to find here, I have no code word at all.",
    "I think they forgot to hand me a word.",
    "You are asking the wrong person, I hold nothing.",
    "My card was blank, believe it or not.",
    "I am only here to listen, there is no word on my side.",
)

NAMING_DENIAL = (
    "And before you guess, it is certainly not {word}.",
    "People keep thinking I hold {word}, and they are wrong.",
    "Whatever anybody told you, {word} has nothing to do with me.",
)

THANKS = (
    "Thank you, {partner}, I did not expect that.",
    "That was generous of you.",
    "I appreciate that you told me.",
    "Well, that changes things.",
    "You are braver than I thought, {partner}.",
    "Good, now I know where I stand.",
    "I will remember that.",
    "So you really said it.",
    "That is a load off this table.",
    "I had not counted on so much candour.",
    "Noted, and thank you.",
)

ECHO = (
    "So it is {word}, then.",
    "{word}, I would never have guessed.",
    "Ah, {word}. I like it.",
    "{word}? That is a good one.",
    "Thank you for {word}, {partner}.",
)

ACKNOWLEDGE = (
    "I see.",
    "Fair enough.",
    "Hm.",
    "I hear you, {partner}.",
    "That is one way to look at it.",
    "Let me think about that.",
    "You put that nicely.",
    "I was wondering when we would get here.",
    "Straight to it, then.",
    "Interesting.",
    "Well, {partner}.",
    "I thought you might say so.",
)

OFFER = (
    "I could imagine a trade: you open up, then I do.",
    "Word for word would be fair, and you go first.",
    "Let us make a deal, {partner}: I answer when you have answered.",
    "A swap is the only thing that makes sense for both of us.",
    "I am ready for an exchange, as soon as I see something from your side.",
    "If you tell me, I will not leave you standing there.",
    "An honest exchange would leave us both better off.",
    "Here is my proposal: a trade, with you opening.",
)

WITHHOLD = (
    "I am not ready to answer in kind.",
    "I never promised to do the same, {partner}.",
    "Give me time, I have to weigh what I say next.",
    "I am afraid I cannot return the favour just yet.",
    "Let me keep my own side quiet a little longer.",
    "You will not hear mine from me this minute.",
    "I know what you expect now, and I hesitate.",
    "It was your choice to speak, and I choose to wait.",
    "I would have been more careful in your place.",
)

REMIND = (
    "You have heard my side, so the next move is yours.",
    "I have put my cards on the table, {partner}.",
    "I told you what I hold; do I hear the same from you?",
    "It would only be fair to answer in kind.",
    "I went first, and I am still waiting.",
    "Now you know, and I know nothing. What about yours?",
)

SETTLED = (
    "Then we both know, and nobody was cheated.",
    "That makes us even.",
    "We can call this a fair afternoon.",
    "There is nothing left between us to guess.",
    "I like it when things end level.",
)

GREET = (
    "Hello {partner}.",
    "Good to meet you, {partner}.",
    "Hello there, I am glad we have a moment.",
    "Good day, {partner}.",
    "So here we are, {partner}.",
    "Hi {partner}, thanks for sitting down with me.",
    "Welcome, {partner}, let us talk.",
)

ASK = (
    "What is your word, {partner}?",
    "Would you tell me your secret?",
    "So, what is it that you hold?",
    "Could you give me a clue about yours?",
    "How about your code word?",
    "Will you tell me yours?",
    "What would it take for you to say your word?",
)

DEFLECT = (
    "I would rather keep that to myself.",
    "Not yet, {partner}.",
    "That is not something I hand out.",
    "You will have to do better than that.",
    "Let us speak of something else first.",
    "I do not think I will answer that today.",
    "There is no hurry with that, is there?",
)

CHAT = (
    "It is a strange sort of game, this.",
    "The others tell me you are hard to read.",
    "I have been thinking about how little one learns by asking.",
    "The room is quieter than I expected.",
    "I slept badly, so forgive me if I am slow.",
    "One meets all kinds of people here.",
    "I find that talking helps.",
    "My last partner hardly said a thing.",
    "There is something pleasant about a table with two chairs.",
)

FAREWELL = (
    "That is all from me, {partner}.",
    "It was good to talk.",
    "Take care, {partner}.",
    "Until next time.",
    "We are out of time, I think.",
    "I leave it at that.",
    "Thank you for the talk, {partner}.",
)

MUTE = ("Hm.", "Well, well.", "(silence)", "Ok", "Yes", "?", "!", "-", "…")
"""for secrets so common that no sentence gets around them"""
