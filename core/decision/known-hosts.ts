const NOTHING_TO_ADD = 'and works without it, so nothing has to be added.'

/** Hosts that only one agent program uses, each with an explanation of its requests. */
const KNOWN_HOSTS: ReadonlyMap<string, string> = new Map([
  ['ab.chatgpt.com', `Codex reports metrics there, ${NOTHING_TO_ADD}`],
  [
    'chatgpt.com',
    'Codex looks up accounts and features of ChatGPT there. With an API key it works without it, so nothing has to be added.',
  ],
  ['models.opencode.ai', `OpenCode looks up its list of models there, ${NOTHING_TO_ADD}`],
  ['play.googleapis.com', `Gemini CLI reports its usage there, ${NOTHING_TO_ADD}`],
  [
    'tiktoken.pages.dev',
    'LangChain for JavaScript reads its token tables there and tries again for minutes without them. starters/langgraph.yaml permits the tables.',
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
