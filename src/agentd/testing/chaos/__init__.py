"""Chaos: random callers, people and faults against a real daemon, and a plain model of what must hold.

`plan` draws what will happen from a seed alone; `run` lets it happen, several things at once, through the
real command line; `observed` reads what everybody wrote down; `rules` says what is wrong with that.
"""
