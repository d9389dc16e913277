"""Routing policies, one a file; `dispatch` is generated from this folder."""
