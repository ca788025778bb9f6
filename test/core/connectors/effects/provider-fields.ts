import { snakeCase } from '../../../../core/connectors/llm/resource-bodies.ts'
import type { CompiledTable } from '../../../../core/connectors/provider-side/table.ts'

/** Requests of a provider, from the types of its SDK. */
export type PublishedFields = {
  /** Names of fields that can contain a host, a URL or an id of another service. */
  readonly fields: readonly string[]
  /** Types of tools. */
  readonly tools: readonly string[]
}

/** Suffixes of such names, in the spellings of all providers. */
const REACHING_NAME =
  /(?:^|_)(?:ur[li]s?|domains?|hosts?|endpoints?|issuer|server|connector_id|tunnel_id|webhook_config)$/

/** Union types of tools in the SDKs. */
const TOOL_UNION =
  /^(?:Beta)?(?:Tool|ToolUnion|AssistantTool|AgentTool|AgentToolParam|ChatCompletionTool|RealtimeToolsConfigUnion)$/

/** Parses the TypeScript declarations of an SDK. */
export function readPublished(declarations: readonly string[]): PublishedFields {
  const names = declarations.flatMap((text) =>
    [...text.matchAll(/^\s+([A-Za-z_]\w*)\??:/gm)].map(([, name = '']) => name),
  )
  return {
    fields: [...new Set(names)].filter((name) => REACHING_NAME.test(snakeCase(name))).sort(),
    tools: [...new Set(declarations.flatMap(toolTypes))].sort(),
  }
}

function toolTypes(text: string): readonly string[] {
  const unions = [...text.matchAll(/^export type (\w+) = ([^;{]+);/gm)]
  return unions
    .filter(([, name = '']) => TOOL_UNION.test(name))
    .flatMap(([, , members = '']) => members.split('|'))
    .flatMap((member) => typesOf(text, member.trim().split('.').at(-1) ?? ''))
}

/** The literals of `type` in the interface of this name. */
function typesOf(text: string, name: string): readonly string[] {
  if (!/^\w+$/.test(name)) return []
  const found = text.matchAll(new RegExp(`interface ${name} (?:extends [^{]+)?\\{(.*?)\\n\\s*\\}`, 'gs'))
  return [...found].flatMap(([, body = '']) => {
    const [, literals = ''] = /^\s+type\??: ([^;]*'[^;]*);/m.exec(body) ?? []
    return [...literals.matchAll(/'([^']+)'/g)].map(([, literal = '']) => literal)
  })
}

/** Fields and tools without a row in the table and without an exemption. */
export function undescribed(
  table: CompiledTable,
  published: PublishedFields,
  harmless: Readonly<Record<string, string>>,
): readonly string[] {
  const names = new Set(table.fields.flatMap(({ end }) => end.split('.')))
  const isTool = (published: string) => {
    const type = table.table.toolsByName === true ? snakeCase(published) : published
    return table.tools.some((row) => (row.isPrefix ? type.startsWith(row.type) : type === row.type))
  }
  return [
    ...published.fields
      .filter((name) => !names.has(name) && !Object.hasOwn(harmless, name))
      .map((name) => `field ${name}`),
    ...published.tools.filter((type) => !isTool(type)).map((type) => `tool ${type}`),
  ]
}

/** Exempt fields by connector: they make the provider reach nothing, for the given reason. */
export const HARMLESS_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  llm_a: {
    blocked_domains: 'narrows a search',
    domain: 'a secret for a host that network_policy.allowed_domains lists',
    endpoint: 'path of the API that a batch is for',
    issuer: 'compared, never fetched: discovery_url is',
    preview_url: 'in answers',
    report_url: 'in answers',
    target_uri: 'target of a call that is its own action (live_session.refer, realtime_call.refer)',
    vault_uri: 'a key store of the organisation, named by its own write of high risk',
  },
  llm_b: {
    api_base_url: 'in answers',
    appeal_url: 'in answers',
    blocked_domains: 'narrows a search',
    allowed_domains: 'narrows a search or a fetch',
    connector_id: 'in permissions of roles and in reports',
    domain: 'in answers',
    issuer: 'compared, never fetched',
    results_url: 'in answers',
    tunnel_id: 'in permissions of roles',
    vault_uri: 'a key store of the organisation, named by its own write of high risk',
  },
  llm_c: {
    baseUrl: 'an option of the SDK, which it does not send',
    bigqueryUri: 'not in the Gemini API',
    cloudRunUri: 'not in the Gemini API',
    document_uri: 'in answers',
    downloadUri: 'in answers',
    endpoints: 'in answers',
    excludeDomains: 'narrows a search',
    flagContentUri: 'in answers',
    googleMapsUri: 'in answers',
    imageUri: 'in answers',
    inputUri: 'not in the Gemini API',
    outputGcsUri: 'not in the Gemini API',
    outputUri: 'not in the Gemini API',
    photoUri: 'in answers',
    promptDatasetUri: 'not in the Gemini API',
    retrievedUrl: 'in answers',
    sourceFlaggingUris: 'in answers',
    sourceUri: 'in answers',
    trainingDatasetUri: 'not in the Gemini API',
    urls: 'arguments of a call that url_context made',
    validationDatasetUri: 'not in the Gemini API',
  },
}
