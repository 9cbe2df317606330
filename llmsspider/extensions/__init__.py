"""Extensions: they listen to signals and say what a run found and did."""
