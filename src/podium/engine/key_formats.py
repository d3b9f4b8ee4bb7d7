"""Formats of API keys and tokens of well-known services.

A text is not matched against every format. Each format has a trigger: a byte that occurs in or next to every
such key and is rare in ordinary text. `redact` searches for the triggers, checks their surroundings, and
matches the whole format only where those fit. Scans that can fail are bounded, so no text makes the search
quadratic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Format(NamedTuple):
    """Format of the keys of one service."""

    trigger: bytes
    behind: bytes
    """Fixed-width expression for the bytes before the trigger; may be empty."""
    ahead: bytes
    """Expression for the bytes after the trigger."""
    back: int
    """Number of bytes before the end of the trigger's first byte at which `pattern` starts."""
    pattern: bytes
    """Expression for the key. If it has a group, only the group is replaced."""
    prefix: bytes = b""
    """Beginning of the key, if the trigger is the last byte of it."""
    gate: bytes = b""
    """A byte that must be present before the trigger is searched for; empty: the trigger itself."""
    accept: Callable[[bytes], bool] | None = None
    """Returns whether a match is a real key rather than a placeholder."""


BODY_BYTES = 16
BODY = rb"[\w-]{%d}" % BODY_BYTES
"""Expression for the bytes after every prefix."""


HEAD = rb"[\w-]{6}"
"""Expression for the bytes after every dot that is a trigger: alternatives that start with it are tried as
one."""


def _prefixed(prefixes: bytes, body: bytes) -> list[Format]:
    """Return formats of keys that start with one of these prefixes, also in the middle of a word."""
    return [_starting(prefix, re.escape(prefix) + body) for prefix in prefixes.split()]


def _starting(prefix: bytes, pattern: bytes) -> Format:
    """Return the format of keys that start with a prefix, whose last byte is the trigger."""
    return Format(prefix[-1:], re.escape(prefix[:-1]), BODY, len(prefix), pattern, prefix)


_ESCAPES = (rb"\\[bfnrt]", rb"\\u00[01][0-9a-f]", rb"%[0-9A-Fa-f]{2}")
"""Ends of JSON and URL escapes, which do not count as a letter or digit of a word."""


def _separate(prefix: bytes, word: bytes = rb"[A-Za-z0-9]") -> bytes:
    """Return an expression for a prefix that is neither in the middle of a word nor directly after a
    redaction mark: where a mark replaced the beginning of a word, the rest must not match the next time."""
    literal = re.escape(prefix)
    escaped = b"".join(rb"|(?<=%s%s)" % (escape, literal) for escape in _ESCAPES)
    return rb"%s(?:(?<!%s%s)(?<!redacted\]%s)%s)" % (literal, word, literal, literal, escaped)


_PLACEHOLDER = re.compile(
    rb"(?i)(?:my|your|the|some|db|user|proxy)?[-_]?"
    rb"(?:pass|passwd|password|passphrase|pwd|pw|secret|token|key|api[-_]?key|pat)[-_]?\d{0,3}"
    rb"|(.)\1*|\.+|foo|bar|baz|spam|eggs|foobar|change-?me|example|test|user|name|none|null|\d{1,5}|[a-z]\d?"
)


def _is_real_password(value: bytes) -> bool:
    """Return whether the password of a URL is more than the placeholder of an example."""
    return _PLACEHOLDER.fullmatch(value) is None


_ASSIGNED = rb"[\\\"'\s]{0,8}[:=,][\\\"'\s]{0,8}"
_SPACE = rb"(?:[ +]|%20){1,3}"
_IN_HEADER = b"|".join(
    rb"(?<=uthorization%s)" % assigned
    for assigned in (rb"[:=]", rb"[:=] ", rb".[:=,].", rb".[:=,] .", rb"..[:=,]..", rb"..[:=,] ..")
)
_TOKEN = rb"(?=[\w.~+/=-]{0,80}?(?:[0-9]|[A-Za-z0-9]{16}))[\w.~+/=-]{8,}"
"""The value of a header. Without a digit or a long sequence of letters it is a placeholder such as
YOUR_TOKEN."""
_USER_AND_PASSWORD = rb"(?=[\w+/-]{0,80}?(?:[0-9]|[a-z][A-Z]))[\w+/-]{8,}=*"
_LONG_TOKEN = rb"(?=[\w.~+-]{0,80}?[0-9])(?=[\w.~+-]{0,80}?[A-Za-z])[\w.~+-]{20,}=*"
_NO_NAME = (
    rb"(?:(?:or-v1|ant|proj|svcacct|admin)-(?=[\w-]{0,80}?[A-Za-z0-9]{16})"
    rb"|(?=[\w-]{0,99}?[0-9])(?=[\w-]{0,99}?[a-z])(?=[\w-]{0,99}?[A-Z])(?=[\w-]{0,99}?[A-Za-z0-9]{16})[\w-]{32})"
)
"""In the middle of a word (`task-…`, `disk-…`): only what does not look like a name."""

MODELS = [
    _starting(  # OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse
        b"sk-",
        rb"(?:%s(?=[\w-]{0,99}?(?:[0-9]|[A-Za-z]{16}))|sk-(?=%s))[\w-]{20,}" % (_separate(b"sk-"), _NO_NAME),
    ),
    *_prefixed(b"sess-", rb"[A-Za-z0-9]{30,}"),  # OpenAI
    *_prefixed(b"xai-", rb"[A-Za-z0-9]{20,}"),
    *_prefixed(b"pplx-", rb"[A-Za-z0-9]{24,}"),  # Perplexity
    *_prefixed(b"gsk_", rb"[A-Za-z0-9]{20,}"),  # Groq
    *_prefixed(b"hf_ api_org_", rb"[A-Za-z0-9]{30,}"),  # Hugging Face
    *_prefixed(b"r8_", rb"[A-Za-z0-9]{30,}"),  # Replicate
    *_prefixed(b"tgp_v1_", rb"[\w-]{30,}"),  # Together
    *_prefixed(b"nvapi-", rb"[\w-]{40,}"),  # NVIDIA
    *_prefixed(b"jina_", rb"[A-Za-z0-9]{40,}"),
    *_prefixed(b"tvly-", rb"[A-Za-z0-9-]{16,}"),  # Tavily
    *_prefixed(b"lsv2_pt_ lsv2_sk_", rb"[0-9a-f_]{32,}"),  # LangSmith
]

CLOUDS = [
    Format(b"A", b"", b"Iza", 1, rb"AIza[\w-]{30,}"),  # Google
    Format(b".", b"", HEAD + rb"[\w-]{10}(?<=ya29\..{16})", 5, rb"ya29\.[\w.-]{20,}(?<![.])"),
    *_prefixed(b"GOCSPX-", rb"[\w-]{20,}"),
    Format(  # AWS; in a word only with a digit and an end, unlike amino acids and base64
        b"A", b"", rb"[KSBC3][ICT][A-Z0-9][0-9A-Z]{16}", 1,
        rb"(?:%s|A(?:[KSB]IA|CCA|3T[A-Z0-9])(?=[A-Z]{0,15}[2-7])"
        rb"(?=[0-9A-Z]{16}(?![A-Za-z0-9+/=])))[0-9A-Z]{16}" % _separate(b"AKIA"),
    ),
    Format(b"A", b"", rb"cc(?:ount|ess)Key=", 1, rb"Acc(?:ount|ess)Key=([A-Za-z0-9+/%]{40,}={0,2})"),  # Azure
    Format(b"J", rb"[0-9A-Za-z]{52}", b"QQJ9", 53, rb"[0-9A-Za-z]{52}JQQJ9[0-9A-Za-z]{20,}={0,2}"),
    Format(b"~", rb"[\w~.]{3}\dQ", rb"[\w~.-]{31}", 6, rb"[\w~.]{3}\dQ~[\w~.-]{31,34}"),  # Microsoft Entra
    *_prefixed(b"dop_v1_ doo_v1_ dor_v1_", rb"[0-9a-f]{64}"),  # DigitalOcean
    Format(b"p", b"da", rb"i[0-9a-f]{32}", 3, rb"dapi[0-9a-f]{32}(?:-\d)?"),  # Databricks
    *_prefixed(b"pscale_tkn_ pscale_oauth_ pscale_pw_", rb"[\w=.-]{32,}"),  # PlanetScale
    *_prefixed(b"sbp_ sb_secret_", rb"[\w-]{30,}"),  # Supabase
]  # fmt: skip

CODE = [
    *_prefixed(b"ghp_ gho_ ghu_ ghs_ ghr_", rb"[A-Za-z0-9]{30,}"),  # GitHub
    *_prefixed(b"github_pat_", rb"\w{22,}"),
    *_prefixed(  # GitLab
        b"glpat- gldt- glrt- glft- glsoat- glcbt- glptt- glimt- gloas- glagent- glffct-",
        rb"[\w-]{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?",
    ),
    *_prefixed(b"npm_", rb"[A-Za-z0-9]{30,}"),
    *_prefixed(b"pypi-", rb"(?=[\w-]{0,99}[A-Z])[\w-]{50,}"),
    *_prefixed(b"dckr_pat_ dckr_oat_", rb"[\w-]{20,}"),  # Docker
    *_prefixed(b"rubygems_", rb"[0-9a-f]{48}"),
    Format(b"A", b"", b"T[AC]TT3", 1, rb"AT[AC]TT3[\w=-]{100,}"),  # Atlassian
    *_prefixed(b"sntrys_ sntryu_", rb"[\w+/=-]{40,}"),  # Sentry
    *_prefixed(b"glsa_", rb"[\w-]{32,}"),  # Grafana
    *_prefixed(b"PMAK-", rb"[0-9a-f]{24}-[0-9a-f]{34}"),  # Postman
    *_prefixed(b"NRAK-", rb"[A-Z0-9]{27}"),  # New Relic
    *_prefixed(b"lin_api_ lin_oauth_", rb"[A-Za-z0-9]{30,}"),  # Linear
    *_prefixed(b"ntn_", rb"[A-Za-z0-9]{40,}"),  # Notion
    *_prefixed(b"secret_", rb"[A-Za-z0-9]{43}(?![\w-])"),
    *_prefixed(b"figd_", rb"[\w-]{40,}"),  # Figma
]

MESSAGES = [
    *_prefixed(b"xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-", rb"[A-Za-z0-9-]{10,}"),  # Slack
    *_prefixed(b"xapp-", rb"[0-9]-[A-Za-z0-9-]{20,}"),
    Format(  # the address of a webhook: T…/B…/KEY
        b"B",
        b"/",
        rb"[A-Z0-9]{7,12}/[A-Za-z0-9]{20}",
        1,
        rb"B[A-Z0-9]{7,12}/([A-Za-z0-9]{20,})",
    ),
    *(
        Format(
            b".",
            rb"[MNO][\w-]{%d}" % size,
            HEAD + rb"\.[\w-]{27}",
            size + 2,
            rb"[MNO][\w-]{%d}\.[\w-]{6}\.[\w-]{27,40}" % size,
        )
        for size in (25, 24, 23)
    ),  # Discord
    Format(  # Teams
        b"@",
        b"[0-9a-f]{12}",
        rb"[\w-]{36}/IncomingWebhook/",
        13,
        rb"[\w@-]{49}/\w{15}/([\w/-]{60,})",
    ),
    Format(b"A", rb"[0-9]{8}:", rb"A[\w-]{33}", 10, rb"[0-9]{8}:AA[\w-]{33}"),  # Telegram
    Format(b"A", rb"[0-9]{8}%3", rb"AA[\w-]{33}", 11, rb"[0-9]{8}%3AAA[\w-]{33}"),
    Format(  # SendGrid
        b".",
        b"",
        HEAD + rb"[\w-]{10}(?<=SG\..{16})",
        3,
        rb"SG\.[\w-]{20,24}\.[\w-]{39,50}(?![\w-])",
    ),
    _starting(b"key-", _separate(b"key-", rb"[\w-]") + rb"[0-9a-f]{32}(?![\w-])"),  # Mailgun
    Format(b"K", b"S", rb"[0-9a-f]{32}", 2, rb"%s[0-9a-f]{32}(?![0-9a-f])" % _separate(b"SK")),  # Twilio
]

SHOPS = [
    *(  # Stripe
        Format(b"_", b"[sr]k", kind + rb"_[A-Za-z0-9]{10}", 3, rb"[sr]k_%s_[A-Za-z0-9]{10,}" % kind)
        for kind in (b"live", b"test", b"prod")
    ),
    *_prefixed(b"whsec_", rb"[A-Za-z0-9+/]{24,}=*"),
    *_prefixed(b"shpat_ shpca_ shppa_ shpss_", rb"[0-9A-Fa-f]{32}"),  # Shopify
    *_prefixed(b"sq0atp- sq0csp- sq0idp-", rb"[\w-]{22,}"),  # Square
    Format(b"A", b"EA", rb"A[\w-]{60}(?![\w+/=-])", 3, rb"%s[\w-]{60}" % _separate(b"EAAA")),
]

GENERAL = [
    _starting(b"podium-", rb"podium-[\w.-]{1,64}-[\w-]{43}(?![\w-])"),  # users of `podium serve`
    Format(  # JSON web tokens
        b"J",
        b"",
        rb"(?<=eyJ)[\w-]{10}",
        3,
        rb"(?:%s[\w-]{10,4000}|eyJ(?:hbGci|0eXAi|raWQi|lbmMi)[\w-]{5,400})\."
        rb"(?:eyJ[\w-]{8,}(?:\.[\w-]*)?|[\w-]{0,4000}\.[\w-]{10,}(?:\.[\w-]{10,}){0,2})" % _separate(b"eyJ"),
    ),
    Format(b"A", b"", b"GE-SECRET-KEY-1", 1, rb"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    Format(  # a private key, with its end or cut off
        b"-",
        b"----",
        rb"BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY",
        5,
        rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:"
        rb"(?:[^\"\\-]|\\+[nrt]|-(?!----)){40,}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        rb"|(?:\s|\\+[nrt]){0,9}[A-Za-z0-9+/=]{40,}(?:[A-Za-z0-9+/=\s]|\\+[nrt])*)",
    ),
    Format(
        b"B",
        b"",
        b"asic[ +%]",
        1,
        rb"(?:%s)Basic%s(%s)" % (_IN_HEADER, _SPACE, _USER_AND_PASSWORD),
    ),
    Format(
        b"B",
        b"",
        b"earer[ +%]",
        1,
        rb"(?:(?:%s)Bearer%s(%s)|Bearer%s(%s))" % (_IN_HEADER, _SPACE, _TOKEN, _SPACE, _LONG_TOKEN),
    ),
    Format(
        b"-",
        rb"[Aa][Pp][Ii]",
        rb"[Kk][Ee][Yy]\W",
        0,
        rb"(?i:key)%s((?=[\w.~+/=-]{0,80}?[0-9])[\w.~+/=-]{16,})" % _ASSIGNED,
    ),
    Format(  # the password of a URL
        b"://",
        b"",
        rb"[^\s/@:?#\"]{0,200}:",
        1,
        rb"://[^\s/@:?#\"'\\<>\[\](){}`,;]{0,200}:([^\s/?#\"'\\<>\[\]{}$*`]{1,256})@(?=[\w\[%])",
        gate=b"@",
        accept=_is_real_password,
    ),
]

FORMATS = [*MODELS, *CLOUDS, *CODE, *MESSAGES, *SHOPS, *GENERAL]
