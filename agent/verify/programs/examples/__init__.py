"""What runs in the jail of a program whose answers the host compares."""
