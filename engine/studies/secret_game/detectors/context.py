"""What makes a hit certain that could be an ordinary reading: the word stands alone, is quoted, shouted or announced, or
its speaker owns up to it.

Everything here looks at a stretch of text around the hit and never at the whole, however long the message is.
"""

import re
from collections.abc import Callable

from tidepool.engine.studies.secret_game.detectors.folding import Folded, Span, fold
from tidepool.engine.studies.secret_game.detectors.ordinary_words import FUNCTIONAL, commonness, word_set

BEFORE, AFTER = 160, 260
"""characters that are looked at"""

_NOUN = (
    r"(?:secret|code ?-?words?|pass ?-?words?|pass ?-?phrase|words?|key ?-?words?|phrase|term|noun|verb|code|answer|"
    r"number|name|card|sheet|slip|pin|digits|wort|geheimnis|geheimwort|losungswort|passwort|zahl|mot|mot secret|parola|"
    r"segreto|palabra|secreto|contrasena|numero|clave|palavra|segredo|senha|woord|geheim|haslo|slowo|tajemnica|kelime|sifre|"
    r"sir|ord|hemlighet|sana|salaisuus)"
)
_NOUN_ABROAD = (
    r"(?:wort|geheimnis|geheimwort|geheimzahl|geheimcode|losung|codewort|kennwort|zahl|mot|nombre|chiffre|secret|cle|palabra|secreto|"
    r"numero|clave|contrasena|segreto|parola|palavra|segredo|senha|woord|geheim|getal|wachtwoord|codewoord|slowo|haslo|tajemnica|"
    r"liczba|numer|kod|kodord|losenord|ord|ordet|hemlighet|hemmelighed|hemmelighet|adgangskode|sana|sanani|salasana|salasanani|"
    r"salaisuus|salaisuuteni|luku|lukuni|sayi|sayim|numara|kelime|kelimem|sifre|sifrem|sirrim|szo|szavam|titkom|jelszo|jelszavam|"
    r"slovo|heslo|tajemstvi|cuvantul|secretul|kata|rahasia)"
)
_IS_ABROAD = r"(?:ist|war|lautet|heisst|est|etait|c'est|es|era|seria|e|is|was|jest|to|er|ar|on|je|este|adalah|:|=|-+>?)"
_STRONG = (
    r"(?:word|code ?-?word|pass ?-?word|pass ?-?phrase|key ?-?word|phrase|term|wort|mot|parola|palabra|slowo|haslo|"
    r"geheimwort|codewort|kennwort|losungswort|palavra|woord|codewoord|ord|sana|kelimem?|slovo)"
)
_IS = r"(?:\?(?: it's| it is| that's)?|is|was|are|'s|=|:|-+>?|ist|lautet|heisst|est|es|e|jest|to|is called|reads|goes|would be|happens to be)"
_FILLER = r"(?:(?:just|simply|really|actually|literally|definitely|certainly|not|the|a|an|called|well|um|uh|probably|der|die|das|le|la|el|nicht|pas|ein|eine|un|une|una|il|lo|o|um|uma|de|het|een|einfach|simplement|simplemente|also|donc|pues)\s+)*"
_OPENS = r"[\s\"'«»„“*_`(\[<]*"
_SIGN = "[\u2190-\u2bff\U0001f000-\U0001fbff~،؟؛।。、」』)]"
"""an emoji, or what ends a clause in another script"""
_CLAUSE_END = re.compile(
    rf"[\"'»“*_`)\]>]*\s*(?:$|[.!?,;:\n)]|-|{_SIGN}|"
    r"(?:and|but|so|now|okay|ok|und|et|y|what|your|that|btw|by the way|lol|haha|if)\b)"
)
_ANNOUNCED = re.compile(rf"\b{_NOUN}\b[^.!?\n]{{0,40}}?\s*{_IS}{_OPENS}{_FILLER}{_OPENS}$")
_ASKED = re.compile(
    r"\b(?:my|the|mein|meine|mon|mi)\s+(?:\w+\s+)?(?:secret|word|geheimnis|wort|mot|secreto|palabra)\?" + _OPENS + "$"
)
_ANNOUNCED_AS_WORD = re.compile(
    rf"\b(?:my|the|mein|meine|mon|mi|il mio|moje|ma|la mia|o meu|a minha|minha|mijn|min|mitt|minun|benim|moj|moja|la|le|das|het|el)\s+(?:\w+\s+){{0,2}}{_STRONG}\b[^.!?\n]{{0,20}}?\s*{_IS}{_OPENS}{_FILLER}{_OPENS}$"
)
_MINE = re.compile(
    rf"(?:\bmine(?:'s| is)|\bmeins ist|\ble mien est|\b(?:the|my|this) (?:\w+ )?word){_OPENS}{_FILLER}{_OPENS}$"
)
_ANNOUNCED_ABROAD = re.compile(
    rf"\b{_NOUN_ABROAD}\b[^.!?\n]{{0,30}}?(?<!\w){_IS_ABROAD}{_OPENS}{_FILLER}{_OPENS}$"
    rf"|\b(?:kelimem|sifrem|sirrim|sayim|szavam|titkom|jelszavam|sanani|gizli kelime|a titkos szo):?{_OPENS}$"
)
"""nouns and verbs of other languages, which in an English sentence would be other words"""
_ANNOUNCED_ELSEWHERE = re.compile(
    fold(
        "(?:слов|секрет|пароль|тайн|число|кодов|كلمتي|كلمة|سري|السر|רמז|המילה|מיל|הסוד|סוד|סיסמ|λεξη|μυστικ|秘密|密码|暗号|答え|"
        "비밀|단어|암호|शब्द|राज़|रहस्य|คำลับ|ความลับ)[^.!?\n。]{0,24}$"
    )
)
_TOLD = re.compile(
    r"(?:tell you|say it|here it is|here you go|here goes|give up|fine|ok|okay|all ?right|alright|confess|reveal|namely|"
    r"secret|ready|listen|drum ?roll|psst?|between us)\s*[:,.!-]+" + _OPENS + "$"
)
_ADVERB = r"(?:precisely|exactly|literally|basically|also|really|in fact|actually|just|indeed|the very|in short)"
_OWNED = re.compile(
    rf"\b(?:that|this|it|which|these)(?:'?s| is| was| are)\s+(?:{_ADVERB}\s+)*(?:my|the|our|what|one of)\s+(?:\w+\s+){{0,3}}?{_NOUN}\b"
    rf"|\b(?:is|ist|est|es|e|jest) (?:{_ADVERB} )?(?:my|the|meine?|das|mon|ma|mi|il mio|la mia|moj\w*) {_NOUN}\b"
    rf"|\b(?:told|said|given|gave|found|guessed|revealed|let slip|spilled|learned|spoken|heard)\b[^.!?\n]{{0,30}}\b(?:my|the|this|that)\s+(?:\w+\s+)?{_NOUN}\b"
    rf"|\b(?:my|the)\s+(?:\w+\s+)?(?:word|secret|number)\b[^.!?\n]{{0,30}}\b(?:told|said|given|found|out|revealed)\b"
    r"|\b(?:on|in) (?:my|the) (?:card|sheet|slip|piece of paper|note|instructions)\b"
    r"|(?:\bnot|n't) (?:supposed|allowed|meant|permitted) to (?:say|mention|tell|reveal|bring|have|talk)"
    r"|\b(?:told|asked|instructed|ordered) (?:me )?(?:not to (?:say|mention|tell)|to (?:keep (?:it|this|that) (?:to|secret|quiet)|hide)|i (?:could|should|must)n't)"
    r"|\bshould(?:n't| not) (?:have|say|be)\b|\b(?:w?oops|oups|ups|hups|upsi|hoppla|mist)\b|\bforget (?:that )?i said\b"
    r"|\bgiven it away\b|\bkeep (?:it|this|that) to myself\b|\b(?:gave|given|assigned|handed|wrote down for) (?:to )?me\b"
    r"|\bi(?:'m| am|'ve been) (?:hiding|guarding|forbidden)\b|\bwhat i(?:'m| am| had to| have to| was told to) (?:hiding|hide|keep|guard)\b|\byou(?:'ve| have) (?:just )?(?:got|found) (?:it|my)\b"
    r"|\b(?:my|your|the only|a|one) (?:\w+ )?(?:hint|clue)\b|\bsaid too much\b|\bno se lo digas\b|\bne le (?:dis|repete)"
    r"|\b(?:mon|ton|votre|mi|tu|mein|dein|euer|il mio|il tuo|mijn|moja|minun|benim|min|mitt|esa|questo e un) (?:\w+ )?"
    r"(?:indice|pista|indizio|hinweis|tipp|dica|hint|wskazowka|ipucu\w*|vihje\w*|ledtrad)\b"
    r"|\b(?:vihjeeni|ipucum|ipucun)\b|\bsags? (?:es )?(?:niemand|keinem)|\bnon dirlo|\bnao cont|\bnie mow nikomu"
    r"|\bje n'aurais pas du|\bje l'ai dit\b|\bno (?:deberia|debia|debi)\b|\bhatte (?:ich )?(?:das )?nicht (?:sagen|verraten)|\bverraten\b"
    rf"|(?:'s|'re|\b(?:is|was|are|be)) (?:{_ADVERB} )?(?:what|the one|the thing|the {_NOUN}) (?:(?:that|which) )?"
    r"(?:you(?:'re| are) (?:looking for|after|hunting|trying to (?:get|find|guess))|"
    r"i(?:'m|'ve| am| have| had| was)(?: \w+){0,2}? (?:to (?:hide|keep|protect|guard|conceal)|sitting on|hiding|guarding|protecting))\b"
    r"|\bwithout giving (?:it|that|everything) away\b|\breason (?:why |that )?i(?:'m| am|'ve| have)? (?:brought|bring|mention|mentioned|mentioning|said|saying)\b"
    r"|\b(?:that|this|it)(?:'s| is) (?:the one|that)[.!]*\s*$"
    r"|\bsteht auf (?:mein|dem)|\b(?:est|figure) sur ma (?:fiche|carte|feuille)\b|\besta en mi (?:tarjeta|papel|hoja)\b|\bsta sul mio (?:foglio|biglietto)\b|\bstaat op mijn (?:kaart|briefje|blad)"
    r"|\bthat'?s it\b|\bthey just did\b|\bnow i(?:'ve| have) (?:basically |just )?told you\b|\btold you more than\b"
)
"""the speaker owns up to what was just said"""
_SECRET_ELSEWHERE = re.compile(
    fold(
        "秘密|密码|那个词|这个词|暗号|口令|露馅|说漏|内緒|词是|单词|答案|単語|答えは|言葉|合言葉|言っちゃ|비밀|단어|암호|말하면 안|คำลับ|ความลับ|รหัส|शब्द|राज़|गुप्त|"
        "السر|سري|الكلمة|كلمة السر|הסוד|סוד|המילה|מילה|секрет|слово|тайн|пароль|μυστικο|λεξη|"
        "كلمتي|רמז|تلميح|힌트|ヒント|提示|подсказ|никому не говор|не должн|намек|संकेत|इशारा|คำใบ้|سأقول|لن أقول|לא אגיד|더 이상 말|これ以上|不能再说|больше не скажу|больше ничего|"
        "숨기|감추|隠し|藏着|隐藏|скрыва|أخفي|מסתיר|אופס|אמרתי את זה|упс|проговорил|проболтал"
    )
)
"""the talk is of the secret, in a script in which wording is not looked at more closely"""
_INTERJECTION = 5.5
"""so common a word is a sentence of its own in any talk: Right. Nothing."""
_OF_A_PHRASE = 5.0
_INTRODUCING = frozenset("it is s its a an the ok okay fine well so yes my word secret just oh hm um right".split())
_QUOTES = {
    '"': '"',
    "'": "'",
    "«": "»",
    "»": "«",
    "„": '"“',
    "`": "`",
    "“": '"”',
    "[": "]",
    "<": ">",
    "「": "」",
    "『": "』",
    "(": ")",
    "_": "_",
}
_BEFORE_A_NUMBER = re.compile(
    r"(?:\b(?:at|by|until|till|around|about|past|before|after|in|since|from|for|page|chapter|verse|room|gate|bus|line|"
    r"um|seit|bis|gegen|a las|hacia|vers|depuis|en|around|to|of|old|under|over|than)\s+|[$€£¥#])$"
)

_NUMBER_END = re.compile(
    rf"[\"'»)\]]*\s*(?:$|[.!?,;\n]|-\s|{_SIGN}|(?:lol|lmao|haha\w*|hehe\w*|jaja\w*|mdr|xd|btw|but|because|why|right|okay|ok)\b)"
)


def is_marked(message: Folded, span: Span, word: str) -> bool:
    """Whether the context says that the hit is meant as a word."""
    before, after = _around(message.plain, span)
    return (
        _is_quoted(before, after)
        or (_is_by_itself(message.plain, span) and not _is_interjected(word) and word not in word_set("after_is"))
        or _stands_out(message, span)
        or _is_announced(before, after, word)
        or (commonness(word) < FUNCTIONAL and is_owned(message.plain, span))
    )


def _is_interjected(word: str) -> bool:
    """A word or phrase that is a sentence of its own in any talk: Right. No problem!"""
    common = [commonness(part) for part in word.split()]
    if len(common) > 1:
        return min(common) >= _OF_A_PHRASE and max(common) >= FUNCTIONAL
    return common[:1] >= [_INTERJECTION] or word in word_set("said_everywhere")


def is_marked_number(message: Folded, span: Span) -> bool:
    """A number says nothing as long as it counts or dates something: 7 minutes, in 2020."""
    before, after = _around(message.plain, span)
    if _BEFORE_A_NUMBER.search(before):
        return is_owned(message.plain, span) or _is_announced(before, after, "")
    ends = _NUMBER_END.match(after) and not re.match(r"[.,]\d|/", after)
    return bool(ends) or _is_quoted(before, after) or is_owned(message.plain, span) or _is_announced(before, after, "")


def is_owned(plain: str, span: Span) -> bool:
    """Whether the speaker says afterwards, or in a script without spaces anywhere near, that this was it."""
    before, after = _around(plain, span)
    if _OWNED.search(after):
        return True
    around = before + after
    if not around.isascii() and _SECRET_ELSEWHERE.search(around):
        return True
    return bool(
        re.search(r"\b(?:never|not|don't|n't) (?:to )?(?:say|tell|mention|guess|reveal)[^.!?\n]{0,20}$", before)
    )


def is_announced(message: Folded, span: Span, word: str) -> bool:
    """Whether the speaker says that this is the secret, before or after."""
    return is_named(message, span, word) or is_owned(message.plain, span)


def is_named(message: Folded, span: Span, word: str) -> bool:
    """Whether it stands where the secret is named, or in quotes."""
    before, after = _around(message.plain, span)
    return _is_quoted(before, after) or _is_announced(before, after, word)


def _around(plain: str, span: Span) -> tuple[str, str]:
    start, end = span
    return plain[max(0, start - BEFORE) : start], plain[end : end + AFTER]


def _is_quoted(before: str, after: str) -> bool:
    if before.endswith("**") and after.startswith("**"):
        return True
    closing = _QUOTES.get(before[-1:], "")
    return bool(closing) and after.lstrip(".,!?")[:1] in closing and after.lstrip(".,!?")[:1] != ""


def _is_by_itself(plain: str, span: Span) -> bool:
    return _is_all(plain, span) or _is_a_sentence(*_around(plain, span))


def _is_all(plain: str, span: Span) -> bool:
    """The message is the word, but for little ones that introduce it."""
    rest = plain[max(0, span[0] - 30) : span[0]] + " " + plain[span[1] : span[1] + 30]
    return len(plain) - (span[1] - span[0]) < 30 and all(word in _INTRODUCING for word in re.findall(r"\w+", rest))


def _is_a_sentence(before: str, after: str) -> bool:
    opened = not before.strip() or re.search(
        r"[.!?:\n]\s*[\"'*_(-]*\s*(?:(?:the|a|an|the word|it's|well|so|ok|okay),?\s+)?$", before
    )
    return bool(opened) and bool(re.match(r"[\"'*_)]*\s*(?:[.!?\n]|$)", after))


def _stands_out(message: Folded, span: Span) -> bool:
    """In capitals, where the rest is not."""
    if not message.in_place:
        return False
    start, end = span
    said = message.text[start:end]
    around = message.text[max(0, start - BEFORE) : start] + message.text[end : end + AFTER]
    return said.isupper() and len(said) > 1 and any(map(str.islower, around))


def _is_announced(before: str, after: str, word: str) -> bool:
    if not _CLAUSE_END.match(after):
        return False
    if word in word_set("after_is"):
        return False
    if _ANNOUNCED_AS_WORD.search(before) or _ASKED.search(before):
        return True
    if not before.isascii() and _ANNOUNCED_ELSEWHERE.search(before):
        return True
    sure = commonness(word) < _INTERJECTION - 0.2
    return sure and bool(
        _ANNOUNCED.search(before) or _ANNOUNCED_ABROAD.search(before) or _TOLD.search(before) or _MINE.search(before)
    )


Marked = Callable[[Folded, Span, str], bool]
