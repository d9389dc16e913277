"""Policies that send a request for an adapter to a replica, one a file; `dispatch` is generated from this folder.

A policy reads ``state.ask[0]``: the adapter asked for, and a number from 0 to 1 drawn for the request. It returns a
replica that is up, or −1 when there is none; replicas kept for cold starts are not among those it may choose.
"""
