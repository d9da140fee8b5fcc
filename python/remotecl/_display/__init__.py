"""Tables for people, as text and as HTML."""
