"""Pages in the browser: what serves them, and what guards them."""
