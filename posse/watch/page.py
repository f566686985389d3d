"""The page and its events, protected by the token in their address."""

import hmac
import secrets
from collections.abc import Iterable
from importlib import resources
from string import Template
from urllib.parse import parse_qs
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from posse.operate.web import answer
from posse.report.palette import csp_hash, variables
from posse.watch.feed import Feed

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def routes(feed: Feed) -> tuple[str, dict[str, WSGIApplication]]:
    """The page's path with a new token, and the applications that answer."""
    token = secrets.token_urlsafe(24)

    def page(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if not _shown(environ, token):
            return _refuse(start)
        files = resources.files("posse.watch") / "templates"
        script = (files / "page.js").read_text()
        style = Template((files / "style.css").read_text()).substitute(
            light=variables("light"), dark=variables("dark")
        )
        text = Template((files / "page.html").read_text()).substitute(script=script, style=style)
        allowed = (  # a browser runs no script but the page's own
            f"default-src 'none'; script-src '{csp_hash(script)}'; style-src '{csp_hash(style)}'",
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'",
            "frame-ancestors 'none'",
        )
        policy = "; ".join(allowed)
        return answer(start, text, 200, "text/html", Content_Security_Policy=policy, **_HEADERS)

    def events(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if not _shown(environ, token):
            return _refuse(start)
        start("200 OK", [*_HEADERS.items(), ("Content-Type", "text/event-stream")])
        return feed.events()

    return f"/?token={token}", {"/": page, "/events": events}


def _shown(environ: WSGIEnvironment, token: str) -> bool:
    """Whether a request carries the token."""
    given = parse_qs(environ.get("QUERY_STRING", "")).get("token", [""])[0]
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


def _refuse(start: StartResponse) -> Iterable[bytes]:
    return answer(start, "the whole address is needed, with its token, as posse printed it\n", 403)
