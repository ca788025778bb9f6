#!/bin/sh
# Runs the CLI of a checkout. Uses Node 24 from node_modules, whatever Node version the machine has.
set -eu
self=$(readlink -f "$0")
root=$(dirname "$(dirname "$self")")
sh "$root/scripts/install.sh"
exec "$root/node_modules/.bin/node" --disable-sigusr1 "$root/controlplane/cli/main.ts" "$@"
