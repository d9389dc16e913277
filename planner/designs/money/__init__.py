"""What a design costs on given terms, and how to buy it: knows fleets and price lists, never a kind."""
