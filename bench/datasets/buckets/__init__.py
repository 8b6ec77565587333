"""Facts of five buckets and of none, in two halves, with the buckets in several wordings: memories, and messages.

`facts.json` has memories in English, `spoken.json` what ten people write in seven languages. In the second, one wording
(`plain`) is locked as well.
"""
