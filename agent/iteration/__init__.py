"""What a step may touch, and the searches and proofs that steps drive."""
