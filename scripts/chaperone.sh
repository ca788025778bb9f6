#!/bin/sh
# The CLI of a checkout. Uses the bundled Node 24, whatever Node version the machine has.
set -eu
self=$(readlink -f "$0")
root=$(dirname "$(dirname "$self")")
sh "$root/scripts/install.sh"
exec "$root/node_modules/.bin/node" --disable-sigusr1 "$root/controlplane/cli/main.ts" "$@"
