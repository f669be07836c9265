#!/bin/bash
set -euo pipefail

# Says what went wrong, where people look.
complain() {
    local message="$1"
    echo "deploy: $message" >&2
    logger --tag deploy --priority user.err "$message: the release was not put in place and the old one runs on"
}

function roll_back {
    for step in $(tac steps.txt); do
        undo "$step" || complain "could not undo $step, somebody has to look at the machine and do that by hand"
    done
    complain "rolled back to the release of yesterday, which is known to run well on all of the three machines"
}

roll_back
