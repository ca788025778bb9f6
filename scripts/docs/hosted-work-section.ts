import { CHAT_WORK } from '../../core/connectors/hosted-work/chat.ts'
import { LLM_A_WORK } from '../../core/connectors/hosted-work/llm-a.ts'
import { LLM_B_WORK } from '../../core/connectors/hosted-work/llm-b.ts'
import { LLM_C_WORK } from '../../core/connectors/hosted-work/llm-c.ts'
import { compileWork, type WorkStart, type WorkTable } from '../../core/connectors/hosted-work/table.ts'

const TABLES = [LLM_A_WORK, LLM_B_WORK, LLM_C_WORK, CHAT_WORK]

/** Returns the documentation section about the work at providers that a kill switch cancels. */
export function hostedWorkSection(): string {
  const rows = [
    ...TABLES.flatMap(rowsOf),
    '| `mcp.tools.*` with `task` | `tasks/cancel` at the address of the call |',
  ]
  return [
    '## Cancelled by a kill switch',
    ['| Started by | Cancelled with |', '|---|---|', ...rows].join('\n'),
  ].join('\n\n')
}

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
