"""Names of pages: addresses without secrets, under which they are stored, beside the addresses that are requested."""

from dataclasses import dataclass, field

from schemas.address_secrets import is_masked, mask_secrets, secret_values, with_secrets


@dataclass(slots=True)
class PageNames:
    """Names of the pages of one crawl, and the secrets that were seen in it, which are only held in memory.

    Addresses that differ only in a secret name one page, as a site that signs its links does so anew each time.
    """

    start_url: str
    _addresses: dict[str, str] = field(default_factory=dict)

    def name(self, url: str) -> str:
        """Return the name of an address."""
        name = mask_secrets(url)
        if name != url:
            self._addresses.setdefault(name, url)
        return name

    def address(self, name: str) -> str:
        """Return the address to request: as it was found, else with the secrets of the start page."""
        return self._addresses.get(name) or with_secrets(name, secret_values(self.start_url))

    def is_lost(self, name: str) -> bool:
        """Tell whether a secret of the page was seen in an earlier crawl only."""
        return is_masked(self.address(name))

    def lasts(self, name: str) -> bool:
        """Tell whether a later crawl knows the page's address without finding it anew."""
        return not is_masked(with_secrets(name, secret_values(self.start_url)))
