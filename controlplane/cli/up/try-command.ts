import { shellQuote } from '../terminal/shell-quote.ts'

/**
 * Returns a command line that sends a destructive request through the agent's port. The gateway refuses the request
 * without contacting the provider. The agent's key is in an environment variable, because other users can read the
 * arguments of a process.
 */
export function tryCommand(proxyUrl: string, caFile: string): string {
  return `HTTPS_PROXY=${shellQuote(proxyUrl)} curl -sS --noproxy '' --cacert ${shellQuote(caFile)} -X DELETE https://api.github.com/repos/acme/site`
}
