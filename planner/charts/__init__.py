"""Draws neutral figures (`planner.core.chart`) for the page (Plotly), for print (SVG) and as tables."""
