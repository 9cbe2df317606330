"""Classes and functions of users, by the dotted path that a setting names."""

from __future__ import annotations

import importlib
import sys


def find(path: str) -> object:
    """Return the class or function at a path such as `package.module.Name`.

    Raises:
        ImportError: there is no such module, or nothing of that name in it. Importing can raise anything else.

    >>> find("llmsspider.chunking.tokens").__name__
    'tokens'
    """
    module, _, name = path.rpartition(".")
    if not module:
        raise ImportError("a dotted path such as package.module.Name is needed")
    found = importlib.import_module(module)
    if not hasattr(found, name):
        raise ImportError(f"module {module!r} has no {name!r}")
    return getattr(found, name)


def path_of(value: object) -> str:
    """Return the dotted path of a class, for another process to import; a path stays as it is.

    Raises:
        ImportError: another process could not import it.

    >>> path_of(dict), path_of("builtins.dict")
    ('builtins.dict', 'builtins.dict')
    """
    if not isinstance(value, type):
        return str(value)
    module, name = value.__module__, value.__qualname__
    if module == "__main__" or getattr(sys.modules.get(module), name, None) is not value:
        raise ImportError(f"{name} cannot be imported by another process: put it into a module of its own")
    return f"{module}.{name}"
