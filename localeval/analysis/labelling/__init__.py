"""Labels of people for a finished run: what is labelled, the page on which, and two people's labels."""
