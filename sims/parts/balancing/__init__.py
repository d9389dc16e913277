"""Policies that send a request to an instance, one a file; `dispatch` is generated from this folder.

A policy reads ``state.ask[0]``: which router asks (``known`` the row of loads it knows, ``doors`` the row of instances
open to it), for what path, at what moment, and with which luck. It returns an instance, or −1 when none is open.
"""
