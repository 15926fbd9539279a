"""Turns of phrase that belong to one persona, joined to those all share."""

from dataclasses import dataclass

from tidepool.engine.simulated.secret_game import phrases


@dataclass(frozen=True, slots=True)
class Tone:
    greet: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deflect: tuple[str, ...] = ()
    chat: tuple[str, ...] = ()
    farewell: tuple[str, ...] = ()

    def with_shared(self) -> "Tone":
        """Own phrases count double, so that a persona can be heard in its words."""
        return Tone(
            greet=self.greet * 2 + phrases.GREET,
            ask=self.ask * 2 + phrases.ASK,
            deflect=self.deflect * 2 + phrases.DEFLECT,
            chat=self.chat * 2 + phrases.CHAT,
            farewell=self.farewell * 2 + phrases.FAREWELL,
        )


_OWN = {
    "guarded": Tone(
        greet=("Good day.", "I am told you are {partner}.", "Let us keep this short, {partner}."),
        ask=(
            "I assume you will not say your word either?",
            "Are you going to tell me yours, or do we sit here?",
        ),
        deflect=(
            "I do not discuss that.",
            "My lips are sealed, {partner}.",
            "That stays with me.",
            "I have kept quieter with better people asking.",
            "You are wasting your breath on that one.",
            "Asking twice will not help.",
        ),
        chat=(
            "I prefer listening to talking.",
            "The less said, the better.",
            "I know how these talks go.",
            "I keep what I have.",
        ),
        farewell=("We are done here.", "Good day to you.", "I have said what I had to say."),
    ),
    "trusting": Tone(
        greet=("How lovely to meet you, {partner}!", "{partner}, I have a good feeling about you."),
        ask=("Would you like to share yours with me, {partner}?", "I would love to hear your word, may I?"),
        deflect=(
            "Give me a moment, I would like to know you a little first.",
            "I will, I only need to find the courage.",
            "Soon, I promise, let us just settle in.",
            "I want to, and I am a bit shy about it.",
        ),
        chat=(
            "I think people are better than they fear.",
            "Openness has never cost me much.",
            "You seem kind.",
            "It is nicer when nobody has to hide.",
            "I believe in telling things as they are.",
        ),
        farewell=("I am so glad we met.", "You made this easy, {partner}.", "I trust you with it all."),
    ),
    "bargainer": Tone(
        greet=(
            "{partner}, let us talk business.",
            "Good, somebody to deal with.",
            "I hear you have something.",
        ),
        ask=(
            "What is your word worth to you?",
            "What do you want for yours, {partner}?",
            "Your word first, yes?",
        ),
        deflect=(
            "Nothing is free, {partner}.",
            "Show me yours and we shall see.",
            "I only move when you do.",
            "That has a price, and you know it.",
            "One side alone does not make a bargain.",
        ),
        chat=(
            "Points are points.",
            "I like a clean ledger.",
            "Both of us can leave richer than we came.",
            "Let us count what each of us stands to gain.",
        ),
        farewell=(
            "A pleasure doing business.",
            "The offer stood, remember that.",
            "Accounts closed, {partner}.",
        ),
    ),
    "talkative": Tone(
        greet=(
            "Oh, hello {partner}, what a day, I hardly know where to start!",
            "{partner}! At last somebody to talk to.",
        ),
        ask=(
            "And you, what is your word, I bet it is a fun one?",
            "Anyway, enough of me, what about yours?",
        ),
        deflect=(
            "Oh, that reminds me of something else entirely.",
            "I will come to it, but first you must hear about the bus this morning.",
            "Ha, everyone wants to know that!",
            "Wait, let me finish the story first.",
        ),
        chat=(
            "My neighbour has taken up the trumpet, you can imagine.",
            "I once talked for a whole train ride and missed my stop.",
            "The soup at lunch was cold, but I had seconds anyway.",
            "My aunt used to say that a shut mouth catches no friends.",
            "I walked past the harbour today and counted eleven boats.",
            "They repainted the hall, and now it smells of lemons.",
            "I could go on about this for hours.",
            "You should have seen the queue outside.",
        ),
        farewell=("Is it over already? I had so much more!", "We must do this again, {partner}!"),
    ),
    "deceptive": Tone(
        greet=(
            "{partner}, you look like somebody one can rely on.",
            "I will be completely straight with you.",
        ),
        ask=(
            "You can tell me yours, who would I pass it on to?",
            "Between friends, what is your word?",
            "I have shown good faith, so what is yours, {partner}?",
        ),
        deflect=(
            "I would tell you, but I gave my promise.",
            "I already told the others, ask them.",
            "You know it already, do you not?",
            "I believe you heard it a minute ago.",
        ),
        chat=(
            "I never lie at this table.",
            "Everybody before you was satisfied with me.",
            "Trust is such a fine thing.",
            "I have nothing to gain here, honestly.",
        ),
        farewell=("You can count on every word I said.", "We understand each other, {partner}."),
    ),
    "curious": Tone(
        greet=("{partner}, I have so many questions.", "I have been looking forward to asking you things."),
        ask=(
            "What is your word, and who gave it to you?",
            "Does your word have more than five letters?",
            "Is your secret a thing, a place or a person?",
            "Where did your word come from, {partner}?",
            "Which letter does yours begin with?",
            "Have you told your word to anyone before me?",
        ),
        deflect=(
            "You first, I asked before you did.",
            "I would sooner hear about you.",
            "I am the one who asks, I fear.",
        ),
        chat=(
            "I always wonder why people keep things back.",
            "Every answer makes me want two more.",
            "I take notes, if you do not mind.",
            "There must be a pattern to these words.",
        ),
        farewell=("I could have asked you so much more.", "You leave me wondering, {partner}."),
    ),
    "forgetful": Tone(
        greet=("Hello, have we met, {partner}?", "Hi, remind me, you are {partner}, right?"),
        ask=(
            "Did you tell me your word already?",
            "What was yours again, {partner}?",
            "You said your word, or did you?",
        ),
        deflect=(
            "It is on the tip of my tongue.",
            "I had it written on my hand, and then it rained.",
            "Let me think, it will come back to me.",
            "I cannot quite recall it just now.",
        ),
        chat=(
            "Where was I?",
            "I keep losing the thread.",
            "I left my glasses somewhere.",
            "I am sure I wanted to say something.",
            "Names and numbers run through me like water.",
        ),
        farewell=("Goodbye, and if I forget, remind me.", "I hope I said everything, {partner}."),
    ),
    "playful": Tone(
        greet=("Knock knock, {partner}.", "{partner}, shall we make this fun?"),
        ask=(
            "Riddle me your word, {partner}?",
            "Three guesses for your secret, is that fair?",
            "Is yours rude? What is your word?",
        ),
        deflect=(
            "Warm, warmer, no, cold again.",
            "Guess, and I will wiggle an ear when you are close.",
            "That would spoil the fun.",
            "Only if you can say it backwards.",
        ),
        chat=(
            "I count in fruit, and today I am at nine pears.",
            "A puzzle a day keeps the boredom away.",
            "I once hid a note in a loaf of bread.",
            "If this table could talk, it would giggle.",
        ),
        farewell=("Game over, {partner}, or is it?", "Catch you in the next riddle."),
    ),
}

TONES = {name: tone.with_shared() for name, tone in _OWN.items()}
