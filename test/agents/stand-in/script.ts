import type { Conversation, Reply, Schema, Tool } from './conversation.ts'

/** One call of the tool, then one text that repeats its result. */
export function scriptedReply({ tools, results }: Conversation, cell: string): Reply {
  const result = results.at(-1)
  const session = RUNNING.exec(result ?? '')?.[1]
  if (session !== undefined) return { kind: 'tool', name: 'exec', input: poll(session) }
  if (result !== undefined) return finalReply(tools, `finished ${cell}: ${result.slice(0, 2_000)}`)
  const tool =
    tools.find(({ name }) => CREATES_ISSUE.test(name)) ?? tools.find(({ name }) => SHELL.test(name))
  const custom = tools.find(({ name, isCustom }) => isCustom && name === 'exec')
  if (tool === undefined && custom !== undefined)
    return { kind: 'tool', name: custom.name, input: programText(cell) }
  if (tool === undefined) return { kind: 'text', text: `finished ${cell}: no tool` }
  return { kind: 'tool', name: tool.name, input: inputOf(tool, cell) }
}

/** Some frameworks take the last text as the argument of a tool. */
function finalReply(tools: readonly Tool[], text: string): Reply {
  const isTool = tools.some(({ name }) => name === 'final_answer')
  return isTool ? { kind: 'tool', name: 'final_answer', input: { answer: text } } : { kind: 'text', text }
}

/** Also behind the prefix of an MCP client, e.g. `mcp__tools__create_issue`. */
export const CREATES_ISSUE = /(^|_)(create_issue|issue_write)$/
const SHELL = /^(bash|shell|shell_command|exec_command|run_shell_command)$/i

function inputOf(tool: Tool, cell: string): Readonly<Record<string, unknown>> {
  if (CREATES_ISSUE.test(tool.name)) return { title: cell }
  return shellInput(tool.parameters, curl(cell))
}

const curl = (cell: string): string => `curl -sS --json '{"title":"${cell}"}' ${OWN_KEY} ${ISSUES_URL}`
const ISSUES_URL = 'https://api.github.com/repos/acme/site/issues'
const OWN_KEY = '-H "Authorization: Bearer $GITHUB_TOKEN"'

/** Codex runs JavaScript that calls its tools. */
function programText(cell: string): string {
  const input = JSON.stringify({ cmd: curl(cell), yield_time_ms: 30_000 })
  return `text(await tools.exec_command(${input}))`
}

/** A command of Codex that goes on after 30 s, which the model has to ask for. */
const RUNNING = /\bsession_id\W+(\d+)/

function poll(session: string): string {
  return `text(await tools.write_stdin({ session_id: ${session}, chars: "", yield_time_ms: 30000 }))`
}

function shellInput({ properties = {} }: Schema, command: string): Readonly<Record<string, unknown>> {
  const name = 'cmd' in properties ? 'cmd' : 'command'
  const isList = properties[name]?.type === 'array'
  return {
    [name]: isList ? ['bash', '-lc', command] : command,
    ...('description' in properties ? { description: 'Create an issue' } : {}),
    ...('timeout_ms' in properties ? { timeout_ms: 110_000 } : {}),
    ...('timeout' in properties ? { timeout: 110_000 } : {}),
  }
}
