"""Parts of Office files that the parser of files leaves out or shows otherwise."""
