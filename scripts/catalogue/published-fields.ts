import { globSync, readFileSync } from 'node:fs'
import { compileTable, type ProviderTable } from '../../core/connectors/provider-side/table.ts'
import { LLM_A_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-a.ts'
import { LLM_B_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-b.ts'
import { LLM_C_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-c.ts'
import { harmlessOf, type PublishedFields, readPublished, undescribed } from './provider-fields.ts'

export type PublishedSource = {
  readonly table: ProviderTable
  /** Text that `source` of the table must contain: the version of the package, or the package and its version. */
  readonly version: string
  readonly published: PublishedFields
}

const ROOT = new URL('../../', import.meta.url).pathname

/**
 * Reads what the model providers publish: the types of the SDKs of llm_a and llm_b, and a list in the repository for
 * llm_c, whose SDK is not a dependency.
 *
 * Only llm_a also publishes an OpenAPI file (openai/openai-openapi). It adds nothing to the SDK types: the file of
 * 2026-08-21 (version 2.3.0) has no operation of Agents, Live, vaults, external keys or workload identity, and each of
 * the 396 names of its request bodies is a name in the types of `openai` 7.57.0 (2026-11-13). Its paths with a URL, a
 * host or a domain need no further row.
 */
export function publishedSources(): readonly PublishedSource[] {
  return [sdk(LLM_A_PROVIDER_SIDE, 'openai'), sdk(LLM_B_PROVIDER_SIDE, '@anthropic-ai/sdk'), list()]
}

/** Returns the published fields and tools of a source that neither have a row in its table nor are exempt. */
export function unknownFields({ table, published }: PublishedSource): readonly string[] {
  return undescribed(compileTable(table), published, harmlessOf(table.connector))
}

function sdk(table: ProviderTable, name: string): PublishedSource {
  const folder = `${ROOT}node_modules/${name}`
  const files = globSync(`${folder}/resources/**/*.d.ts`)
  if (files.length === 0) throw new Error(`${folder} has no types of resources; run npm ci`)
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { version: string }
  return { table, version, published: readPublished(files.map((file) => readFileSync(file, 'utf8'))) }
}

function list(): PublishedSource {
  const text = readFileSync(`${ROOT}test/golden/published/llm_c-fields.json`, 'utf8')
  const { source, ...published } = JSON.parse(text) as PublishedFields & { readonly source: string }
  const [version = ''] = /`@google\/genai` [0-9.]+/.exec(source) ?? []
  return { table: LLM_C_PROVIDER_SIDE, version, published }
}
