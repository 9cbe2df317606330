"""Certificates are verified, and the crawl says who it is."""

from __future__ import annotations

import datetime
import ipaddress
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from engine_crawl import engine_crawl
from loopback import loopback, page

OPEN = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1", "ROBOTSTXT_OBEY": False}


@pytest.fixture
def certificate(tmp_path):
    """A PEM file with key and self-signed certificate for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    alternative = x509.SubjectAlternativeName(
        [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("docs.example")]
    )
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + built.public_bytes(serialization.Encoding.PEM)
    )
    assert ssl.create_default_context(cafile=str(path))
    return path


def test_a_self_signed_certificate_is_refused_unless_its_authority_is_trusted(
    tmp_path, certificate
):
    names = {"docs.example": [["127.0.0.1"]]}
    settings = {**OPEN, "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1"}
    with loopback(page, certificate=certificate) as server:
        url = server.url("/a", "docs.example", scheme="https")
        refused = engine_crawl(tmp_path, [url], settings=settings, names=names).of(url)
        assert server.requests == []
        trusted = engine_crawl(
            tmp_path,
            [url],
            settings=settings,
            names=names,
            environment={"SSL_CERT_FILE": str(certificate)},
        ).of(url)
    assert refused["kind"] == "network"
    assert "certificate verify failed" in refused["message"]
    assert trusted["status"] == 200


def test_the_user_agent_names_project_and_contact(tmp_path):
    with loopback(page) as server:
        settings = {**OPEN, "ROBOTSTXT_OBEY": True, "LLMS_CONTACT": "docs@example.com"}
        engine_crawl(tmp_path, [server.url("/a")], settings=settings)
    assert server.paths == ["/robots.txt", "/a"]
    assert {request.headers["user-agent"] for request in server.requests} == {
        "llmsspider/test (+docs@example.com)"
    }
