"""A trained tagger at work: an HTTP service and its page."""
