"""Who a server is: scheme, host and port of an address, as the clients of every provider would read it.

Programs disagree about odd addresses: user names, backslashes, letters of other alphabets, numbers in place of a host.
Such an address is nobody's: it is never known, never this machine, and cannot be trusted by name.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

_ADDRESS = re.compile(
    r"(?:(https?)://)?([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?(?:/[^\s\\@]*)?", re.ASCII
)
_LABELS = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?", re.ASCII)
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\.?", re.ASCII)
"""what some programs take for an address of four bytes when a host ends in it"""
_PORTS = {"http": 80, "https": 443}
_OLLAMA_PORT = 11434
"""an address without a scheme is Ollama's way of writing"""
MOST_PORTS = 65535


@dataclass(frozen=True, slots=True, order=True)
class ServerOrigin:
    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


def origin_of(address: str) -> ServerOrigin | None:
    """None where programs might disagree about the host: such an address is nobody's."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return None
    scheme, written, port = found.groups()
    host = _host(written.lower())
    number = int(port) if port else _PORTS[scheme] if scheme else _OLLAMA_PORT
    if host is None or not 0 < number <= MOST_PORTS:
        return None
    return ServerOrigin(scheme or "http", host, number)


def _host(written: str) -> str | None:
    """A name, or an address of four or sixteen bytes in its usual form."""
    try:
        literal = ip_address(written.strip("[]"))
    except ValueError:
        last = written.rstrip(".").rpartition(".")[2]
        is_name = _LABELS.fullmatch(written) and not _NUMBER.fullmatch(last)
        return written if is_name else None
    if isinstance(literal, IPv6Address) != written.startswith("["):
        return None
    return f"[{literal.compressed}]" if isinstance(literal, IPv6Address) else str(literal)


def is_loopback(address: str) -> bool:
    """Whether it is certainly a server on this machine."""
    origin = origin_of(address)
    if origin is None:
        return False
    try:
        return ip_address(origin.host.strip("[]")).is_loopback
    except ValueError:
        return origin.host == "localhost"


def shown(address: str, most: int = 200) -> str:
    """As a person is asked about it: letters that only look like others are written out."""
    return address[:most].encode("ascii", "backslashreplace").decode()
