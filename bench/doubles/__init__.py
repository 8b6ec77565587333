"""Doubles of sources that measurements and tests run the service against."""
