"""The systems of five papers, a folder for each, made with what posse makes public.

Entry points `posse.systems` name them (pyproject.toml); a paper is imported when one of its systems
is asked for.
"""

__version__ = "0.2.0.dev0"
