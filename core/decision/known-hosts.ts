const NOTHING_TO_ADD = 'and works without this host, so no rule is needed.'

/** Hosts that only one agent program uses, each with an explanation of its requests. */
const KNOWN_HOSTS: ReadonlyMap<string, string> = new Map([
  ['ab.chatgpt.com', `Codex reports metrics there, ${NOTHING_TO_ADD}`],
  [
    'chatgpt.com',
    'Codex looks up accounts and features of ChatGPT there. With an API key, Codex works without this host, so no rule is needed.',
  ],
  ['models.opencode.ai', `OpenCode looks up its list of models there, ${NOTHING_TO_ADD}`],
  ['play.googleapis.com', `Gemini CLI reports its usage there, ${NOTHING_TO_ADD}`],
  [
    'tiktoken.pages.dev',
    'LangChain for JavaScript downloads its token tables there, and retries for minutes if they are missing. starters/langgraph.yaml permits the tables.',
  ],
  ['telemetry.crewai.com', `CrewAI reports telemetry there, ${NOTHING_TO_ADD}`],
])

/**
 * Returns the explanation of requests of an agent program to the host, with the required setting if there is any; null
 * for any other host.
 */
export function knownHostText(host: string): string | null {
  return KNOWN_HOSTS.get(host) ?? null
}
