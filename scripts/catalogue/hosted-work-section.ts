import { CHAT_WORK } from '../../core/connectors/hosted-work/chat.ts'
import { LLM_A_WORK } from '../../core/connectors/hosted-work/llm-a.ts'
import { LLM_B_WORK } from '../../core/connectors/hosted-work/llm-b.ts'
import { LLM_C_WORK } from '../../core/connectors/hosted-work/llm-c.ts'
import { compileWork, type WorkStart, type WorkTable } from '../../core/connectors/hosted-work/table.ts'

const TABLES = [LLM_A_WORK, LLM_B_WORK, LLM_C_WORK, CHAT_WORK]

/** Generates the section about work at providers that a kill switch cancels. */
export function hostedWorkSection(): string {
  return [
    TEXT,
    ['| Started by | Cancelled with |', '|---|---|', ...TABLES.flatMap(rowsOf)].join('\n'),
    LIMITS,
  ].join('\n\n')
}

const TEXT = `## What a kill switch cancels there

A response in the background, a session, a run or a scheduled message goes on after the answer, and so after the kill switch, too.
Once a gateway has acknowledged a kill switch it cancels what agents in its scope started there through it, with the credential of the
Connector. The acknowledgement never waits for a provider. Each request has a record of transport \`system\` in the name of the agent, with
the name of the operation and the note \`system\`; the kill switch, permissions, limits and holds do not apply to it. \`hosted_work\` in the
answer of the kill switch, \`GET /api/dashboard/kill-switch\` and \`chaperone kill status\` list what was cancelled so far and what could not be.`

const LIMITS = `A batch is cancelled only where the Gateway has \`killSwitch.cancelBatches: true\`: no provider resumes one. Interrupted sessions and
paused automations and deployments can be resumed.

What is not cancelled:

- Work from before the last start of the gateway. It keeps raw ids in memory only, and \`note\` in the answer says since when it knows them.
- Work whose id never arrived: the agent left, or the kill switch cut the answer, before the id came. \`note\` says how many requests that were.
- The oldest beyond 1,000 of an agent and 20,000 of a gateway (\`svc_hosted_work_unknown_total\`).
- Work that ended. A gateway discards it when the stream of its events ends, when an answer says that it ended, and when an agent cancels or
  deletes it. Where the gateway did not read that it ended, the provider refuses, and the refusal is listed.
- Kinds without an operation that stops them and keeps their data, and what another client than the gateway started.

The list holds the latest 50 results; the traffic log has all of them. What a provider answers with 429 or 5xx, or not at all, is tried
four times.`

function rowsOf(table: WorkTable): readonly string[] {
  const { starts } = compileWork(table)
  return [...starts].map(([type, start]) => `| \`${type}\`${besideText(start)} | ${cancelText(start)} |`)
}

function besideText({ beside }: WorkStart): string {
  return beside === null ? '' : ` with \`${beside}\``
}

function cancelText({ kind: { cancel, isBatch } }: WorkStart): string {
  if (cancel === null) return 'nothing: listed'
  const body = cancel.body === undefined ? '' : ` \`${JSON.stringify(cancel.body)}\``
  return `\`${cancel.method} …/${cancel.path}\`${body}${isBatch ? ', where `cancelBatches` says so' : ''}`
}
