"""Tossou and Dimitrakakis 2015: players that share arms, and collide."""
