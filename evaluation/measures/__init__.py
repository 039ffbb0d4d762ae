"""What the bench measures, one file a subject; each yields its figures as lines."""
