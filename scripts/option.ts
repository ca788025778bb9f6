/** Returns the value after the option in the command line of the script; undefined without the option. */
export function option(name: string): string | undefined {
  const at = process.argv.indexOf(name)
  return at === -1 ? undefined : process.argv[at + 1]
}
