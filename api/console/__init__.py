"""Browser console: static pages that call the API with the visitor's own key."""
