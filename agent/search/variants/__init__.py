"""What a proof above E1 looks for: rivals, mutants, inputs, doubts."""
