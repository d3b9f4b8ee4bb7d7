"""A connection goes to a checked address, and the certificate must still be the name's."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from podium.tools.fetch import Address, Fetcher
from podium.tools.tool import ToolError
from tests.tools.site import Answer, serving


def certificate(folder: Path, host: str) -> Path:
    """A key and a certificate for this name, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)]), datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    file = folder / "both.pem"
    file.write_bytes(secret + signed.public_bytes(serialization.Encoding.PEM))
    return file


async def test_the_certificate_is_checked_against_the_name_and_not_the_address(tmp_path: Path) -> None:
    file = certificate(tmp_path, "harbour.example")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(file)

    async def here(host: str, port: int) -> list[Address]:
        return [ip_address("127.0.0.1")]

    def allowed(address: Address, port: int) -> str:
        return ""

    async with serving(tls, a=Answer(b"safe")) as site:
        trusting = Fetcher(allowed, here, trust=ssl.create_default_context(cafile=file))
        assert (await trusting.fetch(f"https://harbour.example:{site.port}/a")).text == "safe"
        with pytest.raises(ToolError, match=r"other\.example could not be reached.*[Hh]ostname mismatch"):
            await trusting.fetch(f"https://other.example:{site.port}/a")
        with pytest.raises(ToolError, match="could not be reached"):
            await Fetcher(allowed, here).fetch(f"https://harbour.example:{site.port}/a")
        assert len(site.asked) == 1
