"""Esfandiari, Mirrokni and Schneider 2022: the server sees groups, never a user."""
