#!/bin/sh
# Print the path of a Python of this version that runs: on the path, or among pyenv's. Fails if there is none.
for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
  if "$candidate" -c "import sys; assert '%d.%d' % sys.version_info[:2] == '$1'" 2>/dev/null; then
    command -v "$candidate"
    exit
  fi
done
echo "no Python $1 here" >&2
exit 1
