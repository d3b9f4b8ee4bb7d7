"""Forty texts that try to break out of a page, for every place that a model can write into.

Each either runs a script that marks the page (`RAN`) or calls a beacon, an address that nothing may ask for.
"""

from __future__ import annotations

RAN = "document.documentElement.dataset.ran='1'"
"""What a script does that runs after all: the page's DOM tells."""


def payloads(beacon: str) -> list[str]:
    """All of them; `beacon` is an address (`http://host:port`) that must never be called."""
    return [*tags(beacon), *breakouts(beacon), *links(beacon), *disguises(beacon)]


def tags(beacon: str) -> list[str]:
    """Plain HTML."""
    return [
        f"<script>{RAN}</script>",
        f'<img src=x onerror="{RAN}">',
        f"<img src='{beacon}/img.png' srcset='{beacon}/set.png 2x'>",
        f'<a href="javascript:{RAN}" autofocus tabindex=0 onfocus="{RAN}">x</a>',
        f'<svg onload="{RAN}"><circle r=9></circle></svg>',
        f"<svg><script>{RAN}</script></svg>",
        f"<svg><image href='{beacon}/svg.png'/><use href='{beacon}/use.svg#x'/></svg>",
        f"<style>@import '{beacon}/style.css'; body{{background:url({beacon}/bg.png)}}</style>",
        f'<div style="background-image:url({beacon}/inline.png)">x</div>',
        f"<iframe src='{beacon}/frame.html'></iframe>",
        f'<iframe srcdoc="<script>parent.{RAN}</script>"></iframe>',
        f"<object data='{beacon}/object.swf'></object><embed src='{beacon}/embed'>",
        f"<link rel=stylesheet href='{beacon}/link.css'><base href='{beacon}/'>",
        f"<link rel=preload as=image href='{beacon}/preload.png'><link rel=dns-prefetch href='{beacon}'>",
        f'<meta http-equiv=refresh content="0;url={beacon}/refresh">',
        f"<form action='{beacon}/form'><input autofocus onfocus=\"{RAN}\"></form>",
        f"<video poster='{beacon}/poster.png'><source src='{beacon}/v.mp4' onerror=\"{RAN}\"></video>",
        f"<audio src='{beacon}/a.mp3' autoplay onerror=\"{RAN}\"></audio>",
        f'<details open ontoggle="{RAN}"><summary>x</summary></details>',
        f"<body onload=\"{RAN}\" background='{beacon}/body.png'>",
    ]


def breakouts(beacon: str) -> list[str]:
    """For a text that lands in an attribute, a script, a comment or an element of text."""
    return [
        f"</title></style></svg></textarea></details></noscript></xmp><script>{RAN}</script>",
        f'"><script>{RAN}</script><x y="',
        f"' autofocus onfocus='{RAN}' x='",
        f'" style="background:url({beacon}/attribute.png)" onmouseover="{RAN}',
        f"</script><script>{RAN}</script>",
        f'\\");{RAN};//',
        f"';{RAN};'</script><!--",
        f"--><script>{RAN}</script><!--",
        f"]]><script>{RAN}</script>",
    ]


def links(beacon: str) -> list[str]:
    """Markdown, and addresses that are scripts."""
    return [
        f"![pixel]({beacon}/md.png)",
        f"![pixel][p]\n\n[p]: {beacon}/reference.png",
        f"[click](javascript:{RAN})",
        f"[click](  JaVa\tScRiPt&colon;{RAN} '\"><script>{RAN}</script>')",
        f"<javascript:{RAN}>",
        "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
        f'```"><img src=x onerror={RAN}>\n</code></pre><script>{RAN}</script>\n```',
    ]


def disguises(beacon: str) -> list[str]:
    """For filters that read HTML otherwise than a browser does."""
    return [
        f'<math><mtext><table><mglyph><style><img src=x onerror="{RAN}"></style></table></mtext></math>',
        f"<scr\0ipt>{RAN}</scr\0ipt><ScRiPt/x>{RAN}</sCrIpT\n>",
        f"<img/src=x\x0conerror={RAN}//<svg/onload={RAN}>",
        f'{{{{ 7 * 7 }}}} ${{{RAN}}} <noscript><p title="</noscript><img src=x onerror={RAN}>">'
        f"\x1b]0;title\x07 \u202e &#60;script&#62;{RAN}&#60;/script&#62; \u2028 {beacon}/plain",
    ]
