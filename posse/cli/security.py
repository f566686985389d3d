"""The options for keys; they refuse an address open to other machines without keys."""

from pathlib import Path

from posse.cli.options import Duration, shared
from posse.errors import InputError
from posse.log import LOG
from posse.security import address as addresses
from posse.security import keys as files


@shared
class KeyOptions:
    """Who is let in."""

    keys: Path | None = None
    """folder of keys, made by posse keys (default: none)"""
    wait_for_keys: Duration = 0.0
    """longest wait for the folder of keys to appear"""
    insecure: bool = False
    """allow an address beyond this machine without keys: anybody who reaches it may join"""

    def check(self, option: str, address: str) -> None:
        """`InputError` for an invalid address, or one that others can reach without keys."""
        addresses.check(option, address, bind=option != "--join")
        if self.keys and self.insecure:
            raise InputError("--keys and --insecure contradict each other; choose one")
        if not self.keys and not self.insecure and not addresses.is_local(address):
            raise InputError(
                f"other machines can reach {address}, and there are no keys; make them with "
                "posse keys and add --keys DIR, or add --insecure to let anybody who reaches it "
                "join"
            )

    def wait(self) -> None:
        """Wait until the folder is there."""
        if self.keys:
            files.wait_for(self.keys, self.wait_for_keys)

    def warn(self) -> None:
        """Log that there are no keys."""
        if self.keys is None:
            LOG.warning(
                "there are no keys: anybody who reaches this address may join and read everything"
            )
