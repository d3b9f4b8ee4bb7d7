"""Answers in the shapes of the real interfaces, written by us, and the ways in which they fail."""

from __future__ import annotations

import json
from typing import Any

from tests.tools.site import Answer

ARXIV = b"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <link href="http://arxiv.org/api/query?search_query%3Dall%3Atides" rel="self" type="application/atom+xml"/>
  <title type="html">ArXiv Query: search_query=all:tides&amp;id_list=&amp;start=0&amp;max_results=2</title>
  <id>http://arxiv.org/api/ABCdef</id>
  <updated>2024-06-01T00:00:00-04:00</updated>
  <opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">2</opensearch:totalResults>
  <entry>
    <id>http://arxiv.org/abs/2401.00001v2</id>
    <updated>2024-02-03T10:00:00Z</updated>
    <published>2024-01-01T09:30:00Z</published>
    <title>Tides in
  shallow harbours</title>
    <summary>  We measure tides &amp; currents
where $d &lt; 10$ m.
    </summary>
    <author><name>Harbour Survey Group</name></author>
    <author><name>Sea School</name><arxiv:affiliation xmlns:arxiv="http://arxiv.org/schemas/atom">Coast</arxiv:affiliation></author>
    <link href="http://arxiv.org/abs/2401.00001v2" rel="alternate" type="text/html"/>
    <link title="pdf" href="http://arxiv.org/pdf/2401.00001v2" rel="related" type="application/pdf"/>
    <category term="physics.ao-ph" scheme="http://arxiv.org/schemas/atom"/>
  </entry>
  <entry>
    <id>http://arxiv.org/abs/2401.00002v1</id>
    <published>2024-01-02T09:30:00Z</published>
    <title>Winds</title>
    <summary>About winds.</summary>
    <author><name>Sea School</name></author>
    <link href="http://arxiv.org/abs/2401.00002v1" rel="alternate" type="text/html"/>
  </entry>
</feed>"""

ARXIV_ERROR = b"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/api/errors#max_results_must_be_non-negative</id>
<title>Error</title><summary>max_results must be non-negative</summary>
<link href="http://arxiv.org/api/errors#x" rel="alternate"/></entry></feed>"""

ARXIV_EMPTY = b"""<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>none</title></feed>"""

OPENALEX: dict[str, Any] = {
    "meta": {"count": 2, "db_response_time_ms": 30, "page": 1, "per_page": 2},
    "results": [
        {
            "id": "https://openalex.org/W1",
            "doi": "https://doi.org/10.1000/tides",
            "display_name": "Tides in <i>shallow</i> harbours",
            "publication_date": "2023-04-05",
            "authorships": [
                {"author_position": "first", "author": {"display_name": "Harbour Survey Group"}},
                {"author_position": "last", "author": {"display_name": "Sea School"}},
            ],
            "abstract_inverted_index": {"Tides": [0, 4], "are": [1], "regular.": [2], "Spring": [3]},
            "primary_location": {"landing_page_url": "https://doi.org/10.1000/tides", "pdf_url": None},
            "best_oa_location": {
                "landing_page_url": "https://repository.example/1",
                "pdf_url": "https://repository.example/1.pdf",
            },
        },
        {
            "id": "https://openalex.org/W2", "doi": None, "display_name": "Winds", "publication_date": None,
            "authorships": [], "abstract_inverted_index": None, "primary_location": None,
            "best_oa_location": None,
        },
    ],
}  # fmt: skip

HACKER_NEWS: dict[str, Any] = {
    "hits": [
        {
            "objectID": "101", "title": "Show HN: Tides &amp; boats", "url": "https://boats.example/",
            "author": "harbour", "points": 12, "num_comments": 3, "created_at": "2024-05-06T07:08:09Z",
            "story_text": None, "_tags": ["story"],
        },
        {
            "objectID": "102", "title": "Ask HN: How do you read tide tables?", "url": None, "author": "sea",
            "points": 5, "num_comments": 9, "created_at": "2023-01-02T00:00:00Z",
            "story_text": "I have <i>two</i> tables.<p>Which one?",
        },
    ],
    "nbHits": 2, "page": 0, "hitsPerPage": 20, "query": "tides",
}  # fmt: skip

RSS = b"""<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:News="https://www.bing.com/news/search" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>tides - News</title><link>https://news.example/</link><description>Results</description>
<item><title>Harbour closed by high tides</title>
<link>http://www.bing.com/news/apiclick.aspx?ref=FexRss&amp;aid=&amp;tid=1&amp;url=https%3a%2f%2fpaper.example%2ftides&amp;c=2</link>
<description>The &lt;b&gt;tides&lt;/b&gt; rose above the quay.</description>
<pubDate>Fri, 17 May 2024 10:00:00 GMT</pubDate><News:Source>The Paper</News:Source></item>
<item><title>Boats return</title><link>https://paper.example/boats</link>
<description>All are well.</description><pubDate>Sat, 18 May 2024 10:00:00 GMT</pubDate>
<dc:creator>Harbour Desk</dc:creator></item>
<item><title>Without an address</title><description>tides</description></item>
</channel></rss>"""

ATOM = b"""<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Harbour</title>
<entry><title type="html">Tides &lt;em&gt;today&lt;/em&gt;</title><id>tag:1</id>
<updated>2024-05-19T00:00:00Z</updated>
<link rel="enclosure" href="https://harbour.example/a.mp3"/><link href="https://harbour.example/today"/>
<content type="html">&lt;p&gt;Low water at noon, tides are weak.&lt;/p&gt;</content>
<author><name>Harbour Office</name></author>
</entry></feed>"""

RDF = b"""<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://old.example/"><title>Old</title></channel>
<item rdf:about="https://old.example/1"><title>Old tides</title><link>https://old.example/1</link>
<description>From the archive of tides.</description><dc:date>2003-04-05T00:00:00Z</dc:date>
</item></rdf:RDF>"""

LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><rss><channel><item><title>&c;</title><link>https://x.example/</link></item></channel></rss>"""

OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY f SYSTEM "file:///etc/passwd">]>
<rss><channel><item><title>&f;</title><link>https://x.example/</link></item></channel></rss>"""


def said(data: Any, status: int = 200) -> Answer:
    return Answer(json.dumps(data).encode(), "application/json", status)


def feed(body: bytes) -> Answer:
    return Answer(body, "application/rss+xml")
