"""What was fitted to a judge on labelled answers: curves that calibrate it and heads that read it."""
