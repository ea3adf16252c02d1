"""A reader of MagicData's folder remotes, written from the pages in Protocol/ alone."""
