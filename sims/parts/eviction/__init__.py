"""Eviction policies, one a file; `dispatch` is generated from this folder.

``choose(store, first, count, over, now_s)`` names the list among ``count`` from ``first`` on whose oldest entry is to
give way, or −1 when nothing has to; ``over`` says that the cache holds more than it may.
"""
