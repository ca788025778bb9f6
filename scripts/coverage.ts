import { readFileSync } from 'node:fs'
import { BUILT_IN } from '../core/connectors/registry.ts'
import type { ConnectorEntry } from '../core/wire/gateway/sync.ts'
import { coverageOf, readOperations } from './catalogue/coverage.ts'

/**
 * How much of what the providers publish has a name: one line a provider. Exit code 1 when an operation has none, or
 * when a name is not one deed.
 */
const PROVIDERS = [
  'codehost',
  'llm_a',
  'llm_b',
  'llm_c',
  'payments',
  'chat',
] as const satisfies readonly ConnectorEntry['type'][]
const cells = (columns: readonly (string | number)[]) =>
  columns.map((column, i) => (i === 0 ? String(column).padEnd(10) : String(column).padStart(11))).join('')

console.log(cells(['provider', 'operations', 'named', 'reads', 'computes', 'writes', 'unmapped', 'doubled']))
for (const type of PROVIDERS) {
  const list = readFileSync(new URL(`../test/golden/published/${type}.tsv`, import.meta.url), 'utf8')
  const rows = BUILT_IN.find(({ name }) => name === type)?.catalogue ?? []
  const coverage = coverageOf(type, readOperations(list), rows)
  const { operations, named, reads, computes, writes, unmapped, doubled, inconsistent } = coverage
  console.log(cells([type, operations, named, reads, computes, writes, unmapped.length, doubled.length]))
  for (const operation of unmapped) console.error(`  unmapped: ${operation}`)
  for (const name of doubled) console.error(`  two deeds under one name: ${name}`)
  for (const name of inconsistent) console.error(`  no row of its own, or two effects: ${name}`)
  if (unmapped.length + doubled.length + inconsistent.length > 0) process.exitCode = 1
}
