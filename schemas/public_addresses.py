"""Allow-list of addresses that fetched URLs and connectors may reach: global unicast.

Sources: IANA's IPv4 and IPv6 Special-Purpose Address Registries and IPv6 Global Unicast Address Assignments.
The tables stand here because `ipaddress.is_global` differs between versions of Python.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_IPV4_UNICAST_END = IPv4Address("224.0.0.0")
_IPV4_SPECIAL = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host: no registry has it, every virtual machine there reaches it
        "169.254.0.0/16",  # link-local, and the metadata service of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # IETF protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
    )
)
_IPV6_GLOBAL_UNICAST = IPv6Network("2000::/3")
_IPV6_SPECIAL = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which hides an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # 6bone, returned
        "3fff::/20",  # documentation
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
"""Prefix under which hosts with IPv6 alone see IPv4 addresses; 64:ff9b:1::/48, for local use, is not allowed."""


def is_public(address: Address) -> bool:
    """Return whether an address is global unicast; NAT64 by the IPv4 address that it stands for."""
    if isinstance(address, IPv4Address):
        return address < _IPV4_UNICAST_END and not any(address in network for network in _IPV4_SPECIAL)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _IPV6_GLOBAL_UNICAST and not any(address in network for network in _IPV6_SPECIAL)
