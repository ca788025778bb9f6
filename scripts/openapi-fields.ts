import { readFileSync, writeFileSync } from 'node:fs'
import { type OpenApi, openApiFields } from './catalogue/openapi-fields.ts'

/**
 * Writes the fields with a host, a URL or an id, and the tools, of OpenAI's OpenAPI file to
 * `test/golden/published/llm_a-openapi-fields.json`. Usage: `node scripts/openapi-fields.ts FILE COMMIT DATE`, with
 * `openapi.json` of the repository openai/openai-openapi, and the commit and its date.
 */
const [file, commit, date] = process.argv.slice(2)
if (file === undefined || commit === undefined || date === undefined)
  throw new Error('usage: node scripts/openapi-fields.ts FILE COMMIT DATE')

const api = JSON.parse(readFileSync(file, 'utf8')) as OpenApi & {
  readonly info: { readonly version: string }
}
const source = `openai/openai-openapi, openapi.json, version ${api.info.version}, commit ${commit} of ${date}; written by scripts/openapi-fields.ts`
const target = new URL('../test/golden/published/llm_a-openapi-fields.json', import.meta.url)
writeFileSync(target, `${JSON.stringify({ source, ...openApiFields(api) }, null, 2)}\n`)
