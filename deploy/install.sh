#!/bin/sh
# Makes /opt/kb an environment that holds what one program needs and nothing else, every package pinned and verified
# by requirements.lock.
#
# Usage: install.sh engine|mcp
set -eu

export PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

python3 -m venv /opt/kb
# An older pip takes no hashes from a constraints file; the lock holds one that does.
awk '/^pip==/, !/\\$/' requirements.lock > pip.txt
/opt/kb/bin/pip install --require-hashes --requirement pip.txt

python3 - "$@" > wanted.txt <<'END'
import sys, tomllib
(program,) = sys.argv[1:]
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = {"engine": ["engine", "postgres", "s3"], "mcp": ["mcp"]}[program]
wanted = project["dependencies"] + [line for extra in extras for line in project["optional-dependencies"][extra]]
print(*wanted, sep="\n")
END
/opt/kb/bin/pip install --require-hashes --constraint requirements.lock --requirement wanted.txt
