"""Which of the candidates that pass comes first, and what is asked where several do."""
