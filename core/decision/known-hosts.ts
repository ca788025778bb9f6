const NOTHING_TO_ADD = 'and works without it, so nothing has to be added.'

/** Hosts that serve one agent program alone, for what its model calls do not need. */
const KNOWN_HOSTS: ReadonlyMap<string, string> = new Map([
  ['ab.chatgpt.com', `Codex reports metrics there, ${NOTHING_TO_ADD}`],
  [
    'chatgpt.com',
    'Codex looks up accounts and features of ChatGPT there. With an API key it works without it, so nothing has to be added.',
  ],
  ['models.opencode.ai', `OpenCode looks up its list of models there, ${NOTHING_TO_ADD}`],
  ['play.googleapis.com', `Gemini CLI reports its usage there, ${NOTHING_TO_ADD}`],
  ['telemetry.crewai.com', `CrewAI reports telemetry there, ${NOTHING_TO_ADD}`],
])

/** What an agent program wants of the host, and that nothing has to be added for it; null for any other host. */
export function knownHostText(host: string): string | null {
  return KNOWN_HOSTS.get(host) ?? null
}
