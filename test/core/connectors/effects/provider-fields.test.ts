import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { compileTable, type ProviderTable } from '../../../../core/connectors/provider-side/table.ts'
import { LLM_A_PROVIDER_SIDE } from '../../../../core/connectors/provider-side/table-a.ts'
import { LLM_B_PROVIDER_SIDE } from '../../../../core/connectors/provider-side/table-b.ts'
import { LLM_C_PROVIDER_SIDE } from '../../../../core/connectors/provider-side/table-c.ts'
import { HARMLESS_FIELDS, type PublishedFields, readPublished, undescribed } from './provider-fields.ts'

const ROOT = new URL('../../../../', import.meta.url).pathname
const declarations = (folder: string) =>
  globSync(`${ROOT}node_modules/${folder}/resources/**/*.d.ts`).map((file) => readFileSync(file, 'utf8'))

const SDKS: ReadonlyArray<readonly [ProviderTable, string]> = [
  [LLM_A_PROVIDER_SIDE, 'openai'],
  [LLM_B_PROVIDER_SIDE, '@anthropic-ai/sdk'],
]

describe.each(SDKS)('the types of the SDK of %o', (table, folder) => {
  const published = readPublished(declarations(folder))

  test('have no field with a host or an id of another service, and no tool, that the table does not describe', () => {
    expect(published.fields.length).toBeGreaterThan(5)
    expect(published.tools.length).toBeGreaterThan(10)
    expect(undescribed(compileTable(table), published, HARMLESS_FIELDS[table.connector] ?? {})).toEqual([])
  })

  test('have every field that is explained', () => {
    const explained = Object.keys(HARMLESS_FIELDS[table.connector] ?? {})
    expect(explained.filter((name) => !published.fields.includes(name))).toEqual([])
  })

  test('are those of the version that the table names', () => {
    const { version } = JSON.parse(readFileSync(`${ROOT}node_modules/${folder}/package.json`, 'utf8'))
    expect(table.source).toContain(version)
  })
})

describe('the types of the SDK of llm_c, which is no dependency: a list of its fields and tools', () => {
  const list: PublishedFields & { readonly source: string } = JSON.parse(
    readFileSync(`${ROOT}test/golden/published/llm_c-fields.json`, 'utf8'),
  )
  const harmless = HARMLESS_FIELDS['llm_c'] ?? {}

  test('has no field and no tool that the table does not describe', () => {
    expect(list.fields.length).toBeGreaterThan(20)
    expect(list.tools.length).toBeGreaterThan(10)
    expect(undescribed(compileTable(LLM_C_PROVIDER_SIDE), list, harmless)).toEqual([])
  })

  test('has every field that is explained', () => {
    expect(Object.keys(harmless).filter((name) => !list.fields.includes(name))).toEqual([])
  })

  test('is of the version that the table names', () => {
    const [version = ''] = /`@google\/genai` [0-9.]+/.exec(list.source) ?? []
    expect(LLM_C_PROVIDER_SIDE.source).toContain(version)
  })
})

test('a new field and a new tool are reported', () => {
  const published = readPublished([
    "export type Tool = A | Tool.B;\nexport interface A {\n    type: 'function';\n}\nnamespace Tool {\n    interface B {\n        type: 'quantum';\n        relay_url?: string;\n    }\n}\n",
  ])
  expect(undescribed(compileTable(LLM_A_PROVIDER_SIDE), published, {})).toEqual([
    'field relay_url',
    'tool quantum',
  ])
})
