"""HTTP: every request to a server of posse is checked here before any endpoint sees it.

A page of another site can make a browser ask here under a name of its own (DNS rebinding), and then
read the answer; under a number, or a name that no public server of names answers, it cannot. What
a page of another site asks for under our own name, the browser marks.
"""

import hmac
import ipaddress
import secrets
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

_BYTES = 24


def refusal(headers: Mapping[str, str], host: str = "") -> str:
    """A sentence if a request with these `headers`, by lower-case name, is refused, else "".

    It must name this server by `host` (what it was told to listen on), by a number, or by a name
    without a dot, as those of containers are. An `Origin` must be the server's own.
    """
    asked = headers.get("host", "")
    if not _is_ours(asked, host):
        return "this server does not answer under that name; ask by a number or localhost"
    if headers.get("origin", f"http://{asked}") not in (f"http://{asked}", f"https://{asked}"):
        return "a page of another site asks for this; open the address itself"
    # browsers mark what a page embeds; that the user goes from one page to another is no harm
    embedded = headers.get("sec-fetch-mode", "navigate") != "navigate"
    if embedded and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return "a page of another site asks for this; open the address itself"
    return ""


def joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by lower-case name; one that is there twice, of which each reader takes another, has
    both values.
    """
    found: dict[str, str] = {}
    for name, value in (
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in headers
    ):
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def new_token() -> str:
    """A word of 192 random bits, for an address that only its reader knows."""
    return secrets.token_urlsafe(_BYTES)


def is_token(given: str, token: str) -> bool:
    """Whether a request gave the token; how long that takes tells nothing of it."""
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


def _is_ours(asked: str, host: str) -> bool:
    try:
        name = (urlsplit(f"//{asked}").hostname or "").rstrip(".")
        if not name or "@" in asked:
            return False
        if (name != host.lower() and "." in name) or ":" in name:
            ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
