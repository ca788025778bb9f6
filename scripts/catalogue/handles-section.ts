import { MAX_ANSWER_BYTES } from '../../core/connectors/handles/answer-reader.ts'
import { MAX_HANDLES } from '../../core/connectors/handles/handle.ts'
import { LLM_A_HANDLES } from '../../core/connectors/handles/llm-a.ts'
import { LLM_B_HANDLES } from '../../core/connectors/handles/llm-b.ts'
import { LLM_C_HANDLES } from '../../core/connectors/handles/llm-c.ts'
import { compileHandles, type HandleTable } from '../../core/connectors/handles/table.ts'

/** Generates the section about handles: ids that a provider returned to one agent. */
export function handlesSection(): string {
  const rows = [LLM_A_HANDLES, LLM_B_HANDLES, LLM_C_HANDLES].flatMap(rowsOf)
  const table = ['| Kind | Given by the answer to | Named in |', '|---|---|---|', ...rows, MCP_ROW].join('\n')
  return [INTRODUCTION, table, BOUNDS].join('\n\n')
}

const INTRODUCTION = `## Whose they are: sessions, responses, files, threads, batches

All agents of a Connector share its credential, so the provider lets each of them use what it made for another one. The gateway
notes which agent was given an id, and refuses it to the others. \`handles\` on a Connector of type llm_a, llm_b, llm_c or mcp sets the rule:

- \`own\` (default): what another agent was given is refused. What is not known (made before, or not through a gateway) passes, and the
  record says \`handle: unknown\`.
- \`strict\`: what is not known is refused as well.
- \`shared\`: nothing is looked at.`

const MCP_ROW = `| ${listOf(['session'])} (mcp) | the header ${listOf(['Mcp-Session-Id'])} of any answer | the same header |`

const BOUNDS = `Records carry a hash of the id to the control plane, which keeps it with the agent and the Gateway for 90 days, the newest 100,000 of
an agent. A gateway that does not know an id asks the control plane, at most for a second, and keeps the answer: 10 minutes, or 10
seconds for what nobody knows. Without an answer the id counts as not known. What two agents were given belongs to both. Ids of one
provider are the same on every Connector without \`domains\` and \`baseUrl\`; other Connectors have ids of their own.

Answers to these operations are asked for without compression and read to ${MAX_ANSWER_BYTES / 1024} KiB. One request may name ${MAX_HANDLES} ids (413
beyond). Ids in uploaded files of batches, and in calls of llm_c over gRPC, are not looked at.`

function rowsOf(table: HandleTable): readonly string[] {
  const { paths, fields, gives } = compileHandles(table)
  const kinds = new Set([...[...paths.values()].map(({ kind }) => kind), ...fields.map(({ kind }) => kind)])
  return [...kinds].map((kind) => {
    const givers = [...gives].filter(([, all]) => all.some((one) => one.kind === kind)).map(([type]) => type)
    const places = [...paths].filter(([, row]) => row.kind === kind).map(([segment]) => `…/${segment}/{id}`)
    const members = fields.filter((row) => row.kind === kind).map(({ end }) => end.join('.'))
    return `| \`${kind}\` (${table.connector}) | ${listOf(givers)} | ${listOf([...places, ...members])} |`
  })
}

function listOf(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ')
}
