"""Plain values every other package speaks in: kinds, results, quantities, the catalog protocol."""
