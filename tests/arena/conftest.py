"""The arena is a package of its own; without it its tests are left out."""

import importlib.util

collect_ignore_glob = ["*"] if importlib.util.find_spec("posse_arena") is None else []
