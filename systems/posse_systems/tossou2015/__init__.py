"""Tossou and Dimitrakakis 2015, private time-division fair sharing with collisions."""
