"""PDF files made by hand: a few objects and a table of where they are."""

from __future__ import annotations

import zlib


def pdf(*pages: str, title: str = "", author: str = "", created: str = "") -> bytes:
    """A PDF with one line of text on each page."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(count))
    about = f"/Title ({title}) /Author ({author})" + (f" /CreationDate ({created})" if created else "")
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        f"<< {about} >>",
    ]
    for place, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /Contents {5 + 2 * place} 0 R /MediaBox [0 0 600 800] /Resources "
            "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    return _file(objects)


def endless_pdf() -> bytes:
    """A small PDF that keeps a reader busy for minutes: millions of letters, each drawn on its own."""
    stream = zlib.compress(b"BT /F1 12 Tf " + b"(a) Tj " * 3_000_000 + b"ET").decode("latin-1")
    return _file(
        [
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            "<< >>",
            "<< /Type /Page /Parent 2 0 R /Contents 5 0 R /MediaBox [0 0 600 800] /Resources "
            "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
            f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n{stream}\nendstream",
        ]
    )


def _file(objects: list[str]) -> bytes:
    body, places = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 3 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return body + head.encode() + end.encode()
