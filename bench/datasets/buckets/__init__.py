"""A hundred facts of five buckets and thirty of none, in two halves, with five wordings of the buckets."""
