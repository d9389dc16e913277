"""How programs are told what a design says: checks of options, command lines, manifests."""
