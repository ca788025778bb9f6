/** A line to paste: a destructive request through the agent's own port, decided before anything leaves the machine. */
export function tryLine(proxyUrl: string, caFile: string): string {
  return `curl -sS --noproxy '' --proxy ${proxyUrl} --cacert ${shellQuote(caFile)} -X DELETE https://api.github.com/repos/acme/site`
}

/** A word for a POSIX shell. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
