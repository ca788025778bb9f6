/**
 * Returns the shell script that starts a bundled program, for a package manager that links it into a folder of the PATH. It
 * lies beside the program. `name`: what messages call the program.
 */
export function launcherOf(name: string, program: string): string {
  return `#!/bin/sh
self=$(readlink -f "$0")
version=$(node --version 2> /dev/null) || version='no Node.js'
case "$version" in
  v2[4-9].* | v[3-9][0-9].*) ;;
  *)
    echo "${name} needs Node.js 24 or newer, and $version is on the PATH. Install it." >&2
    exit 1
    ;;
esac
exec node --disable-sigusr1 "$(dirname "$self")/${program}" "$@"
`
}
