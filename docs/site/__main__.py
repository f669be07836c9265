"""`python -m docs.site [FOLDER]`: make the site in that folder, or in dist/site, and check it."""

import sys
from pathlib import Path

from docs.site.building import ROOT, NotBuilt, build_site
from docs.site.checking import find_faults
from docs.site.pages import NoPlace


def main(arguments: list[str]) -> int:
    target = Path(arguments[0] if arguments else ROOT / "dist/site").resolve()
    try:
        build_site(target)
    except (NotBuilt, NoPlace) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if faults := find_faults(target):
        sys.stderr.write("\n".join(faults) + "\n")
        return 1
    sys.stdout.write(f"Open {(target / 'index.html').as_uri()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
