import { existsSync, readFileSync } from 'node:fs'
import { CONNECTOR_TYPES, connectorOfType } from '../core/connectors/registry.ts'
import { coverageOf, readOperations } from './catalogue/coverage.ts'
import { openApiSource, publishedSources, unknownFields } from './catalogue/published-fields.ts'

/**
 * Prints how many published operations of each provider have an action name: one line for each connector type with a
 * list in `test/golden/published`. Then, for each model provider, prints the published fields with a host, a URL or an
 * id, and the published tools, that are missing in the table of provider-side acts. Exits with 1 if an operation has no
 * name, if several operations share a name, if the rows of a name are inconsistent, or if a field or a tool is missing.
 */
const publishedList = (type: string) => new URL(`../test/golden/published/${type}.tsv`, import.meta.url)
const PROVIDERS = CONNECTOR_TYPES.filter((type) => existsSync(publishedList(type)))
const cells = (columns: readonly (string | number)[]) =>
  columns.map((column, i) => (i === 0 ? String(column).padEnd(10) : String(column).padStart(11))).join('')

console.log(cells(['provider', 'operations', 'named', 'reads', 'computes', 'writes', 'unmapped', 'doubled']))
for (const type of PROVIDERS) {
  const list = readFileSync(publishedList(type), 'utf8')
  const rows = connectorOfType(type).catalogue ?? []
  const coverage = coverageOf(type, readOperations(list), rows)
  const { operations, named, reads, computes, writes, unmapped, doubled, inconsistent } = coverage
  console.log(cells([type, operations, named, reads, computes, writes, unmapped.length, doubled.length]))
  for (const operation of unmapped) console.error(`  unmapped: ${operation}`)
  for (const name of doubled) console.error(`  several operations under one name: ${name}`)
  for (const name of inconsistent) console.error(`  without a row of its own, or with two effects: ${name}`)
  if (unmapped.length + doubled.length + inconsistent.length > 0) process.exitCode = 1
}

for (const source of [...publishedSources(), openApiSource()]) {
  const { fields, tools } = source.published
  const unknown = unknownFields(source)
  console.log(
    `${source.table.connector}: ${tools.length} tools, ${fields.length} fields with a host, a URL or an id; ${unknown.length} of them have no row`,
  )
  for (const one of unknown) console.error(`  unknown to the table of ${source.table.connector}: ${one}`)
  if (unknown.length > 0) process.exitCode = 1
}
