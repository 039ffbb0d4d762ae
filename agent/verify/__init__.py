"""The judge: what tests show of a solution, decided where the solution is not."""
