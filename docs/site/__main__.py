"""`python -m docs.site`: make the site in dist/site, and check it."""

import sys

from docs.site.building import ROOT, NotBuilt, build_site
from docs.site.checking import find_faults
from docs.site.pages import NoPlace

TARGET = ROOT / "dist/site"


def main() -> int:
    try:
        build_site(TARGET)
    except (NotBuilt, NoPlace) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if faults := find_faults(TARGET):
        sys.stderr.write("\n".join(faults) + "\n")
        return 1
    sys.stdout.write(f"Open {(TARGET / 'index.html').as_uri()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
