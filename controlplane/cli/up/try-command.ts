/**
 * A line to paste: a destructive request through the agent's own port, decided before anything leaves the machine. The
 * agent's key is in a variable, because other users can read the arguments of a process.
 */
export function tryCommand(proxyUrl: string, caFile: string): string {
  return `HTTPS_PROXY=${shellQuote(proxyUrl)} curl -sS --noproxy '' --cacert ${shellQuote(caFile)} -X DELETE https://api.github.com/repos/acme/site`
}

/** A word for a POSIX shell. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
