"""`make calibrate`: the coefficients of the roofline and the measurements it leans on, from data of others.

`rows` reads and sorts out, `design` puts rows through the kind itself, `fit` finds the coefficients, `residuals` what
is left of each measurement, `folds` leaves groups out, `write` stores. Nothing here runs in the product.
"""
