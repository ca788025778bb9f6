import { snakeCase } from '../../core/connectors/llm/resource-bodies.ts'
import type { CompiledTable } from '../../core/connectors/provider-side/table.ts'
import { harmlessIds } from './harmless-ids.ts'
import { requestPaths } from './request-paths.ts'

/** Facts about the requests of a provider, read from the types of its SDK. */
export type PublishedFields = {
  /** Names of fields that can contain a host, a URL or an id of another service. */
  readonly fields: readonly string[]
  /** Full paths, in requests, of the fields in `fields`. */
  readonly paths: readonly string[]
  /** Full paths of the ids in requests that change or start something. */
  readonly ids: readonly string[]
  /** Values of `type` that identify tools. */
  readonly tools: readonly string[]
}

/**
 * Matches names of fields that can contain a host, a URL or an id of another service, by their ends. The
 * names are compared in snake case for all providers.
 */
const REACHING_NAME =
  /(?:^|_)(?:ur[li]s?|domains?|hosts?|endpoints?|issuer|server|base|arns?|connector_id|tunnel_id|webhook_config)$/

/** Matches the names of the union types of tools in the SDKs. */
const TOOL_UNION =
  /^(?:Beta)?(?:Tool|ToolUnion|AssistantTool|AgentTool|AgentToolParam|ChatCompletionTool|RealtimeToolsConfigUnion)$/

/** Parses the TypeScript declarations of an SDK. */
export function readPublished(declarations: readonly string[]): PublishedFields {
  const names = declarations.flatMap((text) =>
    [...text.matchAll(/^\s+([A-Za-z_]\w*)\??:/gm)].map(([, name = '']) => name),
  )
  return {
    fields: [...new Set(names)].filter(isReaching).sort(),
    paths: requestPaths(declarations, isReaching),
    ids: requestPaths(declarations, isId, (type) => !READ.test(type)),
    tools: [...new Set(declarations.flatMap(toolTypes))].sort(),
  }
}

/** Matches names of ids in snake case, for example those of `id`, `skill_id`, `vaultIds` and `agentID`. */
const ID_NAME = /(?:^|_)(?:ids?|i_ds?)$/

/** Matches types of requests without a body. The gateway searches only bodies. */
const READ = /(?:Retrieve|List|Delete|Remove|Content|Cancel|Archive|Download)\w*Params$/

export function isId(name: string): boolean {
  return ID_NAME.test(snakeCase(name))
}

export function isReaching(name: string): boolean {
  return REACHING_NAME.test(snakeCase(name))
}

function toolTypes(text: string): readonly string[] {
  const unions = [...text.matchAll(/^export type (\w+) = ([^;{]+);/gm)]
  return unions
    .filter(([, name = '']) => TOOL_UNION.test(name))
    .flatMap(([, , members = '']) => members.split('|'))
    .flatMap((member) => typesOf(text, member.trim().split('.').at(-1) ?? ''))
}

/** Returns the possible values of the member `type` in the interface with this name. */
function typesOf(text: string, name: string): readonly string[] {
  if (!/^\w+$/.test(name)) return []
  const found = text.matchAll(new RegExp(`interface ${name} (?:extends [^{]+)?\\{(.*?)\\n\\s*\\}`, 'gs'))
  return [...found].flatMap(([, body = '']) => {
    const [, literals = ''] = /^\s+type\??: ([^;]*'[^;]*);/m.exec(body) ?? []
    return [...literals.matchAll(/'([^']+)'/g)].map(([, literal = '']) => literal)
  })
}

/**
 * Returns the names and paths of published fields, ids and tools that have neither a row in the table of
 * provider-side acts nor an exemption.
 */
export function undescribed(
  table: CompiledTable,
  published: PublishedFields,
  harmless: Harmless,
): readonly string[] {
  const names = new Set(table.fields.flatMap(({ end }) => end.split('.')))
  const isTool = (published: string) => {
    const type = table.table.toolsByName === true ? snakeCase(published) : published
    return table.tools.some((row) => (row.isPrefix ? type.startsWith(row.type) : type === row.type))
  }
  return [
    ...published.fields
      .filter((name) => !names.has(name) && !Object.hasOwn(harmless.fields, name))
      .map((name) => `field ${name}`),
    ...published.paths
      .filter(
        (path) => !isRead(table, path) && !Object.keys(harmless.paths).some((end) => endsWith(path, end)),
      )
      .map((path) => `path ${path}`),
    ...published.ids
      .filter((path) => !isRead(table, path) && !harmless.ids.some((end) => endsWith(path, end)))
      .map((path) => `id ${path}`),
    ...published.tools.filter((type) => !isTool(type)).map((type) => `tool ${type}`),
  ]
}

/**
 * Reports whether a row of the table has the path, or the scan skips the path, because the path is in arbitrary JSON of
 * the caller.
 */
function isRead({ fields, table }: CompiledTable, path: string): boolean {
  const isOpaque = path.split('.').some((name) => table.opaque.includes(name))
  return isOpaque || fields.some(({ end }) => endsWith(path, end))
}

/** Reports whether the last elements of the path are those of `end`. */
export function endsWith(path: string, end: string): boolean {
  return path === end || path.endsWith(`.${end}`)
}

/**
 * Fields that need no row in the table of provider-side acts, with the reasons. `fields`: names of fields.
 * `paths`: last elements of field paths, for fields whose name has a row in the table for another path.
 */
export type Harmless = {
  readonly fields: Readonly<Record<string, string>>
  readonly paths: Readonly<Record<string, string>>
  /** Last elements of the field paths of ids (see `harmlessIds`). */
  readonly ids: readonly string[]
}

export function harmlessOf(connector: string): Harmless {
  return {
    fields: HARMLESS_FIELDS[connector] ?? {},
    paths: HARMLESS_PATHS[connector] ?? {},
    ids: harmlessIds(connector),
  }
}

/**
 * Fields by connector that need no row, each with the reason why the provider does not connect to a host because of it.
 */
const HARMLESS_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  llm_a: {
    blocked_domains: 'narrows a search',
    domain: 'a secret for a host that network_policy.allowed_domains lists',
    endpoint: 'path of the API that a batch is for',
    issuer: 'compared, never fetched: discovery_url is',
    kms_arn: 'a key store of the organisation, named by its own write of high risk',
    preview_url: 'in answers',
    report_url: 'in answers',
    role_arn: 'a role for a key store or a storage of the organisation, by its own write of high risk',
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
    kms_arn: 'a key store of the organisation, named by its own write of high risk',
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

/** Last elements of the field paths that need no row, by connector, each with the reason. */
const HARMLESS_PATHS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  llm_a: {
    '^.issuer': 'compared, never fetched: discovery_url is',
    '^.kms_arn': 'a key store of the organisation, named by its own write of high risk',
    '^.provider.role_arn': 'a storage of the organisation, named by its own write of high risk',
    '^.role_arn': 'a role for a key store of the organisation, named by its own write of high risk',
    '^.vault_uri': 'a key store of the organisation, named by its own write of high risk',
    'content.*.annotations.*.url': 'a citation in an earlier answer',
    'output.*.annotations.*.url': 'a citation in an earlier answer',
    'action.sources.*.url': 'a source of an earlier search',
    'input.*.action.url': 'a page of an earlier search',
    '*.outputs.*.url': 'an image of an earlier run of code',
    'items.*.action.url': 'a page of an earlier search',
    'network.blocked_domains.*': 'narrows what an environment reaches',
    'network_policy.domain_secrets.*.domain': 'a secret for a host that network_policy.allowed_domains lists',
    'tools.*.allowed_domains.*': 'narrows a search',
    'tools.*.filters.allowed_domains.*': 'narrows a search',
  },
  llm_b: {
    '^.provider_config.kms_arn': 'a key store of the organisation, named by its own write of high risk',
    '^.provider_config.role_arn':
      'a role for a key store of the organisation, named by its own write of high risk',
    '^.provider_config.vault_uri': 'a key store of the organisation, named by its own write of high risk',
    'content.*.citations.*.url': 'a citation in an earlier answer',
    'content.*.content.*.state_changes.*.url': 'reported by the browser of the caller',
    'content.*.content.*.tabs.*.url': 'reported by the browser of the caller',
    'content.*.content.*.url': 'a result of an earlier search',
    'content.*.content.url': 'a result of an earlier fetch',
    'tool.definition.allowed_domains.*': 'narrows a search or a fetch',
    'tool.definition.blocked_domains.*': 'narrows a search or a fetch',
    'tools.*.allowed_domains.*': 'narrows a search or a fetch',
    'tools.*.blocked_domains.*': 'narrows a search or a fetch',
    'tools.*.configs.*.allowed_domains.*': 'narrows a search or a fetch',
    'tools.*.configs.*.blocked_domains.*': 'narrows a search or a fetch',
  },
  llm_c: {
    'annotations.*.document_uri': 'a citation in an earlier answer',
    'annotations.*.review_snippets.*.url': 'a citation in an earlier answer',
    'annotations.*.url': 'a citation in an earlier answer',
    'cloudRunRewardScorer.cloudRunUri': 'not in the Gemini API',
    'config.outputGcsUri': 'not in the Gemini API',
    'config.outputUri': 'not in the Gemini API',
    'config.validationDatasetUri': 'not in the Gemini API',
    'dest.bigqueryUri': 'not in the Gemini API',
    'file.downloadUri': 'in answers',
    'googleSearch.excludeDomains.*': 'narrows a search',
    'enterpriseWebSearch.excludeDomains.*': 'narrows a search',
    'httpOptions.baseUrl': 'an option of the SDK, which it does not send',
    'input.*.result.*.places.*.url': 'a result of an earlier search',
    'input.*.result.*.url': 'a result of an earlier search',
    'src.bigqueryUri': 'not in the Gemini API',
    'src.gcsUri.*': 'not in the Gemini API',
    'tools.*.excludeDomains.*': 'narrows a search',
  },
}
