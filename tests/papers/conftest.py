"""The experiments are a package of their own; without it their tests are left out."""

import importlib.util

collect_ignore_glob = ["*"] if importlib.util.find_spec("posse_papers") is None else []
