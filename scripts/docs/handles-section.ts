import { LLM_A_HANDLES } from '../../core/connectors/handles/llm-a.ts'
import { LLM_B_HANDLES } from '../../core/connectors/handles/llm-b.ts'
import { LLM_C_HANDLES } from '../../core/connectors/handles/llm-c.ts'
import { compileHandles, type HandleTable } from '../../core/connectors/handles/table.ts'

/** Returns the documentation section about handles, which are ids that a provider returned to one agent. */
export function handlesSection(): string {
  const rows = [LLM_A_HANDLES, LLM_B_HANDLES, LLM_C_HANDLES].flatMap(rowsOf)
  const table = ['| Kind | Given by the answer to | Named in |', '|---|---|---|', ...rows, MCP_ROW].join('\n')
  return ['## Sessions, responses, files, threads, batches', table].join('\n\n')
}

const MCP_ROW = `| ${listOf(['session'])} (mcp) | the header ${listOf(['Mcp-Session-Id'])} of any answer | the same header |`

function rowsOf(table: HandleTable): readonly string[] {
  const { paths, fields, gives } = compileHandles(table)
  const kinds = new Set([...[...paths.values()].map(({ kind }) => kind), ...fields.map(({ kind }) => kind)])
  return [...kinds].map((kind) => {
    const givers = [...gives]
      .filter(([, all]) => all.some(({ at }) => at.kind === kind))
      .map(([type]) => type)
    const places = [...paths].filter(([, row]) => row.kind === kind).map(([segment]) => `…/${segment}/{id}`)
    const own = fields.filter((row) => row.kind === kind)
    const members = own.map(({ parents, name }) => [...parents, name].join('.'))
    return `| \`${kind}\` (${table.connector}) | ${listOf(givers)} | ${listOf([...places, ...members])} |`
  })
}

function listOf(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ')
}
