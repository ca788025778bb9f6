import { readFileSync } from 'node:fs'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import type { CatalogueRow } from '../../../core/connectors/connector.ts'
import { type Operation, readOperations } from '../../../scripts/catalogue/coverage.ts'

/** What one provider publishes, and which names the catalogue's lines give to it: both read without the program's own look-up. */
export type Published = {
  readonly operations: readonly Operation[]
  /** The operation whose template describes a path: the one with most literal text. */
  match(method: string, path: string): Operation | null
  /** The operation of one method and shape, as `METHOD /v1/customers/{}`. */
  find(method: string, shape: string): Operation | null
  /** The names of an operation's lines in the catalogue, without those that only a key of the body or query would choose. */
  namesOf(operation: Operation): readonly string[]
}

type Provider = 'codehost' | 'llm_a' | 'llm_b' | 'payments' | 'chat'

export function readPublished(provider: Provider): Published {
  const list = readFileSync(new URL(`../../golden/published/${provider}.tsv`, import.meta.url), 'utf8')
  const operations = readOperations(list)
  const patterns = operations.map((operation) => ({ operation, pattern: patternOf(operation.template) }))
  const rows = createCatalogue().rows(provider)
  return {
    operations,
    match: (method, path) => {
      const found = patterns.filter(
        ({ operation, pattern }) => isOf(operation.method, method) && pattern.test(path),
      )
      found.sort((a, b) => literalLength(b.operation) - literalLength(a.operation))
      return found[0]?.operation ?? null
    },
    find: (method, shape) =>
      operations.find((one) => isOf(one.method, method) && shapeOf(one.template) === shapeOf(shape)) ?? null,
    namesOf: (operation) => [
      ...new Set(rows.filter((row) => isLineOf(row, operation)).map((row) => row.type)),
    ],
  }
}

/** Templates that say the same with other names of parameters have one shape. */
export function shapeOf(template: string): string {
  return template.replace('{base}...{head}', '{}').replaceAll(/\{[^}]*\}/g, '{}')
}

function isOf(published: string, method: string): boolean {
  return published === '*' || published === method
}

type Line = CatalogueRow & { readonly when?: Readonly<Record<string, unknown>> }

function isLineOf(row: Line, { method, template }: Operation): boolean {
  if (row.template === undefined || !(row.method === '*' || row.method === method)) return false
  const isPlain = row.when === undefined || 'otherwise' in row.when
  return isPlain && shapeOf(row.template) === shapeOf(template)
}

function patternOf(template: string): RegExp {
  const text = template.replaceAll(/[.]/g, '\\.').replaceAll(/\{[^}]*\}/g, '[^/]+')
  return new RegExp(`^${text}$`)
}

function literalLength({ template }: Operation): number {
  return template.replaceAll(/\{[^}]*\}/g, '').length
}
