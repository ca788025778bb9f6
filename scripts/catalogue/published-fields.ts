import { globSync, readFileSync } from 'node:fs'
import { compileTable, type ProviderTable } from '../../core/connectors/provider-side/table.ts'
import { LLM_A_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-a.ts'
import { LLM_B_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-b.ts'
import { LLM_C_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-c.ts'
import { harmlessOf, type PublishedFields, readPublished, undescribed } from './provider-fields.ts'

export type PublishedSource = {
  readonly table: ProviderTable
  /**
   * Text that `source` of the table must contain: the version of the package, the package and its version, or the
   * commit and date of an OpenAPI file.
   */
  readonly version: string
  readonly published: PublishedFields
}

const ROOT = new URL('../../', import.meta.url).pathname

/**
 * Reads what the model providers publish: the types of the SDKs of llm_a and llm_b, and a list in the repository for
 * llm_c, whose SDK is not a dependency.
 */
export function publishedSources(): readonly PublishedSource[] {
  return [
    sdk(LLM_A_PROVIDER_SIDE, 'openai'),
    sdk(LLM_B_PROVIDER_SIDE, '@anthropic-ai/sdk'),
    listOf(LLM_C_PROVIDER_SIDE, 'llm_c-fields.json', /`@google\/genai` [0-9.]+/),
  ]
}

/**
 * Reads the fields of OpenAI's OpenAPI file from a list in the repository, which `scripts/openapi-fields.ts` writes.
 * The file is older than the SDK and lacks operations of Agents, Live and vaults. The other providers publish no such
 * file.
 */
export function openApiSource(): PublishedSource {
  return listOf(LLM_A_PROVIDER_SIDE, 'llm_a-openapi-fields.json', /commit [0-9a-f]{40} of [0-9-]{10}/)
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

function listOf(table: ProviderTable, file: string, versionIn: RegExp): PublishedSource {
  const text = readFileSync(`${ROOT}test/golden/published/${file}`, 'utf8')
  const { source, ...published } = JSON.parse(text) as PublishedFields & { readonly source: string }
  const [version = ''] = versionIn.exec(source) ?? []
  return { table, version, published }
}
