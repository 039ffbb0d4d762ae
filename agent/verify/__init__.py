"""The judge: decides on the host which tests a solution passes."""
