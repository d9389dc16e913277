"""Which instance gets an answer, one policy a file; `dispatch` is generated from this folder."""
