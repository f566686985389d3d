"""What coordinator and agents on several machines say of themselves, on standard error."""

import logging
import sys

LOG = logging.getLogger("posse")


def begin(who: str, insecure: bool, level: int = logging.INFO) -> None:
    """From now on every line says who speaks, and that there are no keys if there are none."""
    handler = logging.StreamHandler(sys.stderr)
    keys = " [no keys]" if insecure else ""
    handler.setFormatter(logging.Formatter(f"%(asctime)s {who}{keys}: %(message)s", "%H:%M:%S"))
    LOG.handlers = [handler]
    LOG.setLevel(level)
    LOG.propagate = False
