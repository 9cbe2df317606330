"""Hosts: which addresses a crawl may reach, and which hosts belong to one site. Without any
network.

Whoever writes the pages must not be able to turn the crawl against the machine or the network it
runs in: only addresses of the public Internet are visited, and those in
`LLMS_ALLOW_PRIVATE_ADDRESSES` (docs/explanation/security.md). Spellings of addresses:
https://url.spec.whatwg.org/#host-parsing.
"""

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlsplit

from llmsspider.errors import ArgumentsError

if TYPE_CHECKING:
    from tldextract import TLDExtract

DEFAULT_PORTS = {"http": 80, "https": 443}
"""By scheme of the URLs that a crawl can follow."""
HTTP = ("http://", "https://")  # how such a URL begins
FILE = "file:///"  # and that of a file, which may be one of the local folder that is crawled

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_SPECIAL = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24"
    " 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24"
    " 224.0.0.0/4 240.0.0.0/4 2001::/23 2001:db8::/32 2002::/16 3fff::/20"
)
NOT_GLOBAL = tuple(map(ipaddress.ip_network, _SPECIAL.split()))
"""Networks that are not globally reachable unicast, of IPv6 those inside `GLOBAL_V6`.

https://www.iana.org/assignments/iana-ipv4-special-registry/ and multicast. Written out because what
`ipaddress.is_global` says differs between patch releases of Python, and it calls multicast global.
Teredo and 6to4 wrap an IPv4 address of the sender's choice and are out of use (RFC 7526): refused
whole.
"""

GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
"""The only global unicast space IANA has allocated (RFC 4291, section 2.4)."""

EMBEDDED_V4 = tuple(map(ipaddress.IPv6Network, ("::ffff:0:0/96", "64:ff9b::/96")))
"""IPv6 networks whose last 32 bits are the IPv4 address really reached: v4-mapped, NAT64 (RFC
6052).
"""

ISATAP_MARKS = (0x00005EFE, 0x02005EFE)
"""Upper half of an interface identifier that holds an IPv4 address (RFC 5214)."""

_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_NUMBERS = re.compile(rf"(?:{_NUMBER.pattern})(?:\.(?:{_NUMBER.pattern})){{0,3}}")
_EMPTY_HEX = re.compile(r"0x(?![0-9a-f])")
_HOST_NAME = re.compile(r"[^\s\x00-\x20\x7f-\x9f/?#@:\\\[\]%,;<>^|\"'`{}()*]+\Z")
_WITH_PORT = re.compile(r"(\[[^\[\]]+\]|[^:\[\]]+):([0-9]{1,5})\Z")
_UNSAFE_IN_NETLOC = re.compile(r"[\s\\\x00-\x20\x7f]")


def is_global(address: Address | str) -> bool:
    """Return whether an IP address is globally reachable unicast; `ValueError` for a text that is
    none.

    IPv6 forms that carry an IPv4 address are checked by that address.

    >>> is_global("8.8.8.8"), is_global("::ffff:127.0.0.1"), is_global("64:ff9b::a00:1")
    (True, False, False)
    """
    ip = ipaddress.ip_address(address)
    if any(ip in network for network in NOT_GLOBAL):
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return True
    has_mark = ip in GLOBAL_V6 and int(ip) >> 32 & 0xFFFFFFFF in ISATAP_MARKS
    if has_mark or any(ip in network for network in EMBEDDED_V4):
        return is_global(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
    return ip in GLOBAL_V6


@lru_cache(maxsize=4096)
def parse_host(host: str) -> Address | str:
    """Read the host of a URL as a browser and `getaddrinfo` would: an address, or a name in lower
    case.

    Percent-encoding, full-width and other compatibility characters, a trailing dot, IPv6 zone ids
    and the one to four part decimal, octal and hexadecimal spellings of IPv4 are undone.
    `ValueError` for other texts.

    >>> parse_host("0x7f.1"), parse_host("１２７。０。０。１"), parse_host("Example.COM.")
    (IPv4Address('127.0.0.1'), IPv4Address('127.0.0.1'), 'example.com')
    """
    text = unicodedata.normalize("NFKC", unquote(host, errors="strict")).lower()
    text = text.replace("。", ".").replace("\u00ad", "").replace("\u200b", "")
    text = text.removeprefix("[").removesuffix("]")
    if ":" in text:
        return ipaddress.IPv6Address(text.partition("%")[0])
    text = text.removesuffix(".")
    is_number = _NUMBER.fullmatch(text.rpartition(".")[2])  # WHATWG URL, "ends in a number checker"
    if is_number and _NUMBERS.fullmatch(text):
        with suppress(OSError):
            return ipaddress.IPv4Address(socket.inet_aton(_EMPTY_HEX.sub("0", text)))
    if is_number or not _HOST_NAME.match(text) or text.endswith(".") or not is_resolvable(text):
        raise ValueError(f"{host!r} is neither a host name nor an address")
    return text


def is_resolvable(name: str) -> bool:
    """Return whether `getaddrinfo` takes a name: it fails, and not with a DNS error, on empty and
    long labels.

    >>> is_resolvable("docs.example.com"), is_resolvable("docs..example.com")
    (True, False)
    """
    try:
        return 0 < len(name.encode("idna")) <= 253
    except UnicodeError:
        return False


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """What `LLMS_ALLOW_PRIVATE_ADDRESSES` allows beside the public Internet.

    `everything` switches the guard off. An entry is a name, in lower case without trailing dot,
    allowed whatever it resolves to, or a network, allowed whatever name leads there; and the one
    port that is allowed, None for all.
    """

    everything: bool = False
    entries: tuple[tuple[Network | str, int | None], ...] = ()

    @classmethod
    def from_setting(cls, value: object) -> Self:
        """Read the setting: a bool, or hosts, addresses and CIDR networks as a list or separated by
        commas.

        `host:port` allows one port, every other entry all of them. `ArgumentsError` has a line for
        each entry that is none of these.

        >>> AllowedAddresses.from_setting("intranet.example, 10.1.0.0/16:80").entries
        (('intranet.example', None), (IPv4Network('10.1.0.0/16'), 80))
        """
        if value is None or isinstance(value, bool | int):
            return cls(everything=bool(value))
        if isinstance(value, str):
            value = value.split(",")
        given = value if isinstance(value, Iterable) else [value]
        texts = list(filter(None, (str(entry).strip() for entry in given)))
        if len(texts) == 1 and texts[0].lower() in {"true", "1", "false", "0", "none"}:
            return cls(everything=texts[0].lower() in {"true", "1"})
        entries = []
        problems = []
        for text in texts:
            try:
                entries.append(_entry(text))
            except ValueError:
                problems.append(
                    f"LLMS_ALLOW_PRIVATE_ADDRESSES={text}: expected True, False, or hosts,"
                    " addresses and networks such as intranet.example, 10.1.2.3, 10.0.0.0/8, each"
                    " with a port or without (127.0.0.1:8000)"
                )
        if problems:
            raise ArgumentsError(problems)
        return cls(entries=tuple(entries))

    def permits(self, address: Address | str, host: str = "", port: int | None = None) -> bool:
        """Return whether a connection to `address`, reached under the name `host`, is allowed.

        >>> allowed = AllowedAddresses.from_setting("127.0.0.1:8000")
        >>> allowed.permits("127.0.0.1", port=8000), allowed.permits("127.0.0.1", port=22)
        (True, False)
        """
        entries = [entry for entry, of_port in self.entries if of_port in {None, port}]
        if self.everything or host.lower().removesuffix(".") in entries:
            return True
        ip = ipaddress.ip_address(address)
        if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
            ip = ip.ipv4_mapped
        return is_global(ip) or any(ip in entry for entry in entries if not isinstance(entry, str))

    def refusal(self, url: str) -> str | None:
        """Return why the text of a URL forbids fetching it, or None where only a name look-up can
        decide.

        >>> AllowedAddresses().refusal("http://2130706433/")
        '127.0.0.1 is not a public address (LLMS_ALLOW_PRIVATE_ADDRESSES lists the exceptions)'
        """
        try:
            parts = urlsplit(url)
            host = parts.hostname
            port = parts.port
        except ValueError as error:
            return f"not a usable URL: {error}"
        if parts.scheme == "file":
            return (
                "only http and https are fetched, and the local folder that the argument url names"
            )
        if parts.scheme not in DEFAULT_PORTS:
            return f"only http and https are fetched, not {parts.scheme or 'a URL without scheme'}"
        if not host or _UNSAFE_IN_NETLOC.search(parts.netloc):
            return "not a usable URL: no clear host"
        if parts.username is not None:
            return "not a usable URL: user name and password belong in LLMS_HTTP_AUTH"
        return self.host_refusal(host, port or DEFAULT_PORTS[parts.scheme])

    def host_refusal(self, host: str, port: int) -> str | None:
        """Do what `refusal` does for host and port alone."""
        try:
            parsed = parse_host(host)
        except ValueError:
            return f"not a usable URL: {host!r} is neither a host name nor an address"
        if not isinstance(parsed, str):
            host = str(parsed)
            reached = [parsed]
        elif parsed == "localhost" or parsed.endswith(".localhost"):
            host = parsed
            reached = list(map(ipaddress.ip_address, ("127.0.0.1", "::1")))
        else:
            return None
        if any(self.permits(address, host, port) for address in reached):
            return None
        return f"{host} is not a public address (LLMS_ALLOW_PRIVATE_ADDRESSES lists the exceptions)"


def _entry(text: str) -> tuple[Network | str, int | None]:
    """Return the name or network of an entry and its port, None for every port; raises
    `ValueError`.
    """
    with_port = _WITH_PORT.match(text)
    name, port = (with_port[1], int(with_port[2])) if with_port else (text, None)
    if port is not None and not 0 < port < 65536:
        raise ValueError(f"{text!r} has no port from 1 to 65535")
    if "/" in name:
        return ipaddress.ip_network(name.removeprefix("[").removesuffix("]"), strict=False), port
    parsed = parse_host(name)
    return parsed if isinstance(parsed, str) else ipaddress.ip_network(parsed), port


_PLAIN = re.compile(
    r"https?://([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::\d{1,5})?(?=[/?#]|$)", re.IGNORECASE
)
"""The usual shape, read without splitting the URL: four times faster on a sitemap of 50,000 pages.
"""


def begins(base: str) -> tuple[str, ...]:
    """Return how the URLs begin that the page at `base` may link to: only a file of a local folder
    links to others.
    """
    return (*HTTP, FILE) if base.startswith(FILE) else HTTP


@lru_cache(maxsize=8192)
def hostname(url: str) -> str | None:
    """Return the lower-case host of an absolute http(s) URL in its ASCII form, `file:` for files;
    None without one.

    >>> hostname("https://Docs.Example.com:8080/a")
    'docs.example.com'
    >>> hostname("mailto:me@example.com") is None
    True
    """
    plain = _PLAIN.match(url)
    if plain:
        return plain[1].lower()
    try:
        parts = urlsplit(url)
        name = parts.hostname
    except ValueError:
        return None
    if parts.scheme == "file" and not parts.netloc:
        return "file:"
    if parts.scheme not in DEFAULT_PORTS or not name:
        return None
    name = name.rstrip(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    return name if re.fullmatch(r"[a-z0-9._-]+|[0-9a-f:.]+(%[\w.~-]+)?", name) else None


# Which hosts belong to one site: those of one registrable domain.

_NUMERIC_LABEL = re.compile(r"\d+|0x[0-9a-f]*")
"""A host whose last label looks so is an IPv4 address
(https://url.spec.whatwg.org/#ends-in-a-number-checker).
"""


@cache
def _suffix_list() -> "TLDExtract":  # many crawls never need it
    from tldextract import TLDExtract  # noqa: PLC0415

    return TLDExtract(include_psl_private_domains=True, suffix_list_urls=(), cache_dir=None)


def registrable_domain(url: str) -> str | None:
    """Return the registrable domain of a URL, None for IP addresses, single labels and public
    suffixes.

    A name under a suffix the list does not know follows its last rule, `*`
    (https://github.com/publicsuffix/list/wiki/Format#formal-algorithm).

    >>> registrable_domain("https://docs.example.co.uk/a")
    'example.co.uk'
    >>> registrable_domain("https://alice.github.io/")
    'alice.github.io'
    >>> registrable_domain("http://127.0.0.1/") is None
    True
    """
    name = hostname(url)
    return _registrable(name) if name else None


def same_site(a: str, b: str) -> bool:
    """Return whether two URLs lie on the same registrable domain; scheme and port do not count.

    What cannot be parsed belongs to no site.

    >>> same_site("https://docs.site.com/", "http://site.com:8080/x")
    True
    >>> same_site("https://docs.site.com/", "https://docs.site.org/")
    False
    """
    return _same_site(without_path(a), without_path(b))


def foreign_header(headers: Mapping[str, str], hosts: Set[str]) -> str | None:
    """Return the header of a request that names another host than those served, "host" or "origin",
    or None.

    `hosts` are values of the Host header; `NAME:*` is a name with any port. `headers` disregard
    case.
    """
    named = {"host": headers.get("host", "")}
    if (origin := headers.get("origin")) is not None:
        named["origin"] = origin.partition("://")[2]
    for header, host in named.items():
        if hosts.isdisjoint({host.lower(), f"{host.lower().rpartition(':')[0]}:*"}):
            return header
    return None


def without_path(url: str) -> str:
    """Return an http(s) URL without its path, any other as it is."""
    end = url.find("/", len("https://")) if url.startswith(HTTP) else -1
    return url if end < 0 else url[:end]


@lru_cache(maxsize=4096)
def _same_site(a: str, b: str) -> bool:
    host_a = hostname(a)
    host_b = hostname(b)
    if host_a is None or host_a == host_b:
        return host_a is not None
    if host_b is None or host_a.split(".")[-2:] != host_b.split(".")[-2:]:
        return False  # a registrable domain has two labels or more
    domain = _registrable(host_a)
    return domain is not None and domain == _registrable(host_b)


@lru_cache(maxsize=4096)
def _registrable(name: str) -> str | None:
    labels = name.split(".")
    if ":" in name or len(labels) < 2 or not all(labels) or _NUMERIC_LABEL.fullmatch(labels[-1]):
        return None
    found = _suffix_list().extract_str(name)
    if found.suffix:
        return found.top_domain_under_public_suffix or None
    return ".".join(labels[-2:])
