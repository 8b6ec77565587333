"""Turn rows into the response bodies of the contract."""
