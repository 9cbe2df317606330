"""Keys and signatures of requests: vectors of RFC 8037, two verifiers that are not ours, what must be refused."""

from __future__ import annotations

import json
import time
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
from signatures import Verifier, keys_of

from llmsspider.errors import ArgumentsError
from llmsspider.web.credentials import Signer, new_key, read_key, thumbprint

RFC_8037 = {
    "kty": "OKP",
    "crv": "Ed25519",
    "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
    "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
}
AGENT = "https://bot.example.org/.well-known/http-message-signatures-directory"
URL = "https://docs.example.com/guide/intro?x=1"


@pytest.fixture
def signer() -> Signer:
    return Signer(new_key()[0], AGENT)


@pytest.fixture
def verifier(signer) -> Verifier:
    return Verifier(signer.directory(AGENT, timedelta(days=1))[0], AGENT)


def signed(signer: Signer, url: str = URL, method: str = "GET") -> dict[str, str]:
    return {name.lower(): value for name, value in signer.headers(method, url).items()}


def test_a_key_is_read_as_jwk_and_as_pem(tmp_path):
    jwk, pem = tmp_path / "key.json", tmp_path / "key.pem"
    jwk.write_text(json.dumps(RFC_8037))
    key = read_key(str(jwk))
    pem.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    assert (
        thumbprint(key)
        == thumbprint(read_key(str(pem)))
        == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    )


ELLIPTIC = ec.generate_private_key(ec.SECP256R1())
WRONG = {
    "nothing": (None, "No such file"),
    "text": (b"hello", "an Ed25519 private key"),
    "public": (
        json.dumps({k: v for k, v in RFC_8037.items() if k != "d"}).encode(),
        "an Ed25519 private key",
    ),
    "short": (json.dumps({**RFC_8037, "d": "abc"}).encode(), "an Ed25519 private key"),
    "broken": (b'{"d": ', "an Ed25519 private key"),
    "elliptic": (
        ELLIPTIC.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        "an Ed25519 private key",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_key_is_refused_and_not_shown(tmp_path, name):
    content, why = WRONG[name]
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ArgumentsError, match=why) as caught:
        read_key(str(path))
    assert str(path) in str(caught.value)
    assert not content or content.decode() not in str(caught.value)


def test_each_request_is_accepted_once(signer, verifier):
    first, second = signed(signer), signed(signer)
    assert verifier.problem("GET", URL, first) is None
    assert verifier.problem("GET", URL, second) is None
    assert verifier.problem("GET", URL, first) == "its nonce was used"


class _Directory(HTTPSignatureKeyResolver):
    def __init__(self, directory):
        self.keys = keys_of(directory)

    def resolve_public_key(self, key_id):
        return self.keys.get(key_id)


def test_the_verifier_of_the_library_accepts_it_too(signer, verifier):
    message = type(
        "Message", (), {"method": "GET", "url": URL, "headers": signer.headers("GET", URL)}
    )()
    (result,) = HTTPMessageVerifier(
        signature_algorithm=algorithms.ED25519, key_resolver=_Directory(verifier.directory)
    ).verify(message, max_age=timedelta(minutes=5), expect_tag="web-bot-auth")
    assert set(result.covered_components) == {
        '"@authority"',
        '"signature-agent";key="sig1"',
        '"@signature-params"',
    }


DRAFT = {
    "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
    "alone": {
        "signature-input": 'sig1=("@authority");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"'
        ';alg="ed25519";expires=4889289600;nonce="zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6h'
        'pGiFro2L2qkz5A==";tag="web-bot-auth"',
        "signature": "sig1=:QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==:",
    },
    "with an agent": {
        "signature-input": 'sig2=("@authority" "signature-agent";key="agent2");created=1735689600;keyid="poqkLG'
        'iymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjY'
        'CqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";tag="web-bot-auth"',
        "signature": "sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:",
        "signature-agent": 'agent2="https://signature-agent.test"',
    },
}
"""The vectors of draft-meunier-web-bot-auth-architecture, which other implementations hold themselves to."""


@pytest.mark.parametrize("name", ["alone", "with an agent"])
def test_the_verifier_agrees_with_the_draft(name):
    verifier = Verifier({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": DRAFT["x"]}]})
    headers = DRAFT[name]
    assert verifier.problem("GET", "https://example.com/path/to/resource", headers) is None
    assert verifier.problem("GET", "https://example.org/", headers) == "its nonce was used"
    verifier.nonces.clear()
    assert verifier.problem("GET", "https://example.org/", headers) == "the signature is wrong"


def test_another_host_another_time_another_key_or_agent_is_refused(signer, verifier):
    headers = signed(signer)
    assert (
        verifier.problem("GET", URL.replace("docs.", "www."), headers) == "the signature is wrong"
    )
    assert verifier.problem("GET", URL, headers, now=time.time() + 301) == "it is not valid now"
    altered = {
        **headers,
        "signature-input": headers["signature-input"].replace("expires=1", "expires=2"),
    }
    assert verifier.problem("GET", URL, altered) == "the signature is wrong"
    other = Signer(new_key()[0], AGENT)
    assert verifier.problem("GET", URL, signed(other)) == "the directory has no such key"
    forged = Verifier(other.directory(AGENT, timedelta(days=1))[0], AGENT)
    claimed = headers["signature-input"].replace(thumbprint(signer.key), thumbprint(other.key))
    assert (
        forged.problem("GET", URL, {**headers, "signature-input": claimed})
        == "the signature is wrong"
    )
    agent = headers["signature-agent"].replace("bot.", "googlebot.")
    assert (
        verifier.problem("GET", URL, {**headers, "signature-agent": agent})
        == "it is somebody else's agent"
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/a",
        "https://docs.example.com:443/",
        "https://docs.example.com:8443/a?b=%zz",
        "https://docs.example.com/%E4%B8%AD?q=a%20b",
    ],
)
def test_every_spelling_of_an_address_is_signed(signer, verifier, url):
    assert verifier.problem("GET", url, signed(signer, url)) is None


def test_without_an_agent_the_authority_is_covered(tmp_path):
    signer = Signer(new_key()[0])
    verifier = Verifier(signer.directory(AGENT, timedelta(days=1))[0])
    assert set(signer.headers("GET", URL)) == {"Signature-Input", "Signature"}
    assert verifier.problem("GET", URL, signed(signer)) is None


ASKED = {
    "more": ('sig1=("@authority" "@method" "@path" "@query");tag="web-bot-auth";created', True),
    "no tag": ('sig1=("@method");created', True),
    "target": ('other=("@target-uri" "@scheme" "@request-target");keyid="x"', True),
    "two, one for us": ('a=("content-digest");tag="app", b=("@method");tag="web-bot-auth"', True),
    "what it got": ('sig1=("@authority");tag="web-bot-auth"', False),
    "another tag": ('sig1=("@method");tag="payments"', False),
    "a header": ('sig1=("@method" "cookie");tag="web-bot-auth"', False),
    "no dictionary": ("please sign", False),
    "no list": ("sig1=7", False),
    "nothing": ("", False),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_a_site_asks_for_is_signed_from_then_on(signer, verifier, name):
    asked, answered = ASKED[name]
    assert signer.is_asked_for_more(URL, asked) is answered
    assert signer.is_asked_for_more(URL, asked) is False, "asked again, it got that already"
    assert ("@" in signed(signer)["signature-input"].partition('"@authority"')[2]) is answered
    assert verifier.problem("GET", URL, signed(signer)) is None
    assert '"@method"' not in signed(signer, "https://other.example.com/")["signature-input"]


def test_printing_shows_no_key(tmp_path):
    key, private = new_key()
    assert private["d"] not in repr(Signer(key, AGENT)) + repr(key)
    assert isinstance(key, Ed25519PrivateKey)
