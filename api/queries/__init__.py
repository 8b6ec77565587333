"""Questions the interface asks, as functions of ports; no framework here."""
