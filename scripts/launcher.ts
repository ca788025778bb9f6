/**
 * Returns the shell script that starts a bundled program. A package manager links the script into a folder of the PATH.
 * The script must be in the folder of the program. `name`: name of the program in messages.
 */
export function launcherOf(name: string, program: string): string {
  return `#!/bin/sh
self=$(readlink -f "$0")
version=$(node --version 2> /dev/null) || version='no Node.js'
case "$version" in
  v2[4-9].* | v[3-9][0-9].*) ;;
  *)
    echo "${name} needs Node.js 24 or newer, but $version is on the PATH. Install Node.js 24." >&2
    exit 1
    ;;
esac
exec node --disable-sigusr1 "$(dirname "$self")/${program}" "$@"
`
}
