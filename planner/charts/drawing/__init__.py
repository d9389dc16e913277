"""Parts of the SVG adapter: a canvas, label places, and one file a family of forms."""
