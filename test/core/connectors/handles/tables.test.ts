import { expect, test } from 'vitest'
import { LLM_A_HANDLES } from '../../../../core/connectors/handles/llm-a.ts'
import { LLM_B_HANDLES } from '../../../../core/connectors/handles/llm-b.ts'
import { LLM_C_HANDLES } from '../../../../core/connectors/handles/llm-c.ts'
import { compileHandles } from '../../../../core/connectors/handles/table.ts'
import { connectorOfType } from '../../../../core/connectors/registry.ts'

const TABLES = [LLM_A_HANDLES, LLM_B_HANDLES, LLM_C_HANDLES].map((table) => [table.connector, table] as const)

test.each(TABLES)('%s: words after a collection are not ids', (connector, table) => {
  const { paths } = compileHandles(table)
  const rows = connectorOfType(connector).catalogue ?? []
  const missed = rows.flatMap(({ template = '' }) => {
    const segments = template.split('/')
    return segments.filter((word, at) => {
      const row = paths.get(segments[at - 1] ?? '')
      return row !== undefined && !word.startsWith('{') && !row.words.has(word)
    })
  })
  expect(missed).toEqual([])
})

test.each(TABLES)(
  '%s: operations that give ids are in the catalogue, and something names their kinds',
  (connector, table) => {
    const { gives, paths, fields } = compileHandles(table)
    const names = new Set((connectorOfType(connector).catalogue ?? []).map(({ type }) => type))
    expect([...gives.keys()].filter((type) => !names.has(type))).toEqual([])
    const named = new Set([...[...paths.values()].map(({ kind }) => kind), ...fields.map(({ kind }) => kind)])
    expect([...gives.values()].flat().filter(({ at }) => !named.has(at.kind))).toEqual([])
  },
)
